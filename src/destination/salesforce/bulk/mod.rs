//! Jobs of the Bulk API 2.0: opened, given their data, started, looked at, and read.
//!
//! ```text
//!  open ─▶ Open ─▶ upload (PUT, PATCH) ─▶ UploadComplete ─▶ InProgress ─▶ JobComplete, Failed ─▶ three files ─▶ reports
//!            └───────────────────────── abandon ─────────────────────────▶ Aborted ───────────────┘
//! ```
//!
//! Salesforce processes nothing before the PATCH, so whatever goes wrong until then has reached no row. Each call is one
//! request; a token that is refused is replaced before the next.

mod calls;
mod file;
mod results;
#[cfg(test)]
mod tests;

use std::time::Duration;

use bytes::Bytes;

use super::classify::{Company, Judgement, Met, judged, of_request};
use super::report::{self, Evidence};
use super::wire::problem;
use super::{Salesforce, unanswered};
use crate::core::outcome::{Outcome, Refusal, Report};
use crate::core::row::OutboxRow;
use crate::core::time::Timestamp;
use crate::destination::answer::{Answer, BodyCaps};
use crate::destination::bulk::{Awaited, Bulk, BulkWorth, JobData, Progress};
use crate::destination::client::Exchange;
use calls::{Call, Job};
use results::Files;

/// Rows of one job: what Salesforce itself takes at a time.
pub(super) const MOST_ROWS: usize = 10_000;

/// What was asked, and what of the time is left for it.
struct Ask<'a> {
    call: Call<'a>,
    /// Monotonic.
    deadline: Duration,
    /// None: as for any answer.
    caps: Option<BodyCaps>,
    now: Timestamp,
}

/// No good answer: its status, if one came, and what it means for all rows.
struct Refused {
    status: Option<u16>,
    report: Report,
}

