//! A transaction on either database.
//!
//! Only [`super::Database`] makes one, in a task of its own.

use std::pin::Pin;
use std::time::Duration;

use sqlx::Sqlite;
use tokio_util::task::TaskTracker;

use super::{Args, Engine, Held, Row, Statement, sql, sqlite};
use crate::store::error::StoreError;

/// What a closure given to [`super::Database::write`] returns.
pub(crate) type Work<'t, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 't>>;

/// A transaction that is open.
#[derive(Debug)]
pub(crate) enum Transaction {
    Postgres(Held),
    Sqlite(sqlx::Transaction<'static, Sqlite>),
}

impl Transaction {
    /// `patience` and `tasks` are as for [`Held::acquire`].
    pub(super) async fn begin(
        engine: &Engine,
        patience: Duration,
        tasks: &TaskTracker,
    ) -> Result<Self, StoreError> {
        Ok(match engine {
            Engine::Postgres(postgres) => {
                let mut connection = Held::acquire(postgres, patience, tasks).await?;
                connection.begin().await?;
                Self::Postgres(connection)
            }
            // A transaction that reads first and writes later fails at once if another process wrote in between,
            // whatever the time-out says. So it writes from its first moment.
            Engine::Sqlite(sqlite) => Self::Sqlite(sqlite.writer.begin_with("begin immediate").await?),
        })
    }

    /// Begins one that reads: each of its statements sees what was committed when the first of them began.
    pub(super) async fn begin_snapshot(
        engine: &Engine,
        patience: Duration,
        tasks: &TaskTracker,
    ) -> Result<Self, StoreError> {
        Ok(match engine {
            Engine::Postgres(postgres) => {
                let mut connection = Held::acquire(postgres, patience, tasks).await?;
                connection.begin().await?;
                connection
                    .say("set transaction isolation level repeatable read, read only")
                    .await?;
                Self::Postgres(connection)
            }
            Engine::Sqlite(sqlite) => Self::Sqlite(sqlite.readers.begin().await?),
        })
    }

    /// Runs a statement and returns its rows.
    pub(crate) async fn rows(
        &mut self,
        statement: &'static Statement,
        args: Args,
    ) -> Result<Vec<Row>, StoreError> {
        match self {
            Self::Postgres(connection) => connection.rows(statement, &args).await,
            Self::Sqlite(transaction) => sqlite::rows(transaction, statement, &args).await,
        }
    }

    /// Runs a statement and returns how many rows it changed.
    pub(crate) async fn execute(
        &mut self,
        statement: &'static Statement,
        args: Args,
    ) -> Result<u64, StoreError> {
        match self {
            Self::Postgres(connection) => connection.execute(statement, &args).await,
            Self::Sqlite(transaction) => sqlite::execute(transaction, statement, &args).await,
        }
    }

    /// From here on a refusal can be undone alone.
    pub(crate) async fn savepoint(&mut self) -> Result<(), StoreError> {
        self.execute(sql!(shared "savepoint"), Args::new())
            .await
            .map(drop)
    }

    /// What was written since the savepoint stays.
    pub(crate) async fn release_savepoint(&mut self) -> Result<(), StoreError> {
        self.execute(sql!(shared "release_savepoint"), Args::new())
            .await
            .map(drop)
    }

    /// Undoes what was written since the savepoint.
    pub(crate) async fn rollback_to_savepoint(&mut self) -> Result<(), StoreError> {
        self.execute(sql!(shared "rollback_to_savepoint"), Args::new())
            .await
            .map(drop)
    }

    pub(super) async fn commit(self) -> Result<(), StoreError> {
        match self {
            Self::Postgres(mut connection) => connection.say("commit").await?,
            Self::Sqlite(transaction) => transaction.commit().await?,
        }
        Ok(())
    }

    /// What made the caller give up matters more than whether the server could still be told.
    pub(super) async fn rollback(self) {
        let _ = match self {
            Self::Postgres(mut connection) => connection.say("rollback").await,
            Self::Sqlite(transaction) => transaction.rollback().await.map_err(StoreError::from),
        };
    }
}
