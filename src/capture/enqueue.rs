//! Rows that were read into the outbox: in one transaction, or in batches with a checkpoint.
//!
//! ```text
//!  reading thread ── batches, two at most ──▶ transaction (a task of its own), each up to the next checkpoint, or the end
//! ```
//! Memory holds a few batches, however long the input is.

use std::num::NonZeroU64;
use std::sync::{Arc, OnceLock};

use tokio::sync::mpsc::Receiver;

use super::batch::{Batch, Handed, OnBad, Reading};
use super::checkpoint::Prefix;
use super::error::{BadLine, CaptureError};
use super::refusal::{Suspects, admit};
use super::{BadRows, Rows};
use crate::store::database::Transaction;
use crate::store::{Checkpoint, Database, Enqueued, Outbox, StoreError};

/// What is enqueued, and how.
pub struct Enqueue {
    /// What errors call the input.
    pub input: Arc<str>,
    /// Its rows, from `prefix` on.
    pub rows: Rows,
    /// What of the input lies before.
    pub prefix: Prefix,
    /// When to commit; none: all rows of the input are one transaction.
    pub batches: Option<Batches>,
    /// What becomes of lines that are no rows, and of rows that the database refuses.
    pub bad: BadRows,
}

/// When to commit before the end.
pub struct Batches {
    /// After how many rows.
    pub rows: NonZeroU64,
    /// The name of the checkpoint, which is kept with each commit and forgotten with the last.
    pub checkpoint: String,
    /// The checkpoint of this name that was found.
    pub found: Option<Checkpoint>,
}

/// What became of the rows of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcome {
    /// Of those that the database took.
    pub enqueued: Enqueued,
    /// Lines that are no rows, and rows that the database refused.
    pub refused: u64,
}

/// Puts rows into the outbox. `written` is told how many have been written so far.
///
/// Without batches an error means that nothing was committed; with them, nothing after the last checkpoint.
pub async fn enqueue(
    database: &Database,
    what: Enqueue,
    written: impl Fn(u64) + Send + Sync + 'static,
) -> Result<Outcome, CaptureError> {
    let mut run = Run::start(what, Box::new(written));
    loop {
        let cause = Arc::clone(&run.cause);
        // Before the transaction begins: on SQLite nobody else writes while it waits.
        let first = run.next().await;
        let outcome = database
            .write(move |transaction| Box::pin(run.transaction(transaction, first)))
            .await;
        match outcome {
            Ok(Ended::Whole(outcome)) => return Ok(outcome),
            Ok(Ended::Batch(after)) => run = *after,
            Err(error) => return Err(explained(database, cause, error).await),
        }
    }
}

/// Puts rows into the outbox within a transaction that is open; `cause` gets what is wrong with them.
pub(super) async fn enqueue_within(
    transaction: &mut Transaction,
    input: Arc<str>,
    rows: Rows,
    cause: CauseSlot,
) -> Result<Enqueued, StoreError> {
    let what = Enqueue {
        input,
        rows,
        prefix: Prefix::default(),
        batches: None,
        bad: BadRows::Stop,
    };
    let mut run = Run {
        cause,
        ..Run::start(what, Box::new(|_| ()))
    };
    let first = run.next().await;
    match run.transaction(transaction, first).await? {
        Ended::Whole(outcome) => Ok(outcome.enqueued),
        Ended::Batch(_) => Err(StoreError::Unexpected(
            "a batch ended before its input".to_owned(),
        )),
    }
}

/// Why a transaction was given up: it can only say that it was.
pub(super) enum Cause {
    Problem(CaptureError),
    Suspects(Suspects),
}

/// Where a run leaves its cause.
pub(super) type CauseSlot = Arc<OnceLock<Cause>>;

/// What is wrong with the input is why the transaction was given up.
pub(super) async fn explained(database: &Database, cause: CauseSlot, error: StoreError) -> CaptureError {
    match Arc::into_inner(cause).and_then(OnceLock::into_inner) {
        None => error.into(),
        Some(Cause::Problem(problem)) => problem,
        Some(Cause::Suspects(suspects)) => suspects.named(database).await,
    }
}

/// A run on its way: it goes from transaction to transaction.
struct Run {
    input: Arc<str>,
    handed: Receiver<Handed>,
    checkpoint: Option<(String, Option<Checkpoint>)>,
    bad: BadRows,
    written: Box<dyn Fn(u64) + Send + Sync>,
    outcome: Outcome,
    cause: CauseSlot,
}

