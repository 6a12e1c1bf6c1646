//! What is known of a delivery that has ended, or waits for a person: how it came to that, and what then.

use super::Finding;
use super::facts::{Configured, Facts};
use super::findings::{attempts, last_attempt};
use crate::core::delivery::Reason;
use crate::core::queue::OrderMode;
use crate::core::spoken::{at, counted};

pub(super) fn findings(facts: &Facts) -> Vec<Finding> {
    // What has ended has a reason.
    let first = facts.delivery.reason.map(|reason| why(reason, facts));
    let mut findings: Vec<Finding> = first.into_iter().collect();
    findings.extend(holds_others(facts));
    findings
}

fn why(reason: Reason, facts: &Facts) -> Finding {
    let when = facts
        .delivery
        .settled_at
        .map_or_else(|| "some time ago".to_owned(), |settled| at(settled, facts.now));
    let met = last_attempt(facts).unwrap_or_else(|| attempts(facts));
    let name = facts.name();
    let replay = format!("`aftercommit replay {name} --reason …` sends it again under the same key");
    match reason {
        Reason::Accepted => Finding::of(format!("it was delivered at {when}: {met}")),
        Reason::Confirmed => Finding::of(format!(
            "a person said at {when} that the receiver took it; `aftercommit audit` says who, why, and by which evidence"
        )),
        Reason::Refused => Finding::with(
            format!("it has been dead since {when}: the receiver refused it for good; {met}"),
            format!("mend what it was refused for, then {replay}"),
        ),
        Reason::StoredFailure => Finding::with(
            format!(
                "it has been dead since {when}: the receiver gave back a failure that it keeps under this key; {met}"
            ),
            format!(
                "mend the receiver, then `aftercommit replay {name} --key new --reason …`: under the same key it only says so again"
            ),
        ),
        Reason::AttemptsExhausted => Finding::with(
            format!(
                "it has been dead since {when}, after {} attempts; the last: {met}",
                facts.delivery.attempts
            ),
            format!("mend the receiver, then {replay}"),
        ),
        Reason::AgeExhausted => Finding::with(
            format!(
                "it has been dead since {when}: {}; the last attempt: {met}",
                too_old(facts)
            ),
            format!("mend the receiver, then {replay}"),
        ),
        Reason::NotCanonical => Finding::with(
            format!(
                "it has been dead since {when}: its payload has no canonical form, so it has no key, and nothing was sent"
            ),
            format!(
                "correct the row in the pipeline and commit it again; `aftercommit show {name}` says what is wrong"
            ),
        ),
        Reason::NotRenderable => Finding::with(
            format!("it has been dead since {when}: no request can be made of it; {met}"),
            format!(
                "correct the fields of {} in the configuration, then {replay}",
                facts.destination_name()
            ),
        ),
        Reason::OutcomeUnknown | Reason::WindowPassed => uncertain(reason, &when, &met, facts),
        Reason::NewerVersion => Finding::of(match facts.kin.newest {
            Some(newest) => format!(
                "a newer version took its place at {when}; the newest is {}",
                facts.name_of(newest)
            ),
            None => format!("a newer version took its place at {when}"),
        }),
        Reason::Operator => Finding::of(format!(
            "an operator ended it at {when}; `aftercommit audit` says who, and why"
        )),
    }
}

fn uncertain(reason: Reason, when: &str, met: &str, facts: &Facts) -> Finding {
    let name = facts.name();
    let because = match reason {
        Reason::WindowPassed => "the receiver may have forgotten its key by now",
        _ => "its destination holds such deliveries",
    };
    Finding::with(
        format!(
            "it has waited for a person since {when}: an attempt may have arrived, and {because}, so it is not sent again by itself; \
             {met}"
        ),
        format!(
            "look at the receiver for the row or the key (`aftercommit show {name}`). If it is there, `aftercommit \
             mark-delivered {name} --evidence …`; if not, `aftercommit replay {name}`; each with --reason"
        ),
    )
}

fn too_old(facts: &Facts) -> String {
    match &facts.destination.configured {
        Configured::As(expected) => format!(
            "it was owed for longer than max_age, {}",
            crate::core::spoken::span(expected.retry.max_age)
        ),
        Configured::Missing | Configured::Silent => "it was owed for longer than max_age".to_owned(),
    }
}

/// What waits for a person keeps what comes after it waiting, where each waits for the one before it.
fn holds_others(facts: &Facts) -> Option<Finding> {
    let uncertain = matches!(
        facts.delivery.reason,
        Some(Reason::OutcomeUnknown | Reason::WindowPassed)
    );
    let holds = uncertain && facts.order() == OrderMode::Ordered && facts.kin.behind > 0;
    holds.then(|| {
        Finding::of(format!(
            "{} until then",
            counted(
                facts.kin.behind,
                "later delivery of its row key waits",
                "later deliveries of its row key wait"
            )
        ))
    })
}
