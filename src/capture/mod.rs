//! Capture: how rows get in that no pipeline inserted by itself.
//!
//! [`Ndjson`] and [`Csv`] turn a stream of bytes into rows, a line at a time, `Parquet` (a feature) a file, and [`enqueue()`] puts
//! them into the outbox. A payload is never parsed and written again: the bytes of the line are the bytes that are sent.

mod array;
mod batch;
mod checkpoint;
mod csv;
mod enqueue;
mod error;
mod mapping;
mod ndjson;
#[cfg(feature = "parquet")]
mod parquet;
mod quotes;
mod refusal;
mod request;
mod summary;

pub use array::Array;
pub use checkpoint::Prefix;
pub use csv::{Csv, CsvOptions};
pub use enqueue::{Batches, Enqueue, Outcome, enqueue};
pub use error::{BadLine, CaptureError};
pub use mapping::Mapping;
pub use ndjson::Ndjson;
#[cfg(feature = "parquet")]
pub use parquet::Parquet;
pub use request::{Requested, enqueue_request};
pub use summary::Summary;

use crate::core::row::NewRow;

/// A row, and the line of the input on which it begins, from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured {
    /// The line.
    pub line: u64,
    /// The row.
    pub row: NewRow,
}

/// What becomes of lines that are no rows, and of rows that the database refuses.
pub enum BadRows {
    /// The first ends the run.
    Stop,
    /// Each is handed over before the commit of the rows around it, and the run goes on. Not twice, but for a run that ends
    /// before that commit.
    SetAside(SetAside),
}

/// Takes a refused line.
pub type SetAside = Box<dyn FnMut(&BadLine) -> std::io::Result<()> + Send + Sync>;

/// Rows as they are read. Behind [`CaptureError::Line`] more can follow, behind another error nothing.
pub type Rows = Box<dyn Iterator<Item = Result<Captured, CaptureError>> + Send>;
