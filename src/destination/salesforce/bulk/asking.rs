//! One request about a job, sent with the token of the session, and what it means for all rows if no good answer comes.

use std::time::Duration;

use super::calls::{self, Call};
use crate::core::outcome::{Outcome, Report};
use crate::core::secrets::Secrets;
use crate::core::time::Timestamp;
use crate::destination::answer::{Answer, BodyCaps};
use crate::destination::client::Exchange;
use crate::destination::salesforce::classify::{Company, Judgement, Met, of_request};
use crate::destination::salesforce::report::{self, Evidence};
use crate::destination::salesforce::wire::problem;
use crate::destination::salesforce::{Salesforce, unanswered};

/// What is asked, and what of the time is left for it.
pub(super) struct Ask<'a> {
    pub(super) call: Call<'a>,
    /// Monotonic.
    pub(super) deadline: Duration,
    /// None: as for any answer.
    pub(super) caps: Option<BodyCaps>,
    pub(super) now: Timestamp,
}

/// No good answer: its status, if one came, and what it means for all rows.
pub(super) struct Refused {
    pub(super) status: Option<u16>,
    report: Report,
}

impl Salesforce {
    /// `call`, with the time that a request has.
    pub(super) fn asking<'a>(&self, call: Call<'a>, now: Timestamp) -> Ask<'a> {
        Ask {
            call,
            deadline: self.org.clock.monotonic().saturating_add(self.org.timeout),
            caps: None,
            now,
        }
    }

    /// Sends one request; only a 2xx is a good answer.
    pub(super) async fn ask(&self, ask: Ask<'_>) -> Result<Answer, Refused> {
        let sessions = &self.org.sessions;
        let session = sessions.get(ask.now).await;
        let session = session.map_err(|trouble| Refused::unsent(report::without_session(&trouble)))?;
        let left = ask.deadline.saturating_sub(self.org.clock.monotonic());
        if left.is_zero() {
            return Err(Refused::unsent(report::too_late()));
        }
        let instance = &session.instance;
        let authorization = session.authorization.clone();
        let mut request = calls::build(&instance.url, &self.rendering, ask.call, authorization)
            .map_err(|_| Refused::unsent(report::unmakeable()))?;
        *request.timeout_mut() = Some(left);
        let caps = ask.caps.unwrap_or_else(|| instance.client.caps());
        let Exchange { result, duration } = instance.client.send_for(request, caps).await;
        let answer = result.map_err(|failure| Refused::of(unanswered(failure), None, duration))?;
        self.org.reserve.note(&answer.headers, self.org.clock.monotonic());
        if (200..=299).contains(&answer.status) {
            sessions.taken(&session);
            return Ok(answer);
        }
        let problem = problem(&answer);
        let company = Company::Others;
        let judgement = of_request(answer.status, &answer.headers, problem.as_ref(), company, ask.now);
        let judgement = if judgement.met == Met::TokenRefused {
            sessions.about_token(judgement, &session)
        } else {
            sessions.taken(&session);
            judgement
        };
        Err(Refused::of(judgement, Some(&answer), duration))
    }
}

impl Refused {
    /// What `judgement` means for the rows, though none of them was in the request, or none that counts.
    pub(super) fn of(judgement: Judgement, answer: Option<&Answer>, duration: Duration) -> Self {
        let evidence = Evidence {
            status: answer.map(|answer| answer.status),
            excerpt: answer.and_then(|answer| answer.excerpt.clone()),
            // The answer is about the job: nothing in it is said of a row.
            secrets: Secrets::none(),
            keep: 0,
            digest: [0; 32],
            duration,
        };
        Self {
            status: evidence.status,
            report: Report {
                body_digest: None,
                ..report::of(judgement, &evidence)
            },
        }
    }

    fn unsent(report: Report) -> Self {
        Self { status: None, report }
    }

    /// Whether the receiver may have done what was asked all the same.
    pub(super) fn may_be_done(&self) -> bool {
        self.report.outcome == Outcome::Unknown || self.status.is_some_and(|status| status >= 500)
    }

    /// The report of every row of a job that was never started: whatever became of the request, no row was processed, so
    /// an unknown outcome is not theirs.
    pub(super) fn not_begun(self) -> Report {
        match self.report.outcome {
            Outcome::Unknown => Report {
                outcome: Outcome::Unreachable,
                ..self.report
            },
            _ => self.report,
        }
    }

    /// A sentence for a person.
    pub(super) fn detail(self) -> String {
        let detail = self.report.detail;
        detail.unwrap_or_else(|| "no reason was given".to_owned())
    }
}
