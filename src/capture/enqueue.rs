//! Rows that were read into the outbox: all of them in one transaction, or none.
//!
//! ```text
//!  reading thread ── batches, two at most ──▶ transaction (a task of its own)
//! ```
//! Memory holds a few batches, however long the input is.

use std::sync::{Arc, OnceLock};

use tokio::sync::mpsc::{self, Receiver, Sender};

use super::error::CaptureError;
use super::{Captured, Rows};
use crate::core::row::NewRow;
use crate::store::database::Transaction;
use crate::store::{Database, Enqueued, Outbox, StoreError};

/// Rows of a batch at most.
const BATCH_ROWS: usize = 1_000;
/// Bytes of payload of a batch at most; a single larger row is still taken.
const BATCH_BYTES: usize = 4 << 20;
/// Batches that wait for the database at most.
const BATCHES_WAITING: usize = 2;

/// What the reading thread hands over.
enum Handed {
    Batch(Batch),
    /// All was read and all was well: what has been written may be committed.
    End,
    /// Nothing may be committed.
    Problem(CaptureError),
}

#[derive(Default)]
struct Batch {
    first_line: u64,
    last_line: u64,
    bytes: usize,
    rows: Vec<NewRow>,
}

/// Puts `rows` into the outbox in one transaction. `input` is what errors call their origin; `written` is told how many
/// rows have been written so far.
pub async fn enqueue(
    database: &Database,
    input: Arc<str>,
    rows: Rows,
    written: impl Fn(u64) + Send + Sync + 'static,
) -> Result<Enqueued, CaptureError> {
    let (sender, batches) = mpsc::channel(BATCHES_WAITING);
    // Not waited for: where the database gives up, the thread may still hang on its input, and ends with its next batch.
    tokio::task::spawn_blocking(move || read(rows, &sender));
    let problem = Arc::new(OnceLock::new());
    let found = Arc::clone(&problem);
    let outcome = database
        .write(move |transaction| {
            Box::pin(async move { write(transaction, batches, &input, &found, &written).await })
        })
        .await;
    // What is wrong with the input is why the transaction was given up.
    match Arc::into_inner(problem).and_then(OnceLock::into_inner) {
        Some(problem) => Err(problem),
        None => Ok(outcome?),
    }
}

/// Reads until the end, the first problem, or until nobody takes the batches any more.
fn read(rows: Rows, sender: &Sender<Handed>) {
    let mut batch = Batch::default();
    for captured in rows {
        let full = match captured {
            Ok(captured) => {
                batch.push(captured);
                if !batch.is_full() {
                    continue;
                }
                Handed::Batch(std::mem::take(&mut batch))
            }
            Err(problem) => {
                let _ = sender.blocking_send(Handed::Problem(problem));
                return;
            }
        };
        if sender.blocking_send(full).is_err() {
            return;
        }
    }
    let _ = sender
        .blocking_send(Handed::Batch(batch))
        .and_then(|()| sender.blocking_send(Handed::End));
}

async fn write(
    transaction: &mut Transaction,
    mut batches: Receiver<Handed>,
    input: &str,
    found: &OnceLock<CaptureError>,
    written: &(impl Fn(u64) + Sync),
) -> Result<Enqueued, StoreError> {
    let mut total = Enqueued::default();
    loop {
        match batches.recv().await {
            Some(Handed::Batch(batch)) => {
                let enqueued = Outbox::enqueue_all(&mut *transaction, &batch.rows)
                    .await
                    .map_err(|error| batch.at(input, error))?;
                total += enqueued;
                written(total.total());
            }
            Some(Handed::End) => return Ok(total),
            Some(Handed::Problem(problem)) => {
                let rollback = Err(StoreError::Refused(problem.to_string()));
                let _ = found.set(problem);
                return rollback;
            }
            None => return Err(StoreError::Refused(format!("{input} was not read to its end"))),
        }
    }
}

impl Batch {
    fn push(&mut self, captured: Captured) {
        if self.rows.is_empty() {
            self.first_line = captured.line;
        }
        self.last_line = captured.line;
        self.bytes += captured.row.payload.len();
        self.rows.push(captured.row);
    }

    fn is_full(&self) -> bool {
        self.rows.len() >= BATCH_ROWS || self.bytes >= BATCH_BYTES
    }

    /// A refusal, with the lines among which the refused row is.
    fn at(&self, input: &str, error: StoreError) -> StoreError {
        match error {
            StoreError::Refused(problem) => StoreError::Refused(format!(
                "{input}, one of the lines {} to {}: {problem}",
                self.first_line, self.last_line
            )),
            other => other,
        }
    }
}
