//! Jobs: many deliveries that a receiver takes at once and works through at its own pace.
//!
//! Each step is a call of its own, so that whoever takes the steps can put the job on record between them, leave it, and
//! ask for it again in another process. What a job means for its deliveries is read here, as for any answer; when a job
//! is worth it, how long it may last and what is asked in which order is the relay's.

use std::time::Duration;

use bytes::Bytes;

use crate::core::outcome::{Outcome, Report};
use crate::core::row::OutboxRow;
use crate::core::time::Timestamp;

/// What a destination can do with many deliveries at once.
///
/// Promises: nothing is processed of a job before its `upload`; a report is `Accepted` only on a positive answer for that
/// row; no future outlives the deadline of a request, but `poll`, which makes up to four, one after the other. `now` is the
/// database's clock.
#[async_trait::async_trait]
pub trait Bulk: Send + Sync {
    /// When jobs are made, and of how much; none: they are switched off, and only those that are there are seen to.
    fn worth(&self) -> Option<BulkWorth>;

    /// How long a job may last before it is given up.
    fn job_timeout(&self) -> Duration;

    /// What a job calls the record of this row; none if no job can say truthfully what a request says of it. Two rows of
    /// one name must not share a job.
    fn name(&self, row: &OutboxRow) -> Option<String>;

    /// The data of a job about these rows, each of which has a name.
    fn data(&self, rows: &[&OutboxRow]) -> JobData;

    /// Creates a job without data. Returns the receiver's id of it, or what all of its deliveries met.
    async fn open(&self, now: Timestamp) -> Result<String, Report>;

    /// Sends the data, and says that it is complete. Where that fails, what all deliveries met: nothing is processed
    /// then, unless somebody starts the job after all.
    async fn upload(&self, job: &str, data: Bytes, now: Timestamp) -> Result<(), Report>;

    /// Asks how far the job is, and for its results if it has ended.
    async fn poll(&self, job: &str, awaited: &Awaited, now: Timestamp) -> Progress;

    /// Ends the job: what is not processed of it stays so. An error says why the receiver did not do that.
    async fn abandon(&self, job: &str, now: Timestamp) -> Result<(), String>;
}

/// When jobs are made, and of how much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BulkWorth {
    /// From so many deliveries on.
    pub threshold: usize,
    /// Of so many at most.
    pub most_rows: usize,
}

/// The data of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobData {
    /// As it is sent.
    pub body: Bytes,
    /// What its results will be about.
    pub awaited: Awaited,
}

/// What the results of a job are about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Awaited {
    /// The name of each row, see [`Bulk::name`]; reports come in this order.
    pub names: Vec<String>,
    /// How many bytes one file of results may have.
    pub most_bytes: usize,
    /// SHA-256 of the data; none where a crash took the knowledge.
    pub digest: Option<[u8; 32]>,
}

/// How far a job is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// It was never started: nothing of it is processed, and nothing will be once it is abandoned.
    Open,
    /// Not at its end yet.
    Running,
    /// That cannot be seen now, and this is why.
    Unclear(String),
    /// At its end, with a report for each name.
    Ended(Vec<Report>),
    /// The receiver knows nothing of it any more.
    Forgotten,
}

impl Awaited {
    /// Adds what the results are about besides.
    pub fn extend(&mut self, more: Self) {
        self.names.extend(more.names);
        self.most_bytes = self.most_bytes.saturating_add(more.most_bytes);
    }

    /// The same report for every row.
    pub fn all(&self, outcome: &Outcome, detail: &str) -> Vec<Report> {
        let report = Report {
            outcome: outcome.clone(),
            body_digest: self.digest,
            ..Report::unknown(detail)
        };
        vec![report; self.names.len()]
    }
}
