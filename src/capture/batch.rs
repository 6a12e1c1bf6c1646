//! The reading side: a thread that reads rows and hands them over in batches, two at most, however long the input is.

use tokio::sync::mpsc::{self, Receiver, Sender};

use super::checkpoint::Prefix;
use super::error::{BadLine, CaptureError};
use super::refusal::BATCHES_WITH_SAVEPOINTS;
use super::{BadRows, Captured, Rows};
use crate::core::row::NewRow;
use crate::store::Checkpoint;

/// Rows of a batch at most.
const BATCH_ROWS: usize = 1_000;
/// Bytes of payload of a batch at most; a single larger row is still taken.
const BATCH_BYTES: usize = 4 << 20;
/// Batches that wait for the database at most.
const BATCHES_WAITING: usize = 2;

/// What the thread hands over.
pub(super) enum Handed {
    Batch(Batch),
    /// All was read and all was well: what has been written may be committed.
    End,
    /// What has been written since the last commit may not be committed.
    Problem(CaptureError),
}

/// Rows, each with its line.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) rows: Vec<NewRow>,
    pub(super) lines: Vec<u64>,
    /// Lines among them that are no rows.
    pub(super) bad: Vec<BadLine>,
    bytes: usize,
    /// With this batch it is time to commit, and to keep how far the input was read.
    pub(super) mark: Option<Checkpoint>,
}

/// What is to be read.
pub(super) struct Reading {
    pub(super) rows: Rows,
    /// What was read before.
    pub(super) prefix: Prefix,
    /// After how many rows a checkpoint is due, if not sooner; none: only at the end all is committed.
    pub(super) commit_every: Option<u64>,
    pub(super) on_bad: OnBad,
}

/// What becomes of a line that is no row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum OnBad {
    Stop,
    HandOver,
}

impl OnBad {
    pub(super) fn of(bad: &BadRows) -> Self {
        match bad {
            BadRows::Stop => Self::Stop,
            BadRows::SetAside(_) => Self::HandOver,
        }
    }
}

impl Reading {
    /// Starts the thread. It ends with the input, with the first problem, or when nobody takes the batches any more.
    pub(super) fn start(self) -> Receiver<Handed> {
        let (sender, batches) = mpsc::channel(BATCHES_WAITING);
        // Not waited for: where the database gives up, the thread may still hang on its input, and ends with its next batch.
        tokio::task::spawn_blocking(move || self.read(&sender));
        batches
    }

    /// Nobody who has gone needs to hear of it.
    fn read(mut self, sender: &Sender<Handed>) {
        let mut batch = Batch::default();
        let (mut since_mark, mut batches) = (0, 0);
        for item in &mut self.rows {
            let item = match item {
                Ok(captured) => Ok(captured),
                Err(CaptureError::Line(bad)) if self.on_bad == OnBad::HandOver => Err(bad),
                Err(problem) => {
                    let _ = sender.blocking_send(Handed::Problem(problem));
                    return;
                }
            };
            since_mark += 1;
            if let Some(every) = self.commit_every {
                self.prefix.add(&item);
                let is_due = since_mark == every || batches == BATCHES_WITH_SAVEPOINTS;
                batch.mark = is_due.then(|| self.prefix.mark());
            }
            batch.push(item);
            if batch.mark.is_some() {
                (since_mark, batches) = (0, 0);
            } else if batch.is_full() {
                batches += u32::from(self.on_bad == OnBad::HandOver);
            } else {
                continue;
            }
            if sender
                .blocking_send(Handed::Batch(std::mem::take(&mut batch)))
                .is_err()
            {
                return;
            }
        }
        if sender.blocking_send(Handed::Batch(batch)).is_ok() {
            let _ = sender.blocking_send(Handed::End);
        }
    }
}

impl Batch {
    fn push(&mut self, item: Result<Captured, BadLine>) {
        match item {
            Ok(Captured { line, row }) => {
                self.bytes += row.payload.len();
                self.lines.push(line);
                self.rows.push(row);
            }
            Err(bad) => self.bad.push(bad),
        }
    }

    fn is_full(&self) -> bool {
        self.rows.len() + self.bad.len() >= BATCH_ROWS || self.bytes >= BATCH_BYTES
    }
}
