//! Which rows of a batch the database refuses: a batch that fails is halved until the row that is to blame stands alone.
//!
//! A savepoint goes before each part, so that what the database refuses undoes nothing of what went before. Savepoints are for runs
//! that go on without the row alone, and not many in a transaction: PostgreSQL keeps 64 of them at hand, and with more every other
//! session has to look further for what it may see. Where the run ends with the first bad row, the batch is looked at once the
//! transaction was given up, in another that changes nothing.

use std::ops::Range;
use std::sync::Arc;

use super::batch::OnBad;
use super::error::{BadLine, CaptureError};
use crate::core::row::NewRow;
use crate::store::database::Transaction;
use crate::store::{Database, Enqueued, Objection, Outbox, StoreError};

/// Batches that are written in a transaction with savepoints at most.
pub(super) const BATCHES_WITH_SAVEPOINTS: u32 = 30;

/// A row that the database refuses.
pub(super) struct Refused {
    /// Which of the rows.
    pub(super) index: usize,
    pub(super) problem: String,
}

/// A batch with a row that the database refuses: which one is not known yet.
pub(super) struct Suspects {
    pub(super) input: Arc<str>,
    pub(super) rows: Vec<NewRow>,
    pub(super) lines: Vec<u64>,
    /// What the database said.
    pub(super) objection: Objection,
}

impl Suspects {
    /// The row that is to blame; where the database takes all of them now, which depends on the rows before, the lines among which it is.
    pub(super) async fn named(self, database: &Database) -> CaptureError {
        let rows = Arc::new(self.rows);
        let of_task = Arc::clone(&rows);
        let refused = database
            .try_out(move |transaction| {
                Box::pin(async move {
                    let (_, refused) = admit(transaction, &of_task, OnBad::Stop).await?;
                    Ok(refused.into_iter().next())
                })
            })
            .await;
        // Where the look fails, what the database said at first stands.
        let found = refused.ok().flatten();
        match (found, &self.lines[..]) {
            (Some(Refused { index, problem }), lines) => {
                let text = Some(rows[index].payload.clone());
                let bad = BadLine::new(&self.input, lines[index], problem);
                BadLine { text, ..bad }.into()
            }
            (None, [first, .., last]) => {
                let Objection { problem, way_out } = self.objection;
                let input = self.input;
                let problem = format!("{input}, one of the lines {first} to {last}: {problem}");
                StoreError::Refused(Objection { problem, way_out }).into()
            }
            (None, lines) => {
                let line = lines.first().copied().unwrap_or_default();
                BadLine::new(&self.input, line, self.objection.to_string()).into()
            }
        }
    }
}

/// Writes the rows behind savepoints; those that are refused come back: all of them, or the first alone.
pub(super) async fn admit(
    transaction: &mut Transaction,
    rows: &[NewRow],
    on_bad: OnBad,
) -> Result<(Enqueued, Vec<Refused>), StoreError> {
    let (mut enqueued, mut refused) = (Enqueued::default(), vec![]);
    // The part that comes next stands last, so that rows of one key keep their order.
    let whole: Range<usize> = 0..rows.len();
    let mut parts = vec![whole];
    while let Some(part) = parts.pop() {
        transaction.savepoint().await?;
        let problem = match Outbox::enqueue_all(&mut *transaction, &rows[part.clone()]).await {
            Ok(written) => {
                transaction.release_savepoint().await?;
                enqueued += written;
                continue;
            }
            Err(StoreError::Refused(objection) | StoreError::Duplicate(objection)) => objection.to_string(),
            Err(error) => return Err(error),
        };
        transaction.rollback_to_savepoint().await?;
        if part.len() > 1 {
            let middle = part.start + part.len() / 2;
            parts.push(middle..part.end);
            parts.push(part.start..middle);
            continue;
        }
        refused.push(Refused {
            index: part.start,
            problem,
        });
        if on_bad == OnBad::Stop {
            break;
        }
    }
    Ok((enqueued, refused))
}