/// What a transaction came to.
enum Ended {
    /// It ended with a checkpoint.
    Batch(Box<Run>),
    /// It ended with the input.
    Whole(Outcome),
}

impl Run {
    fn start(what: Enqueue, written: Box<dyn Fn(u64) + Send + Sync>) -> Self {
        let reading = Reading {
            rows: what.rows,
            prefix: what.prefix,
            commit_every: what.batches.as_ref().map(|batches| batches.rows.get()),
            on_bad: OnBad::of(&what.bad),
        };
        Self {
            input: what.input,
            handed: reading.start(),
            checkpoint: what.batches.map(|batches| (batches.checkpoint, batches.found)),
            bad: what.bad,
            written,
            outcome: Outcome::default(),
            cause: Arc::default(),
        }
    }

    async fn next(&mut self) -> Handed {
        let not_to_its_end = || {
            let problem = format!("{} was not read to its end", self.input);
            Handed::Problem(StoreError::Refused(problem.into()).into())
        };
        self.handed.recv().await.unwrap_or_else(not_to_its_end)
    }

    async fn transaction(
        mut self,
        transaction: &mut Transaction,
        first: Handed,
    ) -> Result<Ended, StoreError> {
        let mut handed = first;
        loop {
            match handed {
                Handed::Batch(mut batch) => {
                    let mark = batch.mark.take();
                    self.take(transaction, batch).await?;
                    if let Some(mark) = mark {
                        self.keep(transaction, mark).await?;
                        return Ok(Ended::Batch(Box::new(self)));
                    }
                }
                Handed::End => {
                    self.forget(transaction).await?;
                    return Ok(Ended::Whole(self.outcome));
                }
                Handed::Problem(problem) => {
                    let rollback = StoreError::Refused(problem.to_string().into());
                    return Err(self.give_up(Cause::Problem(problem), rollback));
                }
            }
            handed = self.next().await;
        }
    }

    async fn take(&mut self, transaction: &mut Transaction, batch: Batch) -> Result<(), StoreError> {
        let Batch { rows, lines, bad, .. } = batch;
        let enqueued = match &mut self.bad {
            BadRows::Stop => match Outbox::enqueue_all(&mut *transaction, &rows).await {
                Err(StoreError::Refused(objection) | StoreError::Duplicate(objection)) => {
                    let input = Arc::clone(&self.input);
                    let rollback = StoreError::Refused(objection.clone());
                    let suspects = Suspects {
                        input,
                        rows,
                        lines,
                        objection,
                    };
                    return Err(self.give_up(Cause::Suspects(suspects), rollback));
                }
                enqueued => enqueued?,
            },
            BadRows::SetAside(set_aside) => {
                let (enqueued, refused) = admit(transaction, &rows, OnBad::HandOver).await?;
                let refused = refused.into_iter().map(|refused| BadLine {
                    input: Arc::clone(&self.input),
                    line: lines[refused.index],
                    problem: refused.problem,
                    text: Some(rows[refused.index].payload.clone()),
                });
                let mut bad: Vec<BadLine> = bad.into_iter().chain(refused).collect();
                bad.sort_by_key(|bad| bad.line);
                self.outcome.refused += bad.len() as u64;
                if let Err(source) = bad.iter().try_for_each(set_aside) {
                    let rollback = StoreError::Refused(source.to_string().into());
                    return Err(self.give_up(Cause::Problem(CaptureError::SetAside(source)), rollback));
                }
                enqueued
            }
        };
        self.outcome.enqueued += enqueued;
        (self.written)(self.outcome.enqueued.total());
        Ok(())
    }

    async fn keep(&mut self, transaction: &mut Transaction, mark: Checkpoint) -> Result<(), StoreError> {
        if let Some((name, known)) = &mut self.checkpoint {
            mark.keep(transaction, name, known.as_ref()).await?;
            *known = Some(mark);
        }
        Ok(())
    }

    async fn forget(&self, transaction: &mut Transaction) -> Result<(), StoreError> {
        match &self.checkpoint {
            Some((name, Some(known))) => known.forget(transaction, name).await,
            _ => Ok(()),
        }
    }

    fn give_up(&self, cause: Cause, rollback: StoreError) -> StoreError {
        // A run has one cause: with it, it ends.
        let _ = self.cause.set(cause);
        rollback
    }
}
