//! A connection of the pool while somebody uses it, and how long an answer on it is waited for.
//!
//! The server's time-outs come first. They say nothing where the network has swallowed the connection: then TCP alone
//! would wait for a quarter of an hour, and with it whoever asked. So there is a deadline on this side too. A connection
//! that missed it may be in the middle of anything: it leaves the pool and is closed, and never serves again.

use std::time::Duration;

use sqlx::pool::PoolConnection;
use sqlx::{AssertSqlSafe, Executor as _, PgConnection, SqlSafeStr};
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use super::{Args, Postgres, Row, Statement, postgres};
use crate::store::error::StoreError;

/// A pooled connection in use. It goes back when the value is dropped, unless an answer on it did not come in time.
#[derive(Debug)]
pub(crate) struct Held {
    /// `None` once it was given up.
    connection: Option<PoolConnection<sqlx::Postgres>>,
    patience: Duration,
    tasks: TaskTracker,
    from: Postgres,
}

impl Held {
    /// Waits for a connection, and will wait as long for each answer on it, at most `patience`.
    pub(super) async fn acquire(
        from: &Postgres,
        patience: Duration,
        tasks: &TaskTracker,
    ) -> Result<Self, StoreError> {
        // What is dropped here was never in a transaction, and the pool closes a connection that it was still making.
        let connection = timeout(patience, from.pool.acquire())
            .await
            .map_err(|_| silent())??;
        Ok(Self {
            connection: Some(connection),
            patience,
            tasks: tasks.clone(),
            from: from.clone(),
        })
    }

    /// For a single statement; [`Held::served`] must follow it.
    pub(super) async fn for_one(
        from: &Postgres,
        patience: Duration,
        tasks: &TaskTracker,
    ) -> Result<Self, StoreError> {
        match from.warm.take() {
            None => Self::acquire(from, patience, tasks).await,
            Some(connection) => Ok(Self {
                connection: Some(connection),
                patience,
                tasks: tasks.clone(),
                from: from.clone(),
            }),
        }
    }

    /// The single statement has been answered: the connection is kept for the next one, unless that answer was an error.
    pub(super) fn served<T>(mut self, answer: Result<T, StoreError>) -> Result<T, StoreError> {
        if answer.is_ok() {
            let connection = self.connection.take();
            self.connection = connection.and_then(|connection| self.from.warm.keep(connection));
        } else {
            for connection in self.from.warm.clear() {
                self.give_back(connection);
            }
        }
        answer
    }

    /// Runs a statement and returns its rows.
    pub(super) async fn rows(
        &mut self,
        statement: &'static Statement,
        args: &Args,
    ) -> Result<Vec<Row>, StoreError> {
        let prepared = self.from.prepared();
        let answer = timeout(
            self.patience,
            postgres::rows(self.open()?, statement, args, prepared),
        )
        .await;
        answer.unwrap_or_else(|_| Err(self.give_up()))
    }

    /// Runs a statement and hands each row to `take`; the deadline is for all of them.
    pub(super) async fn each_row(
        &mut self,
        statement: &'static Statement,
        args: &Args,
        take: impl FnMut(&Row) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let answer = timeout(
            self.patience,
            postgres::each_row(self.open()?, statement, args, take),
        )
        .await;
        answer.unwrap_or_else(|_| Err(self.give_up()))
    }

    /// Runs a statement and returns how many rows it changed.
    pub(super) async fn execute(
        &mut self,
        statement: &'static Statement,
        args: &Args,
    ) -> Result<u64, StoreError> {
        let prepared = self.from.prepared();
        let answer = timeout(
            self.patience,
            postgres::execute(self.open()?, statement, args, prepared),
        )
        .await;
        answer.unwrap_or_else(|_| Err(self.give_up()))
    }

    /// Begins a transaction.
    pub(super) async fn begin(&mut self) -> Result<(), StoreError> {
        match self.from.begin.clone() {
            None => self.say("begin").await,
            Some(begin) => self.say(AssertSqlSafe(begin.to_string())).await,
        }
    }

    /// Says `commit` or `rollback`, or what a transaction begins with.
    ///
    /// Not by sqlx's own transactions: those count in memory how deep they are, and one that is dropped half way loses
    /// count (sqlx issues 4385 and 4393). What is left open here is ended before the pool hands the connection out.
    pub(super) async fn say(&mut self, word: impl SqlSafeStr + Send) -> Result<(), StoreError> {
        let answer = timeout(self.patience, self.open()?.execute(sqlx::raw_sql(word))).await;
        match answer {
            Ok(answer) => Ok(answer.map(drop)?),
            Err(_) => Err(self.give_up()),
        }
    }

    fn open(&mut self) -> Result<&mut PgConnection, StoreError> {
        self.connection.as_deref_mut().ok_or_else(silent)
    }

    /// The pool asks the connection whether it lives before it takes it back, and would wait for that without end.
    fn give_back(&self, mut connection: PoolConnection<sqlx::Postgres>) {
        self.tasks
            .spawn(timeout(self.patience, connection.return_to_pool()));
    }

    fn give_up(&mut self) -> StoreError {
        // Dropping closes the socket; nothing more is said on it.
        drop(self.connection.take().map(PoolConnection::detach));
        silent()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            self.give_back(connection);
        }
    }
}

fn silent() -> StoreError {
    StoreError::Unavailable("no answer came in time; check the network between here and there".to_owned())
}
