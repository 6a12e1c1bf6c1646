//! From facts to findings. Pure: whoever reads the facts decides nothing, and whoever decides reads nothing.

use std::time::Duration;

use super::facts::Facts;
use super::{Examined, Finding, Next, ended, pending};
use crate::core::delivery::State;
use crate::core::outcome;
use crate::core::spoken::{at, beside_status, counted};

/// From the beginning of an attempt to the end of its delivery: within that, the one time tells the other.
const SAME_TIME: Duration = Duration::from_mins(1);

/// What is known of a delivery, what matters most first; at least one finding.
pub(super) fn findings(facts: &Facts) -> Vec<Finding> {
    match facts.delivery.state {
        State::Pending => pending::findings(facts),
        _ => ended::findings(facts),
    }
}

/// What comes next for it.
pub(super) fn next(facts: &Facts) -> Next {
    let first = findings(facts).into_iter().next();
    let ahead = facts.delivery.due_at.filter(|due| *due > facts.now);
    Next {
        sentence: first.map_or_else(String::new, |finding| finding.sentence),
        due_at: ahead.filter(|_| facts.in_flight.is_none()),
    }
}

/// What is known of a delivery that there is not, though the row's topic is routed there.
pub(super) fn never_owed(destination: String) -> Examined {
    let finding = Finding::with(
        format!(
            "its topic is routed to {destination}, but the row was never owed there: it came before the route"
        ),
        format!(
            "`aftercommit replay --missing --destination {destination} --dry-run` says how many such rows there are"
        ),
    );
    Examined {
        destination,
        state: None,
        findings: vec![finding],
    }
}

/// What the last attempt met: `attempt 3 was refused with HTTP 422 at … (2m ago): no such field`; none without one. Its time is
/// left out where the delivery ended by it.
pub(super) fn last_attempt(facts: &Facts) -> Option<String> {
    let last = facts.last_attempt.as_ref()?;
    let status = last
        .http_status
        .map_or_else(String::new, |status| format!(" with HTTP {status}"));
    let settled_at = facts.delivery.settled_at;
    let when = match settled_at {
        Some(settled_at) if settled_at.since(last.started_at) < SAME_TIME => String::new(),
        _ => format!(" at {}", at(last.started_at, facts.now)),
    };
    Some(format!(
        "attempt {} {}{status}{when}{}",
        last.number,
        met(&last.outcome, last.http_status),
        beside_status(last.http_status, last.detail.as_deref())
    ))
}

/// What an attempt met: refused credentials are about no row, and a server that failed has refused nothing.
fn met(outcome: &str, http_status: Option<u16>) -> &'static str {
    match (outcome, http_status) {
        ("throttled" | "refused", Some(401)) => "had its credentials refused",
        ("refused", Some(500..)) => "failed",
        _ => outcome::spoken(outcome),
    }
}

/// `3 attempts are on record` and the like.
pub(super) fn attempts(facts: &Facts) -> String {
    counted(
        facts.delivery.attempts,
        "attempt is on record",
        "attempts are on record",
    )
}