impl Salesforce {
    fn ask_for<'a>(&self, call: Call<'a>, now: Timestamp) -> Ask<'a> {
        Ask {
            call,
            deadline: self.org.clock.monotonic().saturating_add(self.org.timeout),
            caps: None,
            now,
        }
    }

    /// Sends one request; only a 2xx is a good answer.
    async fn ask(&self, ask: Ask<'_>) -> Result<Answer, Refused> {
        let sessions = &self.org.sessions;
        let session =
            (sessions.get(ask.now).await).map_err(|trouble| unsent(report::without_session(&trouble)))?;
        let left = ask.deadline.saturating_sub(self.org.clock.monotonic());
        if left.is_zero() {
            return Err(unsent(report::too_late()));
        }
        let instance = &session.instance;
        let authorization = session.authorization.clone();
        let mut request = calls::build(&instance.url, &self.rendering, ask.call, authorization)
            .map_err(|_| unsent(report::unmakeable()))?;
        *request.timeout_mut() = Some(left);
        let caps = ask.caps.unwrap_or_else(|| instance.client.caps());
        let Exchange { result, duration } = instance.client.send_for(request, caps).await;
        let answer = result.map_err(|failure| refused(unanswered(failure), None, None, duration))?;
        self.org.reserve.note(&answer.headers, self.org.clock.monotonic());
        if (200..=299).contains(&answer.status) {
            sessions.taken(&session);
            return Ok(answer);
        }
        let judgement = of_request(
            answer.status,
            &answer.headers,
            problem(&answer.body).as_ref(),
            Company::Others,
            ask.now,
        );
        if judgement.met != Met::TokenRefused {
            sessions.taken(&session);
            return Err(refused(judgement, None, Some(&answer), duration));
        }
        let after = Some(sessions.refused(&session));
        Err(refused(judgement, after, Some(&answer), duration))
    }

    /// One file of results; an aborted job need not have any.
    async fn file(
        &self,
        job: &Job,
        name: &'static str,
        awaited: &Awaited,
        now: Timestamp,
    ) -> Result<Vec<u8>, Progress> {
        let caps = BodyCaps {
            read: awaited.most_bytes,
            keep: 0,
            parse: awaited.most_bytes,
        };
        let ask = Ask {
            caps: Some(caps),
            ..self.ask_for(Call::Results(&job.id, name), now)
        };
        match self.ask(ask).await {
            Ok(Answer {
                trouble: Some(why), ..
            }) => Err(Progress::Unclear(format!("{name} cannot be read: {why}"))),
            Ok(answer) => Ok(answer.body),
            Err(Refused {
                status: Some(400), ..
            }) if job.state == "Aborted" => Ok(Vec::new()),
            Err(refused) => Err(unclear(refused)),
        }
    }

    async fn results(&self, job: &Job, awaited: &Awaited, now: Timestamp) -> Result<Vec<Report>, Progress> {
        let files = Files {
            successful: self.file(job, "successfulResults", awaited, now).await?,
            failed: self.file(job, "failedResults", awaited, now).await?,
            unprocessed: self.file(job, "unprocessedrecords", awaited, now).await?,
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
        let answer = self.ask(self.ask_for(Call::Open, now)).await.map_err(not_begun)?;
        match serde_json::from_slice::<Job>(&answer.body) {
            Ok(job) if job.is_sane() => Ok(job.id),
            _ => Err(not_begun(refused(
                judged(
                    Outcome::Refused(Refusal::Together),
                    format!("HTTP {}, but the answer names no job", answer.status),
                ),
                None,
                Some(&answer),
                Duration::ZERO,
            ))),
        }
    }

    async fn upload(&self, job: &str, data: Bytes, now: Timestamp) -> Result<(), Report> {
        let put = self.ask_for(Call::Data(job, data), now);
        let deadline = put.deadline;
        self.ask(put).await.map_err(not_begun)?;
        let start = Ask {
            deadline,
            ..self.ask_for(Call::Move(job, "UploadComplete"), now)
        };
        match self.ask(start).await {
            Err(refused) if !may_have_begun(&refused) => Err(not_begun(refused)),
            // If it has not, the job is still open: whoever asks for it sees that.
            _ => Ok(()),
        }
    }

    async fn poll(&self, job: &str, awaited: &Awaited, now: Timestamp) -> Progress {
        let answer = match self.ask(self.ask_for(Call::Look(job), now)).await {
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
        let asked = self.ask(self.ask_for(Call::Move(job, "Aborted"), now)).await;
        asked.map(drop).map_err(|refused| detail(refused.report))
    }
}

/// The report of every row that was on a call without a good answer.
fn refused(
    judgement: Judgement,
    after: Option<super::session::AfterRefusal>,
    answer: Option<&Answer>,
    duration: Duration,
) -> Refused {
    let evidence = Evidence {
        status: answer.map(|answer| answer.status),
        excerpt: answer.and_then(|answer| answer.excerpt.clone()),
        digest: [0; 32],
        duration,
    };
    Refused {
        status: evidence.status,
        report: Report {
            // No row was in it, or none that counts.
            body_digest: None,
            ..report::of(judgement, after, &evidence)
        },
    }
}

fn unsent(report: Report) -> Refused {
    Refused { status: None, report }
}

/// Whatever became of the request, no row was processed: an unknown outcome is not theirs.
fn not_begun(refused: Refused) -> Report {
    match refused.report.outcome {
        Outcome::Unknown => Report {
            outcome: Outcome::Unreachable,
            ..refused.report
        },
        _ => refused.report,
    }
}

fn may_have_begun(refused: &Refused) -> bool {
    refused.report.outcome == Outcome::Unknown || refused.status.is_some_and(|status| status >= 500)
}

fn unclear(refused: Refused) -> Progress {
    match refused.status {
        Some(404) => Progress::Forgotten,
        _ => Progress::Unclear(detail(refused.report)),
    }
}

fn detail(report: Report) -> String {
    report.detail.unwrap_or_else(|| "no reason was given".to_owned())
}
