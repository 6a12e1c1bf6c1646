//! Capture: how rows get in that no pipeline inserted by itself.
//!
//! [`Ndjson`] and [`Csv`] turn a stream of bytes into rows, a line at a time, and [`enqueue()`] puts them into the outbox,
//! all in one transaction. A payload is never parsed and written again: the bytes of the line are the bytes that are
//! sent.

mod csv;
mod enqueue;
mod error;
mod mapping;
mod ndjson;
mod quotes;

pub use csv::{Csv, CsvOptions};
pub use enqueue::enqueue;
pub use error::{BadLine, CaptureError};
pub use mapping::Mapping;
pub use ndjson::Ndjson;

use crate::core::row::NewRow;

/// A row, and the line of the input on which it begins, from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured {
    /// The line.
    pub line: u64,
    /// The row.
    pub row: NewRow,
}

/// Rows as they are read. The first error is the last item that matters: nothing of the input may be committed.
pub type Rows = Box<dyn Iterator<Item = Result<Captured, CaptureError>> + Send>;
