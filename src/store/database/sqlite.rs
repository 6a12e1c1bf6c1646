//! Connections to SQLite: one that writes, some that read, one that only watches.

use std::path::{Path, PathBuf};
use std::str::FromStr as _;
use std::time::{Duration, SystemTime};

use futures_util::TryStreamExt as _;
use sqlx::ConnectOptions as _;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqlitePool, SqlitePoolOptions,
    SqliteSynchronous,
};

use super::{Args, DatabaseOptions, MissingFile, Row, Statement};
use crate::store::error::{Objection, StoreError};

/// The connections to one file.
#[derive(Debug)]
pub(crate) struct Sqlite {
    /// One connection: SQLite has one writer at a time anyway, and so those of this process wait in a fair queue.
    pub(crate) writer: SqlitePool,
    pub(super) readers: SqlitePool,
    /// One connection that is never replaced: `data_version` compares only with what the same connection said before.
    watcher: SqlitePool,
    /// The write-ahead log beside the file.
    log: PathBuf,
    /// The log's shared memory, which holds its locks.
    locks: PathBuf,
}

/// What a commit changes about the write-ahead log, as its directory entry tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LogTrace {
    bytes: u64,
    modified: SystemTime,
}

impl Sqlite {
    /// `None` where there is no log, or nobody may look.
    pub(super) fn log_trace(&self) -> Option<LogTrace> {
        let entry = std::fs::metadata(&self.log).ok()?;
        Some(LogTrace {
            bytes: entry.len(),
            modified: entry.modified().ok()?,
        })
    }

    /// The file that holds the locks of the write-ahead log.
    pub(crate) fn lock_file(&self) -> &Path {
        &self.locks
    }

    pub(super) async fn data_version(&self) -> Result<i64, StoreError> {
        let mut connection = self.watcher.acquire().await?;
        Ok(sqlx::query_scalar("pragma data_version")
            .fetch_one(&mut *connection)
            .await?)
    }

    pub(super) async fn close(&self) {
        // The writer last: the last connection to leave folds the write-ahead log back into the file.
        self.watcher.close().await;
        self.readers.close().await;
        self.writer.close().await;
    }
}

pub(super) fn open(url: &str, options: &DatabaseOptions) -> Result<Sqlite, StoreError> {
    let file = SqliteConnectOptions::from_str(url).map_err(|error| {
        StoreError::Refused(
            format!("the database address is not of the form `sqlite://path`: {error}").into(),
        )
    })?;
    if url.contains(":memory:") || url.contains("mode=memory") {
        return Err(StoreError::Refused(Objection::new(
            "a SQLite database in memory is gone when the program ends",
            "name a file",
        )));
    }
    let beside = |ending| {
        let mut name = file.get_filename().as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    };
    let (log, locks) = (beside("-wal"), beside("-shm"));
    let file = file
        .busy_timeout(options.lock_timeout)
        // An acknowledged write survives a loss of power.
        .synchronous(SqliteSynchronous::Full)
        // The tables have none; the pipeline's own tables in the same file are its own concern.
        .foreign_keys(false)
        .disable_statement_logging();
    let writing = match options.missing_file {
        MissingFile::Create => file.clone().create_if_missing(true),
        MissingFile::Refuse => file.clone(),
    };
    // Only the writer may create the file or change its mode; a reader that finds none says so.
    let reading = file.create_if_missing(false).pragma("query_only", "on");
    Ok(Sqlite {
        writer: pool(1, options).connect_lazy_with(writing.journal_mode(SqliteJournalMode::Wal)),
        readers: pool(options.max_connections, options).connect_lazy_with(reading.clone()),
        watcher: pool(1, options).connect_lazy_with(reading),
        log,
        locks,
    })
}

pub(super) async fn each_row(
    connection: &mut SqliteConnection,
    statement: &'static Statement,
    args: &Args,
    mut take: impl FnMut(&Row) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut rows = sqlx::query_with(statement.sqlite(), args.sqlite()?).fetch(connection);
    while let Some(row) = rows.try_next().await? {
        take(&Row::Sqlite(row))?;
    }
    Ok(())
}

pub(in crate::store) async fn rows(
    connection: &mut SqliteConnection,
    statement: &'static Statement,
    args: &Args,
) -> Result<Vec<Row>, StoreError> {
    let rows = sqlx::query_with(statement.sqlite(), args.sqlite()?)
        .fetch_all(connection)
        .await?;
    Ok(rows.into_iter().map(Row::Sqlite).collect())
}

pub(super) async fn execute(
    connection: &mut SqliteConnection,
    statement: &'static Statement,
    args: &Args,
) -> Result<u64, StoreError> {
    let done = sqlx::query_with(statement.sqlite(), args.sqlite()?)
        .execute(connection)
        .await?;
    Ok(done.rows_affected())
}

fn pool(connections: u32, options: &DatabaseOptions) -> SqlitePoolOptions {
    SqlitePoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(options.acquire_timeout)
        // A connection to a file does not go stale, and asking it before each use would cost as much as the use.
        .test_before_acquire(false)
        .idle_timeout(None::<Duration>)
        .max_lifetime(None::<Duration>)
}
