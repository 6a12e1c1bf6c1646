//! Connections to PostgreSQL: how they are set up, and how a statement runs on one.
//!
//! Behind a pooler in transaction mode (pgbouncer) a session lasts as long as a transaction, and no statement is prepared
//! for longer. So there every statement runs in a transaction, which begins with what a session is told otherwise; no
//! path needs session state beyond that, but for the wake-up, which then is left to the poll.

use std::str::FromStr as _;
use std::sync::Arc;
use std::time::Duration;

use futures_util::TryStreamExt as _;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPool, PgPoolOptions};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Executor as _};

use tokio::time::timeout;

use super::warm::Warm;
use super::{Args, DatabaseOptions, Pooler, Row, Statement};
use crate::store::error::StoreError;

/// What each connection is told once, or each transaction.
const SESSION: &str = include_str!("../sql/postgres/session.sql");

/// Ends what an earlier user of the connection may have left open; a connection where it fails is thrown away.
///
/// It begins first because a lone `rollback` outside of a transaction is a warning in the server's log, each time.
const CLEAN: &str = "begin; rollback";

/// How long the goodbye on a connection may take.
const GOODBYE: Duration = Duration::from_secs(1);

/// What becomes of a prepared statement after its use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Prepared {
    /// It stays in the session, for the next time.
    Kept,
    /// It has no name and leaves nothing behind: another gets the session next.
    Once,
}

/// The connections to one database.
#[derive(Debug, Clone)]
pub(crate) struct Postgres {
    pub(crate) pool: PgPool,
    /// Of the pool, for single statements.
    pub(super) warm: Warm,
    /// Behind a pooler: what a transaction begins with.
    pub(super) begin: Option<Arc<str>>,
}

impl Postgres {
    pub(super) fn open(url: &str, options: &DatabaseOptions) -> Result<Self, StoreError> {
        let connect = connect_options(url)?;
        let pool = PgPoolOptions::new()
            .max_connections(options.max_connections)
            .acquire_timeout(options.acquire_timeout)
            // Instead of a ping: one round trip either way.
            .test_before_acquire(false)
            .before_acquire(|connection, _| {
                Box::pin(async move {
                    connection.execute(sqlx::raw_sql(CLEAN)).await?;
                    Ok(true)
                })
            });
        let warm = Warm::half_of(options.max_connections);
        Ok(match options.pooler {
            Pooler::None => {
                let session: Arc<str> = told(options, Lasting::Session).into();
                let pool = pool.after_connect(move |connection, _| {
                    let session = session.to_string();
                    Box::pin(async move {
                        connection.execute(sqlx::raw_sql(AssertSqlSafe(session))).await?;
                        Ok(())
                    })
                });
                Self {
                    pool: pool.connect_lazy_with(connect),
                    warm,
                    begin: None,
                }
            }
            Pooler::Transaction => Self {
                pool: pool.connect_lazy_with(connect),
                warm,
                begin: Some(format!("begin; {}", told(options, Lasting::Transaction)).into()),
            },
        })
    }

    /// Whether a session lasts no longer than a transaction.
    pub(crate) fn is_lent(&self) -> bool {
        self.begin.is_some()
    }

    /// What becomes of a statement that is prepared in a transaction.
    pub(super) fn prepared(&self) -> Prepared {
        if self.is_lent() {
            Prepared::Once
        } else {
            Prepared::Kept
        }
    }

    pub(super) async fn close(&self) {
        for connection in self.warm.close() {
            // Whether the server hears of it or not, it is closed.
            let _heard = timeout(GOODBYE, connection.close()).await;
        }
        self.pool.close().await;
    }
}

pub(in crate::store) async fn rows(
    connection: &mut PgConnection,
    statement: &'static Statement,
    args: &Args,
    prepared: Prepared,
) -> Result<Vec<Row>, StoreError> {
    let rows = sqlx::query_with(statement.postgres(), args.postgres()?)
        .persistent(prepared == Prepared::Kept)
        .fetch_all(connection)
        .await?;
    Ok(rows.into_iter().map(Row::Postgres).collect())
}

pub(super) async fn each_row(
    connection: &mut PgConnection,
    statement: &'static Statement,
    args: &Args,
    mut take: impl FnMut(&Row) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut rows = sqlx::query_with(statement.postgres(), args.postgres()?).fetch(connection);
    while let Some(row) = rows.try_next().await? {
        take(&Row::Postgres(row))?;
    }
    Ok(())
}

pub(super) async fn execute(
    connection: &mut PgConnection,
    statement: &'static Statement,
    args: &Args,
    prepared: Prepared,
) -> Result<u64, StoreError> {
    let done = sqlx::query_with(statement.postgres(), args.postgres()?)
        .persistent(prepared == Prepared::Kept)
        .execute(connection)
        .await?;
    Ok(done.rows_affected())
}

fn connect_options(url: &str) -> Result<PgConnectOptions, StoreError> {
    let options = PgConnectOptions::from_str(url).map_err(|_| {
        StoreError::Refused(
            "the database address is not of the form `postgres://user:password@host:port/database`, or it has a \
             parameter that is not known"
                .to_owned()
                .into(),
        )
    })?;
    Ok(options
        .application_name("aftercommit")
        // No statement brings a float, and pgbouncer refuses the start-up parameter.
        .extra_float_digits(None)
        .disable_statement_logging())
}

/// How long what is told holds.
#[derive(Clone, Copy)]
enum Lasting {
    Session,
    Transaction,
}

/// [`SESSION`] with its arguments written into it: a transaction begins with it in the same round trip, and what goes
/// over the wire as one text takes none. They are numbers.
fn told(options: &DatabaseOptions, lasting: Lasting) -> String {
    let milliseconds = |limit: Duration| format!("'{}'", limit.as_millis());
    let transaction_alone = match lasting {
        Lasting::Session => "false",
        Lasting::Transaction => "true",
    };
    SESSION
        .replace("$1", &milliseconds(options.statement_timeout))
        .replace("$2", &milliseconds(options.lock_timeout))
        .replace("$3", &milliseconds(options.idle_in_transaction_timeout))
        .replace("$4", transaction_alone)
}
