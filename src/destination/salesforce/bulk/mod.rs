//! Jobs of the Bulk API 2.0: opened, given their data, started, looked at, and read.
//!
//! ```text
//!  open ─▶ Open ─▶ upload (PUT, PATCH) ─▶ UploadComplete ─▶ InProgress ─▶ JobComplete, Failed ─▶ three files ─▶ reports
//!            └───────────────────────── abandon ─────────────────────────▶ Aborted ───────────────┘
//! ```
//!
//! Salesforce processes nothing before the PATCH, so whatever goes wrong until then has reached no row. Each call is one
//! request; a token that is refused is replaced before the next.

mod asking;
mod calls;
mod file;
mod results;
#[cfg(test)]
mod tests;

use std::time::Duration;

use bytes::Bytes;

use super::classify::judged;
use super::{Salesforce, report};
use crate::core::outcome::{Outcome, Refusal, Report};
use crate::core::row::OutboxRow;
use crate::core::secrets::Secrets;
use crate::core::time::Timestamp;
use crate::destination::answer::{Answer, BodyCaps};
use crate::destination::bulk::{Awaited, Bulk, BulkWorth, JobData, Progress};
use asking::{Ask, Refused};
use calls::{Call, Job};
use results::Files;

/// Rows of one job: what Salesforce itself takes at a time.
pub(super) const MOST_ROWS: usize = 10_000;

/// A file of results, and what it may repeat.
#[derive(Default)]
struct File {
    body: Vec<u8>,
    secrets: Secrets,
}

impl Salesforce {
    /// One file of results; an aborted job need not have any.
    async fn file(
        &self,
        job: &Job,
        name: &'static str,
        awaited: &Awaited,
        now: Timestamp,
    ) -> Result<File, Progress> {
        let caps = BodyCaps {
            read: awaited.most_bytes,
            keep: 0,
            parse: awaited.most_bytes,
        };
        let ask = Ask {
            caps: Some(caps),
            ..self.asking(Call::Results(&job.id, name), now)
        };
        match self.ask(ask).await {
            Ok(Answer {
                trouble: Some(why), ..
            }) => Err(Progress::Unclear(format!("{name} cannot be read: {why}"))),
            Ok(Answer { body, secrets, .. }) => Ok(File { body, secrets }),
            Err(Refused {
                status: Some(400), ..
            }) if job.state == "Aborted" => Ok(File::default()),
            Err(refused) => Err(unclear(refused)),
        }
    }

    async fn results(&self, job: &Job, awaited: &Awaited, now: Timestamp) -> Result<Vec<Report>, Progress> {
        let successful = self.file(job, "successfulResults", awaited, now).await?;
        let failed = self.file(job, "failedResults", awaited, now).await?;
        let unprocessed = self.file(job, "unprocessedrecords", awaited, now).await?;
        let files = Files {
            successful: successful.body,
            failed: failed.body,
            unprocessed: unprocessed.body,
            secrets: failed.secrets,
        };
        let keep = self.org.keep_response_bytes;
        Ok(results::read(&files, awaited, &self.rendering.external_id, keep))
    }
}

#[async_trait::async_trait]
impl Bulk for Salesforce {
    fn worth(&self) -> Option<BulkWorth> {
        // A job cannot be told to create no record.
        let threshold = self.org.bulk_threshold.filter(|_| !self.rendering.update_only)?;
        Some(BulkWorth {
            threshold,
            most_rows: MOST_ROWS,
        })
    }

    fn job_timeout(&self) -> Duration {
        self.org.bulk_timeout
    }

    fn name(&self, row: &OutboxRow) -> Option<String> {
        file::name(&self.rendering, row)
    }

    fn data(&self, rows: &[&OutboxRow]) -> JobData {
        file::data(&self.rendering, rows)
    }

    async fn open(&self, now: Timestamp) -> Result<String, Report> {
        if let Some(left) = self.org.reserve.rest(self.org.clock.monotonic()) {
            return Err(report::resting(left));
        }
        let answer = self
            .ask(self.asking(Call::Open, now))
            .await
            .map_err(Refused::not_begun)?;
        match serde_json::from_slice::<Job>(&answer.body) {
            Ok(job) if job.is_sane() => Ok(job.id),
            _ => {
                let detail = format!("HTTP {}, but the answer names no job", answer.status);
                let judgement = judged(Outcome::Refused(Refusal::Together), detail);
                Err(Refused::of(judgement, Some(&answer), Duration::ZERO).not_begun())
            }
        }
    }

    async fn upload(&self, job: &str, data: Bytes, now: Timestamp) -> Result<(), Report> {
        let put = self.asking(Call::Data(job, data), now);
        let deadline = put.deadline;
        self.ask(put).await.map_err(Refused::not_begun)?;
        let start = Ask {
            deadline,
            ..self.asking(Call::Move(job, "UploadComplete"), now)
        };
        match self.ask(start).await {
            Err(refused) if !refused.may_be_done() => Err(refused.not_begun()),
            // If it has not, the job is still open: whoever asks for it sees that.
            _ => Ok(()),
        }
    }

    async fn poll(&self, job: &str, awaited: &Awaited, now: Timestamp) -> Progress {
        let answer = match self.ask(self.asking(Call::Look(job), now)).await {
            Ok(answer) => answer,
            Err(refused) => return unclear(refused),
        };
        let Ok(told) = serde_json::from_slice::<Job>(&answer.body) else {
            return Progress::Unclear("what Salesforce says of the job cannot be read".to_owned());
        };
        match told.state.as_str() {
            "Open" => Progress::Open,
            "UploadComplete" | "InProgress" => Progress::Running,
            "JobComplete" | "Failed" | "Aborted" => {
                let job = Job {
                    id: job.to_owned(),
                    ..told
                };
                match self.results(&job, awaited, now).await {
                    Ok(reports) => Progress::Ended(reports),
                    Err(progress) => progress,
                }
            }
            _ => Progress::Unclear("the job is in a state that is not documented".to_owned()),
        }
    }

    async fn abandon(&self, job: &str, now: Timestamp) -> Result<(), String> {
        let asked = self.ask(self.asking(Call::Move(job, "Aborted"), now)).await;
        asked.map(drop).map_err(Refused::detail)
    }
}

fn unclear(refused: Refused) -> Progress {
    match refused.status {
        Some(404) => Progress::Forgotten,
        _ => Progress::Unclear(refused.detail()),
    }
}
