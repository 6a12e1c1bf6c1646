//! Hearing that somebody has committed, whoever it was: for a relay that has nothing to do.
//!
//! Only a hint, on either database; a relay that hears nothing finds the same rows when it looks by itself.

use std::sync::Arc;
use std::time::Duration;

use super::listener::Listener;
use super::{Database, Engine, Sqlite};
use crate::store::error::StoreError;

/// An ear for commits, of this program's connections too. Whatever it keeps in the database goes with it.
pub struct Commits(Ear);

enum Ear {
    Postgres(Box<Listener>),
    /// Its watcher's `data_version` moves when any other connection commits.
    Sqlite {
        sqlite: Arc<Sqlite>,
        last: i64,
        every: Duration,
    },
}

impl Commits {
    /// Returns when somebody may have committed, or has while nobody listened. After an error the ear is deaf: open
    /// another one.
    pub async fn next(&mut self) -> Result<(), StoreError> {
        match &mut self.0 {
            Ear::Postgres(listener) => listener.next().await,
            Ear::Sqlite { sqlite, last, every } => loop {
                tokio::time::sleep(*every).await;
                let version = sqlite.data_version().await?;
                if std::mem::replace(last, version) != version {
                    return Ok(());
                }
            },
        }
    }
}

impl Database {
    /// Opens an ear for commits; `None` where nobody can listen, behind a pooler. SQLite is asked so often.
    pub(in crate::store) async fn commits(&self, every: Duration) -> Result<Option<Commits>, StoreError> {
        let ear = match &self.engine {
            Engine::Postgres(postgres) => Listener::open(postgres)
                .await?
                .map(|listener| Ear::Postgres(Box::new(listener))),
            Engine::Sqlite(sqlite) => Some(Ear::Sqlite {
                sqlite: Arc::clone(sqlite),
                last: sqlite.data_version().await?,
                every,
            }),
        };
        Ok(ear.map(Commits))
    }
}
