//! What can go wrong with the database, by what the caller does next.

mod from_sqlx;
mod objection;

pub use self::objection::Objection;

/// An error of the store. Its message names the thing and the way out, and never holds the URL or a secret.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Waiting can help: the database is away, busy, full, read-only, or ended the transaction. Try again.
    #[error("the database cannot serve this now: {0}")]
    Unavailable(String),
    /// A statement ran into the time-out of the database: asking for less at once, or waiting, can help.
    #[error("the database cannot serve this now: {0}")]
    TimedOut(String),
    /// The database has no Aftercommit schema yet.
    #[error("the database is not migrated; run `aftercommit migrate`")]
    NotMigrated,
    /// The schema is older than this program.
    #[error(
        "the database has schema version {found}, this program needs {needed}; run `aftercommit migrate`"
    )]
    TooOld {
        /// The version that is there.
        found: i64,
        /// The version that this program brings.
        needed: i64,
    },
    /// The schema is newer than this program.
    #[error("the database has schema version {found}, this program knows up to {known}; upgrade the program")]
    TooNew {
        /// The version that is there.
        found: i64,
        /// The newest version that this program knows.
        known: i64,
    },
    /// The request itself was refused, in the database's own words; it would be refused again.
    #[error("{0}")]
    Refused(Objection),
    /// A row of the same key is there already, in the database's own words.
    #[error("{0}")]
    Duplicate(Objection),
    /// The topic, table or source that was named is not there.
    #[error("{0}")]
    Missing(Objection),
    /// The request was sound and the answer is no: it would have deleted more than it may. Nothing was done.
    #[error("{0}")]
    Declined(Objection),
    /// The database answered in a way that this program does not understand: a bug, or a damaged database.
    #[error("unexpected answer from the database: {0}")]
    Unexpected(String),
}

impl StoreError {
    /// Whether the same call may succeed later.
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::Unavailable(_) | Self::TimedOut(_) | Self::NotMigrated | Self::TooOld { .. }
        )
    }
}
