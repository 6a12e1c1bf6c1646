//! A transaction that writes, on either database.
//!
//! Only [`super::Database::write`] makes one, in a task of its own.

use std::pin::Pin;

use sqlx::{Postgres, Sqlite};

use super::postgres::Prepared;
use super::{Args, Engine, Row, Statement, postgres, sqlite};
use crate::store::error::StoreError;

/// What a closure given to [`super::Database::write`] returns.
pub(crate) type Work<'t, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 't>>;

/// A transaction that is open.
pub(crate) enum Transaction {
    Postgres(sqlx::Transaction<'static, Postgres>, Prepared),
    Sqlite(sqlx::Transaction<'static, Sqlite>),
}

impl Transaction {
    pub(super) async fn begin(engine: &Engine) -> Result<Self, StoreError> {
        Ok(match engine {
            Engine::Postgres(postgres) => Self::Postgres(postgres.begin().await?, postgres.prepared()),
            // A transaction that reads first and writes later fails at once if another process wrote in between,
            // whatever the time-out says. So it writes from its first moment.
            Engine::Sqlite(sqlite) => Self::Sqlite(sqlite.writer.begin_with("begin immediate").await?),
        })
    }

    /// Runs a statement and returns its rows.
    pub(crate) async fn rows(
        &mut self,
        statement: &'static Statement,
        args: Args,
    ) -> Result<Vec<Row>, StoreError> {
        match self {
            Self::Postgres(transaction, prepared) => {
                postgres::rows(transaction, statement, &args, *prepared).await
            }
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
            Self::Postgres(transaction, prepared) => {
                postgres::execute(transaction, statement, &args, *prepared).await
            }
            Self::Sqlite(transaction) => sqlite::execute(transaction, statement, &args).await,
        }
    }

    pub(super) async fn commit(self) -> Result<(), StoreError> {
        match self {
            Self::Postgres(transaction, _) => transaction.commit().await?,
            Self::Sqlite(transaction) => transaction.commit().await?,
        }
        Ok(())
    }

    /// What made the caller give up matters more than whether the server could still be told.
    pub(super) async fn rollback(self) {
        let _ = match self {
            Self::Postgres(transaction, _) => transaction.rollback().await,
            Self::Sqlite(transaction) => transaction.rollback().await,
        };
    }
}
