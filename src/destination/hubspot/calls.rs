//! The calls of one delivery: one for upserts, two for deletes, under one token and one deadline.

use std::time::Duration;

use reqwest::Request;
use reqwest::header::{HeaderName, HeaderValue};
use url::Url;

use super::Portal;
use super::classify::{Judgement, Met};
use super::plan::{Part, Plan};
use super::reading::{self, Found, Reading};
use super::rendering::HubSpotRendering;
use super::report::{self, Company, Evidence};
use super::request::{self, Body, Call, UpsertRow};
use super::tokens::{AfterRefusal, Token};
use crate::core::key::IdempotencyKey;
use crate::core::outcome::{Outcome, Refusal, Report};
use crate::core::time::Timestamp;
use crate::destination::Outgoing;
use crate::destination::answer::Answer;
use crate::destination::client::Exchange;
use crate::destination::failure::Failure;

/// What the calls of one delivery share.
pub(super) struct Sending<'a> {
    pub(super) portal: &'a Portal,
    pub(super) rendering: &'a HubSpotRendering,
    pub(super) token: &'a Token,
    pub(super) batch: &'a [Outgoing],
    pub(super) now: Timestamp,
    /// By the monotonic clock.
    pub(super) deadline: Duration,
}

/// Reports by their places in the batch.
type Placed = Vec<(usize, Report)>;

