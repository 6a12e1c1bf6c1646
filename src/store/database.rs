//! The door to the database: every statement of the store goes through it, and both databases stand behind it.
//!
//! A caller brings a statement and its arguments and gets rows back. Which database answers is known here and below,
//! and nowhere else. Nothing here knows what a delivery is.
//!
//! ```text
//!  read(statement) ──────────▶ any connection, outside of a transaction    (behind a pooler: as `write`)
//!  run(statement)  ─┐
//!  write(closure)  ─┴▶ a task of its own: begin … commit    (SQLite: the one connection that writes)
//!  snapshot(closure) ────────▶ the same, and all of its statements read the same moment
//! ```
//!
//! Why a task of its own: a future that is dropped inside `begin` or `commit` leaves a connection of sqlx 0.9.0 in a
//! transaction that nobody knows of, and what is acknowledged on it later is rolled back (sqlx issues 4385 and 4393).
//! A caller may be dropped at any time; the task runs to its end. Time-outs are the server's; `held` says what becomes of
//! a connection on which not even they are heard.
//!
//! The relay's pulse, its heartbeats and leases, goes through PostgreSQL connections of its own: however busy the others
//! are, a relay that lives must be able to say so.

mod args;
mod commits;
mod connections;
mod held;
mod listener;
mod options;
pub(super) mod postgres;
mod row;
pub(super) mod sqlite;
mod statement;
mod transaction;
mod warm;

use std::sync::Arc;
use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};
use tokio_util::task::TaskTracker;

use super::error::StoreError;

pub(crate) use self::args::{Args, Batch};
pub use self::commits::Commits;
pub use self::connections::Connections;
pub(crate) use self::held::Held;
pub use self::options::{DatabaseOptions, MissingFile, Pooler};
pub(crate) use self::postgres::Postgres;
pub(crate) use self::row::{Column, Row, only};
pub(crate) use self::sqlite::Sqlite;
pub(crate) use self::statement::{Statement, sql};
pub use self::statement::{at_first, in_sqlite};
pub(crate) use self::transaction::{Transaction, Work};

/// A database, PostgreSQL or SQLite. Cheap to clone; all clones share their connections.
#[derive(Debug, Clone)]
pub struct Database {
    pub(super) engine: Engine,
    /// For what a relay cannot live without.
    pulse: Engine,
    /// How long an answer is waited for (PostgreSQL).
    answer_timeout: Duration,
    tasks: TaskTracker,
}

/// Connections for the pulse: one for the heartbeat, one for the leases.
const PULSE_CONNECTIONS: u32 = 2;

/// Which database it is, and the connections to it.
#[derive(Debug, Clone)]
pub(crate) enum Engine {
    Postgres(Postgres),
    Sqlite(Arc<Sqlite>),
}

/// How a transaction ends whose work has succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Commit,
    Rollback,
}

impl Database {
    /// Reads the address and gets ready; connections are made when they are needed. `check` says whether it answers.
    ///
    /// `postgres://…` as libpq writes it, or `sqlite://path/to/file.db`. An error never shows the address.
    pub fn connect(url: &SecretString, options: &DatabaseOptions) -> Result<Self, StoreError> {
        let url = url.expose_secret();
        let (engine, pulse) = match url.split_once(':').map(|(scheme, _)| scheme) {
            Some("postgres" | "postgresql") => {
                let few = DatabaseOptions {
                    max_connections: PULSE_CONNECTIONS,
                    ..options.clone()
                };
                let pool = |options| Postgres::open(url, options).map(Engine::Postgres);
                (pool(options)?, pool(&few)?)
            }
            Some("sqlite") => {
                // All that write wait in one fair queue: a connection more would not be served sooner.
                let engine = Engine::Sqlite(Arc::new(sqlite::open(url, options)?));
                (engine.clone(), engine)
            }
            _ => {
                return Err(StoreError::Refused(
                    "the database address must begin with `postgres://` or `sqlite://`"
                        .to_owned()
                        .into(),
                ));
            }
        };
        Ok(Self {
            engine,
            pulse,
            answer_timeout: options.answer_timeout,
            tasks: TaskTracker::new(),
        })
    }

    /// Waits for transactions that still run, then closes all connections.
    pub async fn close(&self) {
        self.tasks.close();
        self.tasks.wait().await;
        for engine in [&self.pulse, &self.engine] {
            match engine {
                Engine::Postgres(postgres) => postgres.close().await,
                Engine::Sqlite(sqlite) => sqlite.close().await,
            }
        }
    }

    /// The same database by the connections of the pulse. A connection and each answer on it come `within` so long, or
    /// are given up (PostgreSQL).
    pub(super) fn pulse(&self, within: Duration) -> Self {
        Self {
            engine: self.pulse.clone(),
            answer_timeout: within,
            ..self.clone()
        }
    }

