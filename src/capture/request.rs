//! Rows that came with a request: one transaction, and a request that comes again under its key does nothing.

use std::sync::Arc;

use super::enqueue::{CauseSlot, enqueue_within, explained};
use super::{CaptureError, Rows};
use crate::store::requests::{Found, OutboxRequest};
use crate::store::{Database, Enqueued};

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requested {
    /// Its rows were enqueued.
    Done(Enqueued),
    /// It came before, under the same key: what became of it then. Nothing was done.
    Known(Enqueued),
    /// Another request came before under this key. Nothing was done.
    Conflict,
}

/// Enqueues the rows of a request in one transaction, unless it came before. `input` is what errors call its body.
///
/// The rows must be at hand: on SQLite nobody else writes while they are read.
pub async fn enqueue_request(
    database: &Database,
    input: Arc<str>,
    rows: Rows,
    request: OutboxRequest,
) -> Result<Requested, CaptureError> {
    let cause = CauseSlot::default();
    let slot = Arc::clone(&cause);
    let outcome = database
        .write(move |transaction| {
            Box::pin(async move {
                match request.find(transaction).await? {
                    Found::Before(enqueued) => return Ok(Requested::Known(enqueued)),
                    Found::Another => return Ok(Requested::Conflict),
                    Found::Nothing => {}
                }
                let enqueued = enqueue_within(transaction, input, rows, slot).await?;
                request.keep(transaction, enqueued).await?;
                Ok(Requested::Done(enqueued))
            })
        })
        .await;
    match outcome {
        Ok(requested) => Ok(requested),
        Err(error) => Err(explained(database, cause, error).await),
    }
}
