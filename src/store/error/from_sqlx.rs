//! What an error of the driver means for the caller.
//!
//! By class, not by text: PostgreSQL's SQLSTATE, SQLite's primary result code. Nothing of the address gets in.

use sqlx::error::DatabaseError;
use sqlx::postgres::PgDatabaseError;

use super::{Objection, StoreError};

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        match &error {
            sqlx::Error::Database(answer) => of_answer(answer.as_ref()),
            sqlx::Error::Io(problem) => Self::Unavailable(format!(
                "no connection ({problem}); check that it runs and can be reached"
            )),
            sqlx::Error::Tls(problem) => Self::Unavailable(format!(
                "no encrypted connection ({problem}); check `sslmode` and the certificate"
            )),
            sqlx::Error::PoolTimedOut => Self::Unavailable(
                "no connection became free in time; it is away, or every connection is in use".to_owned(),
            ),
            sqlx::Error::PoolClosed => Self::Unavailable("the program is ending".to_owned()),
            sqlx::Error::WorkerCrashed | sqlx::Error::BeginFailed | sqlx::Error::Protocol(_) => {
                Self::Unavailable(format!("the connection broke ({error})"))
            }
            sqlx::Error::Encode(problem) => {
                Self::Refused(format!("a value cannot be stored: {problem}").into())
            }
            _ => Self::Unexpected(error.to_string()),
        }
    }
}

fn of_answer(answer: &dyn DatabaseError) -> StoreError {
    let code = answer.code().unwrap_or_default();
    match answer.try_downcast_ref::<PgDatabaseError>() {
        Some(answer) => of_sqlstate(&code, answer),
        // The low byte is the primary result code.
        None => of_result_code(code.parse::<i32>().unwrap_or(1) & 0xff, answer.message()),
    }
}

fn of_sqlstate(code: &str, answer: &PgDatabaseError) -> StoreError {
    let message = answer.message();
    let unavailable = |way_out: &str| StoreError::Unavailable(format!("{message}; {way_out}"));
    match code {
        // The table or the schema is not there; in a query of somebody's own it is another one.
        "42P01" | "3F000" if message.contains("aftercommit") => StoreError::NotMigrated,
        "25006" => unavailable("it is read-only, perhaps a replica: point the address at the primary"),
        "40001" | "40P01" => unavailable("another transaction was in the way: try again"),
        "55P03" => unavailable("another transaction holds a lock for long: see pg_stat_activity"),
        "57014" => StoreError::TimedOut(format!(
            "{message}; the statement ran longer than `statement_timeout`"
        )),
        "53300" => unavailable("allow it more connections, or lower `max_connections`"),
        "53100" => unavailable("make room on its disk"),
        "28P01" | "28000" | "3D000" => unavailable("check user, password and database name in its address"),
        // Lack of a privilege.
        "42501" => StoreError::Refused(with_hint(answer)),
        // A statement that another session prepared, or that this one did not.
        "26000" | "42P05" => unavailable(
            "a pooler in transaction mode lends the session to others: set `database.pooler` to `transaction`",
        ),
        "23505" => StoreError::Duplicate(with_hint(answer)),
        // data_exception itself: what capture() declines. no_data_found: what it does not find.
        "22000" => StoreError::Declined(with_hint(answer)),
        "P0002" => StoreError::Missing(with_hint(answer)),
        _ => match &code[..2.min(code.len())] {
            // 0A: the schema changed under a prepared statement.
            "08" | "0A" | "25" | "53" | "57" | "58" => unavailable("try again"),
            "22" | "23" => StoreError::Refused(with_hint(answer)),
            _ => StoreError::Unexpected(format!("{message} (SQLSTATE {code})")),
        },
    }
}

/// What the triggers refuse, they refuse with the way out as the hint.
fn with_hint(answer: &PgDatabaseError) -> Objection {
    Objection::with_hint(answer.message(), answer.hint())
}

fn of_result_code(code: i32, message: &str) -> StoreError {
    let unavailable = |way_out: &str| StoreError::Unavailable(format!("{message}; {way_out}"));
    match code {
        // SQLITE_ERROR has no finer code for a missing table.
        1 if message.contains("no such table") => StoreError::NotMigrated,
        // SQLITE_BUSY, SQLITE_LOCKED
        5 | 6 => unavailable("another process writes for long: end its transaction"),
        // SQLITE_READONLY
        8 => unavailable("the file or its directory is read-only: give this account the right to write"),
        // SQLITE_IOERR
        10 => unavailable("the disk has a fault, or is full"),
        // SQLITE_PROTOCOL, SQLITE_SCHEMA
        15 | 17 => unavailable("try again"),
        // SQLITE_FULL
        13 => unavailable("make room on its disk"),
        // SQLITE_CANTOPEN
        14 => unavailable("check the path in its address; `aftercommit migrate` makes the file"),
        // SQLITE_TOOBIG, SQLITE_CONSTRAINT, SQLITE_MISMATCH
        18..=20 => StoreError::Refused(Objection::of_trigger(message)),
        // SQLITE_NOTADB
        26 => StoreError::Refused(Objection::new(message, "check the path in the database address")),
        _ => StoreError::Unexpected(format!("{message} (SQLite result code {code})")),
    }
}
