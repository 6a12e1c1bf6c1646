//! What is said of a source, and what a capture came to.

use std::str::FromStr;

use serde::Serialize;

/// Where the rows of a topic are found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Source {
    /// The topic, of kind `state`.
    pub topic: String,
    /// A table, or a query.
    #[serde(flatten)]
    pub place: Place,
    /// The columns that tell rows apart; the row key is made of them.
    pub key: Vec<String>,
    /// The column that orders the versions of a row: a whole number or a time.
    pub version: Option<String>,
    /// Columns that are left out of the payload; a change of them alone is none.
    pub excluded: Vec<String>,
    /// How changes are seen.
    pub way: Way,
}

/// What holds the rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// A table or view, by its name at the moment of each use.
    Table(String),
    /// A query. On PostgreSQL the names in it are written with their schemas.
    Query(String),
}

/// How changes of a source are seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// By triggers, in each transaction that writes to the table.
    Trigger,
    /// When somebody captures.
    Capture,
}

/// What becomes of another source that a topic has already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Former {
    /// It stays, and attaching is an error.
    Kept,
    /// It makes way. A capture with deletes then deletes what it had and the new one has not.
    Replaced,
}

/// A source, and what is wrong with it now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Attached {
    /// The source.
    #[serde(flatten)]
    pub source: Source,
    /// What keeps changes from being seen, or makes it dear, with the way out; none: all is well.
    pub problem: Option<String>,
}

/// How much of a source is compared with the ledger.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Extent {
    /// A condition that names the slice that was written, such as `event_date = '2025-05-18'`; none: all.
    pub partition: Option<String>,
    /// What becomes of rows that the ledger knows and the source has no longer.
    pub deletes: Deletes,
}

/// What becomes of rows that are gone.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Deletes {
    /// Nothing.
    #[default]
    Kept,
    /// They become deletes, if they are not all, nor more than this part of what was there (0 to 1): then it is an error.
    UpTo(f64),
}

/// What a capture came to, in rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Captured {
    /// New or changed: they will be delivered.
    pub admitted: u64,
    /// As the ledger knows them.
    pub unchanged: u64,
    /// Older than what the ledger knows.
    pub stale: u64,
    /// Gone: their deletes will be delivered.
    pub deleted: u64,
}

impl Way {
    /// The word in SQL and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Trigger => "trigger",
            Self::Capture => "capture",
        }
    }
}

impl FromStr for Way {
    type Err = UnknownWay;

    fn from_str(word: &str) -> Result<Self, UnknownWay> {
        match word {
            "trigger" => Ok(Self::Trigger),
            "capture" => Ok(Self::Capture),
            _ => Err(UnknownWay),
        }
    }
}

/// The word names no way.
#[derive(Debug, thiserror::Error)]
#[error("write `trigger` or `capture`")]
pub struct UnknownWay;

impl Place {
    /// The table, if it is one.
    pub fn table(&self) -> Option<&str> {
        match self {
            Self::Table(name) => Some(name),
            Self::Query(_) => None,
        }
    }

    /// The query, if it is one.
    pub fn query(&self) -> Option<&str> {
        match self {
            Self::Table(_) => None,
            Self::Query(text) => Some(text),
        }
    }
}
