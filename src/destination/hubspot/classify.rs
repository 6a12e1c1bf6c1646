//! What HubSpot's statuses, categories and codes mean for the rows of a request. Pure.
//!
//! The sentences name statuses, categories, codes and properties, never values: they go into logs.

use std::time::Duration;

use reqwest::header::HeaderMap;

use super::wire::Problem;
use crate::core::outcome::{Outcome, Refusal, Scope};
use crate::core::printable::printable;
use crate::core::time::Timestamp;
use crate::destination::status;

/// What a row met, and a sentence on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Judgement {
    pub(super) met: Met,
    pub(super) detail: Option<String>,
    /// HubSpot's own words about this row, where it has some: they may hold values, so they are kept for people to read and
    /// go into no log.
    pub(super) words: Option<String>,
}

/// What a row met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Met {
    /// An outcome of its own.
    Outcome(Outcome),
    /// The access token was refused, whatever the row holds.
    TokenRefused,
    /// The request was refused for one or more of its rows, and nobody knows which.
    RefusedTogether,
    /// The answer says nothing of it.
    Omitted,
}

/// No sentence repeats more bytes than this of what HubSpot says.
const MAX_NAMES_BYTES: usize = 300;

/// A locked object is free again after two seconds at the least.
const LOCKED_WAIT: Duration = Duration::from_secs(2);

/// What `TEN_SECONDLY_ROLLING` needs to forget.
const TEN_SECONDS: Duration = Duration::from_secs(10);

/// How HubSpot begins to say that it does not know an object type.
const NO_SUCH_TYPE: &str = "Unable to infer object type";

/// What `SECONDLY` needs to forget.
const ONE_SECOND: Duration = Duration::from_secs(1);

/// How long a portal that is being moved is left alone when it does not say so.
const MIGRATION_WAIT: Duration = Duration::from_hours(1);

/// A day's quota comes back at midnight in the portal's own time zone, which no answer names: everywhere on earth that is
/// a full, half or quarter hour, and one refused request in half an hour harms nobody.
const DAILY_LOOK: Duration = Duration::from_mins(30);

/// The meaning of a status that is no success, for every row of the request. `problem` is the body, if it is HubSpot's
/// own; `now` is what waits count from.
pub(super) fn refused(
    code: u16,
    headers: &HeaderMap,
    problem: Option<&Problem>,
    now: Timestamp,
) -> Judgement {
    let asked = status::asked_wait(headers, now);
    let throttled = |scope, least: Option<Duration>| {
        let retry_after = asked.max(least);
        judged(
            Outcome::Throttled { scope, retry_after },
            described(code, problem),
        )
    };
    match (code, problem) {
        (401, _) => Judgement {
            met: Met::TokenRefused,
            detail: Some(described(code, problem)),
            words: None,
        },
        (403, Some(problem)) => pause(scopes(problem)),
        (400, Some(problem)) if problem.message.starts_with(NO_SUCH_TYPE) => pause(no_such_type(code)),
        (404, Some(_)) => pause(no_such_type(code)),
        (400, Some(problem)) if is_id_property_refused(problem) => pause(
            "HTTP 400: values of the property in `id_property` need not be unique, so no record can be found by it; \
             name a property that has unique values, then resume"
                .to_owned(),
        ),
        (400 | 409 | 413 | 414 | 422, _) => Judgement {
            met: Met::RefusedTogether,
            detail: Some(described(code, problem)),
            words: None,
        },
        (423, _) => throttled(Scope::Row, Some(LOCKED_WAIT)),
        (429, _) => throttled(Scope::Destination, limit_wait(problem, now)),
        (477, _) => throttled(Scope::Destination, asked.or(Some(MIGRATION_WAIT))),
        // Cloudflare lost the connection to HubSpot, or waited in vain: the request may have arrived.
        (520 | 522 | 524, _) => judged(Outcome::Unknown, described(code, problem)),
        _ => judged(status::classify(code, headers, now), described(code, problem)),
    }
}

/// The meaning of one of the `errors` beside the results.
pub(super) fn row_refused(problem: &Problem) -> Judgement {
    let outcome = match problem.category.as_deref() {
        Some(
            "VALIDATION_ERROR" | "CONFLICT" | "OBJECT_ALREADY_EXISTS" | "OBJECT_NOT_FOUND" | "INVALID_INPUT",
        ) => Outcome::Refused(Refusal::Final),
        Some("RATE_LIMIT" | "RATE_LIMITS") => Outcome::Throttled {
            scope: Scope::Row,
            retry_after: Some(ONE_SECOND),
        },
        Some("RESOURCE_LOCKED") => Outcome::Throttled {
            scope: Scope::Row,
            retry_after: Some(LOCKED_WAIT),
        },
        _ => Outcome::Refused(Refusal::Retryable),
    };
    Judgement {
        words: Some(problem.message.clone()),
        ..judged(outcome, sentence(problem))
    }
}

fn judged(outcome: Outcome, detail: String) -> Judgement {
    Judgement {
        met: Met::Outcome(outcome),
        detail: Some(detail),
        words: None,
    }
}

fn pause(why: String) -> Judgement {
    judged(Outcome::Refused(Refusal::Gone), why)
}

fn limit_wait(problem: Option<&Problem>, now: Timestamp) -> Option<Duration> {
    match problem.and_then(|problem| problem.policy_name.as_deref()) {
        Some("TEN_SECONDLY_ROLLING") => Some(TEN_SECONDS),
        Some("SECONDLY") => Some(ONE_SECOND),
        Some("DAILY") => Some(until_next_look(now)),
        _ => None,
    }
}

/// From `now` to the next full or half hour.
fn until_next_look(now: Timestamp) -> Duration {
    let into = now.as_seconds().rem_euclid(1_800);
    DAILY_LOOK.saturating_sub(Duration::from_secs(into.unsigned_abs()))
}

fn no_such_type(code: u16) -> String {
    format!(
        "HTTP {code}: HubSpot has no such object type, or the token may not see it; check `object`, then resume"
    )
}

/// HubSpot has no code for it, only this sentence.
fn is_id_property_refused(problem: &Problem) -> bool {
    problem.message.contains("by non-unique")
}

fn scopes(problem: &Problem) -> String {
    let missing = problem.missing_scopes();
    if missing.is_empty() {
        return format!(
            "{}: the token may not write these objects; mend that in HubSpot, then resume",
            described(403, Some(problem))
        );
    }
    let scopes = if missing.len() == 1 { "scope" } else { "scopes" };
    format!(
        "HTTP 403: the token lacks the {scopes} {}; grant that in HubSpot, then resume",
        missing.join(", ")
    )
}

fn described(code: u16, problem: Option<&Problem>) -> String {
    match problem {
        Some(problem) => format!("HTTP {code}, {}", sentence(problem)),
        None => match code {
            502 | 504 | 520 | 522 | 524 => {
                format!("HTTP {code}: a gateway had no answer in time; the request may have arrived")
            }
            _ => format!("HTTP {code}"),
        },
    }
}

/// `VALIDATION_ERROR: email (INVALID_EMAIL)`
fn sentence(problem: &Problem) -> String {
    let category = problem.category.as_deref();
    let category = category.or(problem.policy_name.as_deref()).unwrap_or("refused");
    let complaints = problem.complaints();
    let listed: Vec<_> = complaints
        .iter()
        .map(|complaint| format!("{} ({})", complaint.property, complaint.code))
        .collect();
    let separator = if listed.is_empty() { "" } else { ": " };
    let sentence = format!("{category}{separator}{}", listed.join(", "));
    printable(sentence.as_bytes(), MAX_NAMES_BYTES)
}
