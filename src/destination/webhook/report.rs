//! What goes on record of an attempt.

use std::time::Duration;

use super::request::NotSendable;
use crate::core::outcome::{Outcome, Refusal, Report};
use crate::core::time::Timestamp;
use crate::destination::answer::Answer;
use crate::destination::client::Exchange;
use crate::destination::credentials::Credentials;
use crate::destination::failure::Failure;
use crate::destination::status;

/// What an exchange met.
pub(super) fn of(exchange: Exchange, credentials: &Credentials, now: Timestamp) -> Report {
    let Exchange { result, duration } = exchange;
    let report = match result {
        Ok(answer) => answered(answer, credentials, now),
        Err(Failure::Unreachable(why)) => Report::unanswered(Outcome::Unreachable, why),
        Err(Failure::Unknown(why)) => Report::unanswered(Outcome::Unknown, why),
    };
    Report { duration, ..report }
}

/// The status decides; what was wrong with the body is only noted.
fn answered(answer: Answer, credentials: &Credentials, now: Timestamp) -> Report {
    let Answer {
        status,
        headers,
        excerpt,
        trouble,
        ..
    } = answer;
    let outcome = status::classify(status, &headers, now);
    let refusal = (outcome != Outcome::Accepted).then(|| match status {
        401 => format!("HTTP 401: the credentials are refused; {}", credentials.way_out()),
        _ => status::describe(status, &headers),
    });
    let detail = match (refusal, trouble) {
        (Some(refusal), Some(trouble)) => Some(format!("{refusal}; {trouble}")),
        (None, Some(trouble)) => Some(format!("accepted, but {trouble}")),
        (refusal, None) => refusal,
    };
    Report {
        outcome,
        http_status: Some(status),
        detail,
        excerpt,
        body_digest: None,
        duration: Duration::ZERO,
    }
}

/// A row of which no request can be made is refused before anything is sent; it can only be refused again.
pub(super) fn not_sent(why: &NotSendable) -> Report {
    Report::unanswered(Outcome::Refused(Refusal::Final), format!("not sent: {why}"))
}
