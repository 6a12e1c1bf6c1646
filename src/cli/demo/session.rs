//! The demo's own connection to the database: a pipeline's, and afterwards a person's who looks.
//!
//! Plain SQL through the driver, past the store: what it inserts is what any program in any language would insert.

use std::str::FromStr as _;
use std::time::Duration;

use sqlx::postgres::PgConnection;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _};

use super::verdict::{Fact, Id};
use crate::core::delivery::State;
use crate::core::row::Op;
use crate::store::StoreError;
use crate::store::database::in_sqlite;

/// How long the pipeline waits while the relay writes to SQLite.
const BUSY_TIMEOUT: Duration = Duration::from_mins(1);

/// A connection outside of the relay's.
pub(super) enum Session {
    Postgres(PgConnection),
    Sqlite(SqliteConnection),
}

/// How a transaction ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Commit,
    RollBack,
}

/// The same work on either connection; the driver's types differ, the words do not.
macro_rules! on_either {
    ($session:expr, $connection:ident => $work:expr) => {
        match $session {
            Session::Postgres($connection) => $work,
            Session::Sqlite($connection) => $work,
        }
    };
}

impl Session {
    pub(super) async fn open(url: &str) -> Result<Self, StoreError> {
        if url.starts_with("sqlite:") {
            let options = SqliteConnectOptions::from_str(url)?.busy_timeout(BUSY_TIMEOUT);
            Ok(Self::Sqlite(options.connect().await?))
        } else {
            Ok(Self::Postgres(PgConnection::connect(url).await?))
        }
    }

    pub(super) async fn close(self) {
        // All that was to be kept is committed.
        let _ = on_either!(self, connection => connection.close().await);
    }

    /// One transaction of the pipeline. Returns how many of the rows the ledger let in.
    pub(super) async fn transaction(&mut self, rows: &[(Op, Fact)], end: End) -> Result<u64, StoreError> {
        // On SQLite a transaction that means to write says so at once.
        self.execute(match self {
            Self::Postgres(_) => "begin",
            Self::Sqlite(_) => "begin immediate",
        })
        .await?;
        let mut admitted = 0;
        for (op, fact) in rows {
            admitted += self.insert(*op, fact).await?;
        }
        self.execute(match end {
            End::Commit => "commit",
            End::RollBack => "rollback",
        })
        .await?;
        Ok(admitted)
    }

    /// Deliveries that have not ended.
    pub(super) async fn owed(&mut self) -> Result<u64, StoreError> {
        self.count(
            "select count(*) from aftercommit.owed where destination like $1",
            &["%"],
        )
        .await
    }

    /// Attempts on record to deliver rows whose row key begins with `prefix` to `destination`.
    pub(super) async fn attempts(&mut self, prefix: &str, destination: &str) -> Result<u64, StoreError> {
        self.count(
            "select count(*) from aftercommit.outbox join aftercommit.attempt on attempt.outbox_id = outbox.id
             where outbox.row_key like $1 and attempt.destination = $2",
            &[&format!("{prefix}%"), destination],
        )
        .await
    }

    /// Where each delivery to `destination` stands whose row key begins with `prefix`.
    pub(super) async fn deliveries(
        &mut self,
        prefix: &str,
        destination: &str,
    ) -> Result<Vec<(Id, State)>, StoreError> {
        let statement = self.words(
            "select outbox.topic, outbox.row_key, outbox.row_version, delivery.state
             from aftercommit.outbox join aftercommit.delivery on delivery.outbox_id = outbox.id
             where outbox.row_key like $1 and delivery.destination = $2",
        );
        let rows: Vec<(String, String, Option<i64>, String)> = on_either!(self, connection => {
            sqlx::query_as(AssertSqlSafe(statement))
                .bind(format!("{prefix}%"))
                .bind(destination)
                .fetch_all(connection)
                .await?
        });
        let read = |(topic, row_key, row_version, state): (String, String, Option<i64>, String)| {
            let state = state.parse::<State>();
            let state = state.map_err(|error| StoreError::Unexpected(error.to_string()))?;
            let id = Id {
                topic,
                row_key,
                row_version,
            };
            Ok((id, state))
        };
        rows.into_iter().map(read).collect()
    }

    async fn insert(&mut self, op: Op, fact: &Fact) -> Result<u64, StoreError> {
        let statement = match self {
            Self::Postgres(_) => {
                "insert into aftercommit.outbox (topic, row_key, row_version, op, payload) values ($1, $2, $3, $4, $5::json)"
            }
            Self::Sqlite(_) => {
                "insert into outbox (topic, row_key, row_version, op, payload) values ($1, $2, $3, $4, $5)"
            }
        };
        let Fact { id, payload } = fact;
        Ok(on_either!(self, connection => {
            sqlx::query(statement)
                .bind(&id.topic)
                .bind(&id.row_key)
                .bind(id.row_version)
                .bind(op.as_str())
                .bind(payload)
                .execute(connection)
                .await?
                .rows_affected()
        }))
    }

    async fn execute(&mut self, statement: &'static str) -> Result<(), StoreError> {
        on_either!(self, connection => { sqlx::query(statement).execute(connection).await?; });
        Ok(())
    }

    async fn count(&mut self, statement: &'static str, arguments: &[&str]) -> Result<u64, StoreError> {
        let statement = self.words(statement);
        let count: i64 = on_either!(self, connection => {
            let mut query = sqlx::query_scalar(AssertSqlSafe(statement));
            for argument in arguments {
                query = query.bind(*argument);
            }
            query.fetch_one(connection).await?
        });
        Ok(u64::try_from(count).unwrap_or(0))
    }

    fn words(&self, statement: &'static str) -> String {
        match self {
            Self::Postgres(_) => statement.to_owned(),
            Self::Sqlite(_) => in_sqlite(statement),
        }
    }
}
