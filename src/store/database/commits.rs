//! Hearing that somebody has committed, whoever it was: for a relay that has nothing to do.
//!
//! Only a hint, on either database; a relay that hears nothing finds the same rows when it looks by itself.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;

use super::listener::Listener;
use super::sqlite::LogTrace;
use super::{Database, Engine, Sqlite};
use crate::store::error::StoreError;

/// However still a SQLite file seems, it is asked at the latest after so many looks.
const ASK_AT_LEAST: u32 = 50;

/// An ear for commits, of this program's connections too. Whatever it keeps in the database goes with it.
pub struct Commits(Ear);

enum Ear {
    Postgres(Box<Listener>),
    Sqlite(Watch),
}

/// Its watcher's `data_version` moves when any other connection commits. To ask for it costs fifty times what a look at
/// the directory entry of the log costs, which a commit changes: so it is asked only after a look saw something.
struct Watch {
    sqlite: Arc<Sqlite>,
    version: i64,
    seen: mpsc::Receiver<()>,
}

/// Looks at the log from a thread of its own, since a runtime that wakes up for each look would take more of a core than
/// all that an idle relay does otherwise. Ends with its ear, by the next look.
struct Looks {
    sqlite: Arc<Sqlite>,
    every: Duration,
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
    async fn open(sqlite: &Arc<Sqlite>, every: Duration) -> Result<Self, StoreError> {
        let (saw, seen) = mpsc::channel(1);
        let mut looks = Looks {
            sqlite: Arc::clone(sqlite),
            every,
            log: None,
            still: 0,
        };
        let thread = std::thread::Builder::new().name("watch commits".to_owned());
        let started = thread.spawn(move || looks.go_on(&saw));
        started
            .map_err(|problem| StoreError::Unavailable(format!("no thread can be started ({problem})")))?;
        Ok(Self {
            sqlite: Arc::clone(sqlite),
            version: sqlite.data_version().await?,
            seen,
        })
    }

    async fn next(&mut self) -> Result<(), StoreError> {
        while self.seen.recv().await.is_some() {
            let version = self.sqlite.data_version().await?;
            if std::mem::replace(&mut self.version, version) != version {
                return Ok(());
            }
        }
        Err(StoreError::Unexpected(
            "nobody looks at the log any more".to_owned(),
        ))
    }
}

impl Looks {
    fn go_on(&mut self, saw: &mpsc::Sender<()>) {
        while !saw.is_closed() {
            std::thread::sleep(self.every);
            if !self.is_still() {
                // One that was not taken yet says the same.
                let _told = saw.try_send(());
            }
        }
    }

    /// Whether nobody can have committed since the log was last seen to change, as far as a look tells.
    fn is_still(&mut self) -> bool {
        let log = self.sqlite.log_trace();
        let seen_before = std::mem::replace(&mut self.log, log);
        self.still = if log.is_some() && log == seen_before {
            self.still.wrapping_add(1)
        } else {
            0
        };
        // At 1 it says so once more: the file system's clock ticks slowly, and a commit just after the last look can bear
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
            Engine::Sqlite(sqlite) => Some(Ear::Sqlite(Watch::open(sqlite, every).await?)),
        };
        Ok(ear.map(Commits))
    }
}
