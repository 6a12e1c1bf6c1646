//! Hearing that somebody has committed, whoever it was: for a relay that has nothing to do.
//!
//! Only a hint, on either database; a relay that hears nothing finds the same rows when it looks by itself.

use std::sync::Arc;
use std::time::Duration;

use super::listener::Listener;
use super::sqlite::LogTrace;
use super::{Database, Engine, Sqlite};
use crate::store::error::StoreError;

/// However still a SQLite file seems, it is asked at the latest after so many looks.
const ASK_AT_LEAST: u32 = 12;

/// An ear for commits, of this program's connections too. Whatever it keeps in the database goes with it.
pub struct Commits(Ear);

enum Ear {
    Postgres(Box<Listener>),
    Sqlite(Watch),
}

/// Its watcher's `data_version` moves when any other connection commits. To ask for it costs fifty times what a look at
/// the directory entry of the log costs, which a commit changes: so it is asked only then.
struct Watch {
    sqlite: Arc<Sqlite>,
    every: Duration,
    version: i64,
    log: Option<LogTrace>,
    /// Looks since the log has last changed.
    still: u32,
}

impl Commits {
    /// Returns when somebody may have committed, or has while nobody listened. After an error the ear is deaf: open
    /// another one.
    pub async fn next(&mut self) -> Result<(), StoreError> {
        match &mut self.0 {
            Ear::Postgres(listener) => listener.next().await,
            Ear::Sqlite(watch) => watch.next().await,
        }
    }
}

impl Watch {
    async fn next(&mut self) -> Result<(), StoreError> {
        loop {
            tokio::time::sleep(self.every).await;
            if self.is_still() {
                continue;
            }
            let version = self.sqlite.data_version().await?;
            if std::mem::replace(&mut self.version, version) != version {
                return Ok(());
            }
        }
    }

    /// Whether nobody can have committed since it was last asked, as far as a look tells.
    fn is_still(&mut self) -> bool {
        let log = self.sqlite.log_trace();
        let seen_before = std::mem::replace(&mut self.log, log);
        self.still = if log.is_some() && log == seen_before {
            self.still.wrapping_add(1)
        } else {
            0
        };
        // At 1 it is asked once more: the file system's clock ticks slowly, and a commit just after the last look can bear
        // the time of the one before it.
        self.still > 1 && !self.still.is_multiple_of(ASK_AT_LEAST)
    }
}

impl Database {
    /// Opens an ear for commits; `None` where nobody can listen, behind a pooler. SQLite is asked so often.
    pub(in crate::store) async fn commits(&self, every: Duration) -> Result<Option<Commits>, StoreError> {
        let ear = match &self.engine {
            Engine::Postgres(postgres) => Listener::open(postgres)
                .await?
                .map(|listener| Ear::Postgres(Box::new(listener))),
            Engine::Sqlite(sqlite) => Some(Ear::Sqlite(Watch {
                sqlite: Arc::clone(sqlite),
                every,
                version: sqlite.data_version().await?,
                log: None,
                still: 0,
            })),
        };
        Ok(ear.map(Commits))
    }
}