impl Sending<'_> {
    /// Makes all calls of `plan`.
    pub(super) async fn all(&self, plan: &Plan) -> Placed {
        let (mut reports, deleted) = tokio::join!(self.upsert(&plan.upserts), self.delete(&plan.deletes));
        reports.extend(deleted);
        reports
    }

    async fn upsert(&self, part: &Part<UpsertRow>) -> Placed {
        if part.rows.is_empty() {
            return vec![];
        }
        let body = request::upsert(&part.rows, self.rendering.id_property());
        let mut evidence = self.evidence(&body);
        let reading = match self.call(Call::Upsert, body, &part.places, &mut evidence).await {
            Ok(answer) => reading::upsert(&answer, &part.rows, self.now),
            Err(failure) => Reading::Alike(unanswered(failure)),
        };
        self.reports(&part.places, reading, Company::of(part.rows.len()), &evidence)
    }

    /// HubSpot archives by its own ids alone, so they are looked up first.
    async fn delete(&self, part: &Part<String>) -> Placed {
        if part.rows.is_empty() {
            return vec![];
        }
        let company = Company::of(part.rows.len());
        let ids: Vec<&str> = part.rows.iter().map(String::as_str).collect();
        let id_property = self.rendering.id_property();
        let body = request::look_up(&ids, id_property);
        let mut evidence = self.evidence(&body);
        let found = match self.call(Call::LookUp, body, &[], &mut evidence).await {
            Ok(answer) => reading::look_up(&answer, &ids, id_property, self.now),
            // A look-up changes nothing, so it does not matter whether it arrived.
            Err(Failure::Unreachable(why) | Failure::Unknown(why)) => {
                Err(unanswered(Failure::Unreachable(why)))
            }
        };
        let found = match found {
            Ok(found) => found,
            Err(judgement) => {
                return self.reports(&part.places, Reading::Alike(judgement), company, &evidence);
            }
        };
        let mut places = Vec::with_capacity(found.len());
        let mut records = Vec::with_capacity(found.len());
        let mut settled = (vec![], vec![]);
        for (place, found) in part.places.iter().zip(found) {
            let judgement = match found {
                Found::Record(id) => {
                    places.push(*place);
                    records.push(id);
                    continue;
                }
                Found::Nothing => reading::gone_already(),
                Found::Omitted => reading::omitted(),
            };
            settled.0.push(*place);
            settled.1.push(judgement);
        }
        let mut reports = self.reports(&settled.0, Reading::Each(settled.1), company, &evidence);
        reports.extend(self.archive(&places, records, evidence.duration).await);
        reports
    }

    async fn archive(&self, places: &[usize], mut records: Vec<String>, looked_up_in: Duration) -> Placed {
        if records.is_empty() {
            return vec![];
        }
        // Two ids can stand for one record, whose former address one of them is.
        records.sort_unstable();
        records.dedup();
        let body = request::archive(&records.iter().map(String::as_str).collect::<Vec<_>>());
        let mut evidence = self.evidence(&body);
        let judgement = match self.call(Call::Archive, body, places, &mut evidence).await {
            Ok(answer) => reading::archive(&answer, self.now),
            Err(failure) => unanswered(failure),
        };
        evidence.duration += looked_up_in;
        self.reports(
            places,
            Reading::Alike(judgement),
            Company::of(places.len()),
            &evidence,
        )
    }

    /// Makes one call, in what is left of the time, and notes what is known of it. `places` name the deliveries whose keys
    /// the request carries.
    async fn call(
        &self,
        call: Call,
        body: Body,
        places: &[usize],
        evidence: &mut Evidence,
    ) -> Result<Answer, Failure> {
        let left = self.deadline.saturating_sub(self.portal.clock.monotonic());
        if left.is_zero() {
            return Err(Failure::Unreachable(
                "nothing was sent: the time-out passed before its turn".to_owned(),
            ));
        }
        let keys: Vec<IdempotencyKey> = places.iter().map(|place| self.batch[*place].key).collect();
        let authorization = self.token.header();
        let mut request = build(&self.portal.url, self.rendering, call, body, &keys, authorization);
        *request.timeout_mut() = Some(left);
        let Exchange { result, duration } = self.portal.send(request).await;
        evidence.duration = duration;
        if let Ok(answer) = &result {
            evidence.status = Some(answer.status);
            evidence.excerpt.clone_from(&answer.excerpt);
            evidence.secrets.clone_from(&answer.secrets);
        }
        result
    }

    /// What is known of a call with `body` before it is made.
    fn evidence(&self, body: &Body) -> Evidence {
        Evidence::of(body, self.portal.client.caps().keep)
    }

    fn reports(&self, places: &[usize], reading: Reading, company: Company, evidence: &Evidence) -> Placed {
        let (judgements, evidence) = match reading {
            Reading::Alike(judgement) => {
                let judgement = self.about_token(judgement, evidence);
                (vec![judgement; places.len()], evidence.clone())
            }
            Reading::Each(judgements) => {
                self.portal.tokens.taken(self.token);
                (judgements, evidence.of_each(company))
            }
        };
        let report =
            |(place, judgement): (&usize, Judgement)| (*place, report::of(judgement, company, &evidence));
        places.iter().zip(judgements).map(report).collect()
    }

    /// What a refused token means for the rows: another attempt at once, or a pause.
    fn about_token(&self, judgement: Judgement, evidence: &Evidence) -> Judgement {
        if judgement.met != Met::TokenRefused {
            if evidence.status.is_some() {
                self.portal.tokens.taken(self.token);
            }
            return judgement;
        }
        match self.portal.tokens.refused(self.token) {
            AfterRefusal::TryAgain => judgement,
            AfterRefusal::GiveUp => Judgement {
                met: Met::Outcome(Outcome::Refused(Refusal::Gone)),
                detail: Some(self.portal.tokens.given_up()),
                ..judgement
            },
        }
    }
}

/// The request of `call`. `keys` are those of the deliveries that it carries.
pub(super) fn build(
    url: &Url,
    rendering: &HubSpotRendering,
    call: Call,
    body: Body,
    keys: &[IdempotencyKey],
    authorization: HeaderValue,
) -> Request {
    let mut request = request::request(url, rendering.object(), call, body, authorization);
    if let Some((name, value)) = key_header(rendering, keys) {
        request.headers_mut().insert(name, value);
    }
    request
}

/// HubSpot honours no key; whoever reads its logs, or stands between, finds the request by it.
fn key_header(rendering: &HubSpotRendering, keys: &[IdempotencyKey]) -> Option<(HeaderName, HeaderValue)> {
    let header = rendering.key()?;
    let key = IdempotencyKey::of_batch(keys)?;
    let name = header.name.parse().ok()?;
    let value = HeaderValue::try_from(key.wire(header.form)).ok()?;
    Some((name, value))
}

fn unanswered(failure: Failure) -> Judgement {
    let (outcome, why) = match failure {
        Failure::Unreachable(why) => (Outcome::Unreachable, why),
        Failure::Unknown(why) => (Outcome::Unknown, why),
    };
    Judgement {
        met: Met::Outcome(outcome),
        detail: Some(why),
        words: None,
    }
}
