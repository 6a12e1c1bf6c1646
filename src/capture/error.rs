//! What can be wrong with rows that are read, said so that a person finds the line.

use std::fmt;
use std::io;
use std::sync::Arc;

use crate::store::StoreError;

/// Why rows were not enqueued. Whatever it is, nothing was committed.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// A line that is no row.
    #[error(transparent)]
    Line(#[from] BadLine),
    /// The input cannot be read on.
    #[error("cannot read {input}: {source}")]
    Read {
        /// What was read.
        input: Arc<str>,
        /// What the system said.
        source: io::Error,
    },
    /// The database refused a row, or cannot take any now.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A line that is no row. Displays as `orders.ndjson:17: not JSON: …`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadLine {
    /// What was read: a path, or `stdin`.
    pub input: Arc<str>,
    /// The line, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub problem: String,
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.input, self.line, self.problem)
    }
}

impl std::error::Error for BadLine {}
