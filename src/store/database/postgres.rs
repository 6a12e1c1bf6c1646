//! Connections to PostgreSQL: how they are set up, and how a statement runs on one.
//!
//! Works behind pgbouncer in transaction mode too: nothing is asked for at the start of a connection, no statement needs
//! session state to be right, and there is no `listen` and no session lock on this path. What is set for the session
//! (time-outs, plans) then reaches only some of the pooler's connections: give the role the time-outs with
//! `alter role … set`, and pgbouncer 1.21 or newer `max_prepared_statements`.

use std::str::FromStr as _;
use std::time::Duration;

use futures_util::TryStreamExt as _;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPool, PgPoolOptions};
use sqlx::{ConnectOptions as _, Executor as _};

use super::{Args, DatabaseOptions, Row, Statement};
use crate::store::error::StoreError;

/// What each connection is told once.
const SESSION: &str = include_str!("../sql/postgres/session.sql");

/// Ends what an earlier user of the connection may have left open; a connection where it fails is thrown away.
///
/// It begins first because a lone `rollback` outside of a transaction is a warning in the server's log, each time.
const CLEAN: &str = "begin; rollback";

pub(super) fn pool(url: &str, options: &DatabaseOptions) -> Result<PgPool, StoreError> {
    let connect = PgConnectOptions::from_str(url)
        .map_err(|_| {
            StoreError::Refused(
                "the database address is not of the form `postgres://user:password@host:port/database`, or it has \
                 a parameter that is not known"
                    .to_owned(),
            )
        })?
        .application_name("aftercommit")
        .disable_statement_logging();
    let session = session(options).postgres()?;
    let pool = PgPoolOptions::new()
        .max_connections(options.max_connections)
        .acquire_timeout(options.acquire_timeout)
        .after_connect(move |connection, _| {
            let session = session.clone();
            Box::pin(async move {
                sqlx::query_with(SESSION, session)
                    .persistent(false)
                    .execute(connection)
                    .await?;
                Ok(())
            })
        })
        // Instead of a ping: one round trip either way.
        .test_before_acquire(false)
        .before_acquire(|connection, _| {
            Box::pin(async move {
                connection.execute(sqlx::raw_sql(CLEAN)).await?;
                Ok(true)
            })
        })
        .connect_lazy_with(connect);
    Ok(pool)
}

pub(in crate::store) async fn rows(
    connection: &mut PgConnection,
    statement: &'static Statement,
    args: &Args,
) -> Result<Vec<Row>, StoreError> {
    let rows = sqlx::query_with(statement.postgres(), args.postgres()?)
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
) -> Result<u64, StoreError> {
    let done = sqlx::query_with(statement.postgres(), args.postgres()?)
        .execute(connection)
        .await?;
    Ok(done.rows_affected())
}

fn session(options: &DatabaseOptions) -> Args {
    let milliseconds = |limit: Duration| limit.as_millis().to_string();
    Args::new()
        .text(&milliseconds(options.statement_timeout))
        .text(&milliseconds(options.lock_timeout))
        .text(&milliseconds(options.idle_in_transaction_timeout))
}