    /// Runs one statement that reads, outside of a transaction where that is possible.
    pub(crate) async fn read(
        &self,
        statement: &'static Statement,
        args: Args,
    ) -> Result<Vec<Row>, StoreError> {
        match &self.engine {
            Engine::Postgres(postgres) if postgres.is_lent() => self.alone(statement, args).await,
            Engine::Postgres(postgres) => {
                let mut connection = Held::for_one(postgres, self.answer_timeout, &self.tasks).await?;
                let rows = connection.rows(statement, &args).await;
                connection.served(rows)
            }
            Engine::Sqlite(sqlite) => {
                let mut connection = sqlite.readers.acquire().await?;
                sqlite::rows(&mut connection, statement, &args).await
            }
        }
    }

    /// Runs one statement that reads, outside of a transaction, and hands each row to `take` as it comes: a large result
    /// is not held whole, but behind a pooler.
    pub(crate) async fn read_each(
        &self,
        statement: &'static Statement,
        args: Args,
        take: impl FnMut(&Row) -> Result<(), StoreError> + Send,
    ) -> Result<(), StoreError> {
        match &self.engine {
            Engine::Postgres(postgres) if postgres.is_lent() => {
                let rows = self.alone(statement, args).await?;
                rows.iter().try_for_each(take)
            }
            Engine::Postgres(postgres) => {
                let mut connection = Held::for_one(postgres, self.answer_timeout, &self.tasks).await?;
                let answer = connection.each_row(statement, &args, take).await;
                connection.served(answer)
            }
            Engine::Sqlite(sqlite) => {
                let mut connection = sqlite.readers.acquire().await?;
                sqlite::each_row(&mut connection, statement, &args, take).await
            }
        }
    }

    /// Runs one statement that writes, as a transaction of its own.
    ///
    /// On PostgreSQL that is one round trip. On SQLite the file may hold several statements, which share the arguments:
    /// what one statement with several writing parts does there, they do here one after the other.
    pub(crate) async fn run(
        &self,
        statement: &'static Statement,
        args: Args,
    ) -> Result<Vec<Row>, StoreError> {
        match &self.engine {
            Engine::Postgres(postgres) if !postgres.is_lent() => {
                let (postgres, patience, tasks) = (postgres.clone(), self.answer_timeout, self.tasks.clone());
                self.in_a_task(async move {
                    let mut connection = Held::for_one(&postgres, patience, &tasks).await?;
                    let rows = connection.rows(statement, &args).await;
                    connection.served(rows)
                })
                .await
            }
            _ => self.alone(statement, args).await,
        }
    }

    /// Runs one statement in a transaction that is told to begin and to commit.
    async fn alone(&self, statement: &'static Statement, args: Args) -> Result<Vec<Row>, StoreError> {
        self.write(move |transaction| Box::pin(async move { transaction.rows(statement, args).await }))
            .await
    }

    /// Runs `work` in a transaction, which commits if it returns `Ok` and is rolled back if not.
    pub(crate) async fn write<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Transaction) -> Work<'t, T> + Send + 'static,
    {
        self.transact(work, End::Commit).await
    }

    /// Runs `work` in a transaction that is rolled back, whatever comes of it.
    pub(crate) async fn try_out<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Transaction) -> Work<'t, T> + Send + 'static,
    {
        self.transact(work, End::Rollback).await
    }

    /// Runs `work`, which reads, in a transaction whose statements all see the same moment. It holds up nobody who writes.
    pub(crate) async fn snapshot<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Transaction) -> Work<'t, T> + Send + 'static,
    {
        let (engine, patience, tasks) = (self.engine.clone(), self.answer_timeout, self.tasks.clone());
        self.in_a_task(async move {
            let mut transaction = Transaction::begin_snapshot(&engine, patience, &tasks).await?;
            let outcome = work(&mut transaction).await;
            transaction.rollback().await;
            outcome
        })
        .await
    }

    /// Runs `work` in a transaction, which ends so if it returns `Ok`.
    async fn transact<T, F>(&self, work: F, end: End) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Transaction) -> Work<'t, T> + Send + 'static,
    {
        let (engine, patience, tasks) = (self.engine.clone(), self.answer_timeout, self.tasks.clone());
        self.in_a_task(async move {
            let mut transaction = Transaction::begin(&engine, patience, &tasks).await?;
            match (work(&mut transaction).await, end) {
                (Ok(value), End::Commit) => {
                    crate::crash_point!("before_commit");
                    transaction.commit().await?;
                    crate::crash_point!("after_commit");
                    Ok(value)
                }
                (outcome, _) => {
                    transaction.rollback().await;
                    outcome
                }
            }
        })
        .await
    }

    pub(super) async fn in_a_task<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        match self.tasks.spawn(work).await {
            Ok(result) => result,
            Err(stopped) if stopped.is_cancelled() => Err(StoreError::Unavailable(
                "the program is ending; whether the transaction was committed is not known".to_owned(),
            )),
            Err(panic) => std::panic::resume_unwind(panic.into_panic()),
        }
    }
}
