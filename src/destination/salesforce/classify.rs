//! What Salesforce's statuses, codes and messages mean for the rows of a request. Pure.
//!
//! The sentences name statuses, codes and fields, never the message: it holds values, and sentences go into logs.

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
    /// Salesforce's own words about this row, where the answer is about others too: they may hold values, so they are kept
    /// for people to read and go into no log.
    pub(super) words: Option<String>,
}

/// What a row met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Met {
    /// An outcome.
    Outcome(Outcome),
    /// The access token was refused, whatever the row holds.
    TokenRefused,
}

/// What a request was about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Company {
    /// One record to be upserted.
    Alone,
    /// One record to be updated, if it is there.
    Known,
    /// Several.
    Others,
    /// One record to be deleted.
    Deleted,
}

/// No sentence repeats more bytes than this of what Salesforce says.
const MAX_NAMES_BYTES: usize = 300;

/// The meaning of an error about one record of several.
pub(super) fn of_record(problem: &Problem, company: Company) -> Judgement {
    let duplicate =
        problem.code == "DUPLICATE_VALUE" && problem.message.contains("Duplicate external id specified");
    let outcome = if duplicate && company == Company::Others {
        Outcome::Refused(Refusal::Alone)
    } else {
        row_outcome(problem)
    };
    let detail = waiting(&outcome, sentence(problem));
    Judgement {
        words: (company == Company::Others).then(|| problem.message.clone()),
        ..judged(outcome, detail)
    }
}

/// A row waits by itself only for a parent.
fn waiting(outcome: &Outcome, detail: String) -> String {
    match outcome {
        Outcome::Throttled {
            scope: Scope::Row, ..
        } => format!("{detail}: a record that it refers to is not there yet, and the row waits for it"),
        _ => detail,
    }
}

fn row_outcome(problem: &Problem) -> Outcome {
    let says = |words: &str| problem.message.contains(words);
    match problem.code.as_str() {
        "UNABLE_TO_LOCK_ROW"
        | "QUERY_TIMEOUT"
        | "REQUEST_RUNNING_TOO_LONG"
        | "TXN_SECURITY_METERING_ERROR"
        | "SERVER_UNAVAILABLE"
        | "UNKNOWN_EXCEPTION" => Outcome::Refused(Refusal::Retryable),
        "CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY"
            if says("UNABLE_TO_LOCK_ROW") || says("Too many SOQL queries") =>
        {
            Outcome::Refused(Refusal::Retryable)
        }
        // The parent may come; the wait ends with the delivery's `max_age`.
        "INVALID_FIELD" if says("Foreign key external ID") && says("not found") => Outcome::Throttled {
            scope: Scope::Row,
            retry_after: None,
        },
        "REQUEST_LIMIT_EXCEEDED" if says("TotalRequests") => Outcome::Refused(Refusal::Gone),
        "REQUEST_LIMIT_EXCEEDED" | "CONCURRENT_REQUESTS_LIMIT_EXCEEDED" => Outcome::Throttled {
            scope: Scope::Destination,
            retry_after: None,
        },
        "STORAGE_LIMIT_EXCEEDED" | "API_DISABLED_FOR_ORG" => Outcome::Refused(Refusal::Gone),
        _ => Outcome::Refused(Refusal::Final),
    }
}

/// The meaning of a status that is no success, for every row of the request. `now` is what waits count from.
pub(super) fn of_request(
    code: u16,
    headers: &HeaderMap,
    problem: Option<&Problem>,
    company: Company,
    now: Timestamp,
) -> Judgement {
    let detail = described(code, problem);
    let refused = Outcome::Refused(match company {
        Company::Others => Refusal::Together,
        Company::Alone | Company::Known | Company::Deleted => Refusal::Final,
    });
    match (code, problem) {
        (300, _) => judged(
            Outcome::Refused(Refusal::Final),
            "HTTP 300: several records have this external id; make the field unique".to_owned(),
        ),
        (401, _) => Judgement {
            met: Met::TokenRefused,
            detail: Some(detail),
            words: None,
        },
        (403, Some(problem)) => forbidden(problem, detail),
        (403, None) => judged(Outcome::Refused(Refusal::Gone), mend(&detail)),
        (404, problem) => not_found(problem, company, &detail),
        (400, Some(problem)) => match row_outcome(problem) {
            Outcome::Refused(Refusal::Final) => judged(refused, detail),
            // A parent that is missing: whose, only its own request can tell.
            Outcome::Throttled {
                scope: Scope::Row, ..
            } if company == Company::Others => judged(refused, detail),
            other => {
                let detail = waiting(&other, detail);
                judged(other, detail)
            }
        },
        (400 | 405 | 413 | 414 | 415 | 422, _) => judged(refused, detail),
        (420, _) => judged(status::classify(429, headers, now), detail),
        _ => judged(status::classify(code, headers, now), detail),
    }
}

fn forbidden(problem: &Problem, detail: String) -> Judgement {
    match row_outcome(problem) {
        wait @ Outcome::Throttled { .. } => judged(wait, detail),
        _ if problem.code == "REQUEST_LIMIT_EXCEEDED" => judged(
            Outcome::Refused(Refusal::Gone),
            format!(
                "{detail}: the org's API calls of 24 hours are used up; wait until it has some again, then resume"
            ),
        ),
        _ => judged(Outcome::Refused(Refusal::Gone), mend(&detail)),
    }
}

fn not_found(problem: Option<&Problem>, company: Company, detail: &str) -> Judgement {
    let message = problem.map_or("", |problem| problem.message.as_str());
    let no_such_field = message.contains("external ID field");
    match company {
        Company::Deleted if !no_such_field && problem.is_some() => judged(
            Outcome::Accepted,
            format!("{detail}: there is no such record, so there is nothing left to delete"),
        ),
        Company::Known if !no_such_field && problem.is_some() => judged(
            Outcome::Refused(Refusal::Final),
            format!("{detail}: there is no such record, and update_only forbids to create it"),
        ),
        Company::Alone if !no_such_field && problem.is_some() && !message.contains("requested resource") => {
            judged(Outcome::Refused(Refusal::Final), detail.to_owned())
        }
        _ => judged(
            Outcome::Refused(Refusal::Gone),
            format!(
                "{detail}: check object, external_id and api_version, and that the user may see them, then resume"
            ),
        ),
    }
}

fn mend(detail: &str) -> String {
    format!("{detail}: the org takes nothing now; mend that in Salesforce, then resume")
}

pub(super) fn judged(outcome: Outcome, detail: String) -> Judgement {
    Judgement {
        met: Met::Outcome(outcome),
        detail: Some(detail),
        words: None,
    }
}

/// `HTTP 400, REQUIRED_FIELD_MISSING (Name)`
pub(super) fn described(code: u16, problem: Option<&Problem>) -> String {
    match problem {
        Some(problem) => format!("HTTP {code}, {}", sentence(problem)),
        None if matches!(code, 502 | 504) => {
            format!("HTTP {code}: a gateway had no answer in time; the request may have arrived")
        }
        None => format!("HTTP {code}"),
    }
}

/// `REQUIRED_FIELD_MISSING (Name)`
fn sentence(problem: &Problem) -> String {
    let fields = match problem.fields.as_slice() {
        [] => String::new(),
        fields => format!(" ({})", fields.join(", ")),
    };
    let code = if problem.code.is_empty() {
        "refused without a code"
    } else {
        &problem.code
    };
    printable(format!("{code}{fields}").as_bytes(), MAX_NAMES_BYTES)
}
