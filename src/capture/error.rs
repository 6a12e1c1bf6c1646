//! What can be wrong with rows that are read, said so that a person finds the line.

use std::fmt;
use std::io;
use std::sync::Arc;

use crate::store::StoreError;

/// Why rows were not enqueued. Whatever it is, its transaction was rolled back.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// A line that is no row, or a row that the database refuses. What follows it can still be read.
    #[error(transparent)]
    Line(#[from] BadLine),
    /// A line behind which nothing can be read.
    #[error(transparent)]
    Broken(BadLine),
    /// A refused line cannot be set aside.
    #[error("cannot set a refused line aside: {0}")]
    SetAside(io::Error),
    /// The input cannot be read on.
    #[error("cannot read {input}: {source}")]
    Read {
        /// What was read.
        input: Arc<str>,
        /// What the system said.
        source: io::Error,
    },
    /// The database cannot take any rows now.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A line that is no row, or whose row is refused; of Parquet a record. Displays as `orders.ndjson:17: not JSON: …`.
#[derive(Clone, PartialEq, Eq)]
pub struct BadLine {
    /// What was read: a path, or `stdin`.
    pub input: Arc<str>,
    /// The line, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub problem: String,
    /// What stands there, as far as it could be read; of a row that the database refuses its payload.
    pub text: Option<String>,
}

impl BadLine {
    /// A line of which no more than the number is known.
    pub(super) fn new(input: &Arc<str>, line: u64, problem: String) -> Self {
        Self {
            input: Arc::clone(input),
            line,
            problem,
            text: None,
        }
    }
}

/// Without the text: a log is no place for it.
impl fmt::Debug for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BadLine({self})")
    }
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.input, self.line, self.problem)
    }
}

impl std::error::Error for BadLine {}
