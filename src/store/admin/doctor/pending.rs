//! What is known of a delivery that is owed: what it waits for.

use super::Finding;
use super::facts::{Configured, Facts, Holder, Sender};
use super::findings::last_attempt;
use crate::core::queue::OrderMode;
use crate::core::spoken::{at, counted, relative, span, utc};

/// The first of these that there is keeps it; the rest keeps it after that.
pub(super) fn findings(facts: &Facts) -> Vec<Finding> {
    if facts.destination_name().is_empty() {
        return vec![unrouted(facts)];
    }
    let kept = [
        in_flight(facts),
        cancelled(facts),
        not_configured(facts),
        paused(facts),
        not_held(facts),
        superseded(facts),
        failing(facts),
        used_up(facts),
        uncertain_before(facts),
        behind(facts),
        waiting(facts),
    ];
    let mut findings: Vec<Finding> = kept.into_iter().flatten().collect();
    if findings.is_empty() {
        findings.push(next_to_go(facts));
    }
    findings
}

/// Nobody has it yet: there is no route, or whoever keeps house has not moved it there.
fn unrouted(facts: &Facts) -> Finding {
    let topic = &facts.delivery.topic;
    let since = at(facts.delivery.created_at, facts.now);
    if facts.routes.is_empty() {
        return Finding::with(
            format!("its topic `{topic}` has no route: the row is kept since {since} and goes nowhere"),
            format!(
                "name `{topic}` in the topics of a destination, then reload the relay (SIGHUP) or run `aftercommit apply`"
            ),
        );
    }
    let to = facts.routes.join(", ");
    match &facts.destination.holder {
        Holder::Relay { id, .. } => Finding::of(format!(
            "its topic `{topic}` is routed to {to} by now: relay {id}, which keeps house, moves the row there within seconds"
        )),
        Holder::Silent { .. } | Holder::Nobody { .. } => Finding::with(
            format!(
                "its topic `{topic}` is routed to {to} by now, but no relay keeps house, so nobody moves the row there"
            ),
            "see that a relay runs: `aftercommit status` shows which do, `aftercommit run` starts one",
        ),
    }
}

fn in_flight(facts: &Facts) -> Option<Finding> {
    let in_flight = facts.in_flight.as_ref()?;
    let (number, relay) = (facts.delivery.attempts + 1, &in_flight.relay);
    let since = at(in_flight.since, facts.now);
    Some(match (facts.sender, &in_flight.job) {
        (Sender::Silent, _) => Finding::with(
            format!(
                "attempt {number} was begun at {since} by relay {relay}, which has fallen silent: the next owner of its lease \
                 puts it on record as unknown and goes on"
            ),
            "see that a relay runs: `aftercommit status` shows which do, `aftercommit run` starts one",
        ),
        (Sender::Lives, Some(job)) => Finding::of(format!(
            "attempt {number} is in flight since {since} by job {job}, which the receiver works through at its own pace; \
             relay {relay} asks after it"
        )),
        (Sender::Lives, None) => Finding::of(format!(
            "attempt {number} is in flight since {since}, sent by relay {relay}"
        )),
    })
}

fn cancelled(facts: &Facts) -> Option<Finding> {
    let asked = facts.delivery.cancel_at?;
    Some(Finding::of(format!(
        "an operator asked at {} to cancel it: it ends at the relay's next look, or when the attempt in flight is settled, \
         unless that is a success",
        at(asked, facts.now)
    )))
}

fn not_configured(facts: &Facts) -> Option<Finding> {
    let Configured::Missing = facts.destination.configured else {
        return None;
    };
    let name = facts.destination_name();
    Some(Finding::with(
        format!("{name} is not in the configuration: what is owed to it is held"),
        format!(
            "configure {name} again, or cancel it: `aftercommit cancel {} --reason …`",
            facts.name()
        ),
    ))
}

fn paused(facts: &Facts) -> Option<Finding> {
    let (name, pause) = (facts.destination_name(), facts.destination.pause.as_ref()?);
    Some(Finding::with(
        format!(
            "{name} is paused since {} by {}: {}",
            at(pause.at, facts.now),
            pause.by,
            pause.reason
        ),
        format!("once that is mended, `aftercommit resume {name} --reason …`"),
    ))
}

fn not_held(facts: &Facts) -> Option<Finding> {
    let name = facts.destination_name();
    match &facts.destination.holder {
        Holder::Relay { .. } => None,
        Holder::Silent { id, beat_at } => {
            let heard_of = beat_at.map_or_else(
                || "has not been heard of for a day".to_owned(),
                |beat_at| format!("was heard of last at {}", at(beat_at, facts.now)),
            );
            Some(Finding::with(
                format!(
                    "the lease of its part of {name} is held by relay {id}, which {heard_of}: another relay takes it over"
                ),
                "see that a relay runs: `aftercommit status` shows which do, `aftercommit run` starts one",
            ))
        }
        Holder::Nobody { live_relays: 0 } => Some(Finding::with(
            format!("no relay runs, so nobody dispatches {name}"),
            "start one with `aftercommit run`",
        )),
        // Nobody dispatches what the configuration does not have, or is silent about.
        Holder::Nobody { .. } if matches!(facts.destination.configured, Configured::Missing) => None,
        Holder::Nobody { .. } => Some(Finding::with(
            format!("nobody holds the lease of its part of {name}: a relay takes it within seconds"),
            format!(
                "if none does, see that {name} is in the configuration of a relay that runs, and look at its log"
            ),
        )),
    }
}

/// Where only the newest version matters, an older one ends.
fn superseded(facts: &Facts) -> Option<Finding> {
    let newer = facts.kin.newest_owed?;
    let may_end = facts.order() == OrderMode::Latest && facts.delivery.unknown_since.is_none();
    may_end.then(|| {
        Finding::of(format!(
            "a newer version of the row is owed, {}: this one ends as superseded at the relay's next look",
            facts.name_of(newer)
        ))
    })
}

fn failing(facts: &Facts) -> Option<Finding> {
    let (name, failing) = (facts.destination_name(), facts.destination.failing.as_ref()?);
    let since = at(failing.since, facts.now);
    let detail = &failing.detail;
    let sentence = match failing.breaker_opened_at {
        Some(opened) => format!(
            "the breaker of {name} is open since {}: no request has worked since {since} ({detail}). It goes on by itself: \
             {} whether it is back, which uses up no attempt, and the others do not die of waiting",
            at(opened, facts.now),
            looks(facts)
        ),
        None => format!("no request to {name} has worked since {since}: {detail}"),
    };
    Some(Finding::with(
        sentence,
        format!(
            "mend the receiver; `aftercommit test {name} --reason …` tries it out. What was owed when it began to fail dies \
             at its next failure from {} UTC on; `aftercommit pause {name} --reason …` holds it",
            utc(failing.dying_from)
        ),
    ))
}

/// Who looks whether a receiver is back, and how often if that is known.
fn looks(facts: &Facts) -> String {
    let every = match &facts.destination.configured {
        Configured::As(expected) => expected.looks_every,
        Configured::Missing | Configured::Silent => None,
    };
    every.map_or_else(
        || "now and then a single row looks".to_owned(),
        |every| format!("every {} a single row looks", span(every)),
    )
}

fn used_up(facts: &Facts) -> Option<Finding> {
    let (name, noted) = (facts.destination_name(), facts.destination.usage.as_ref()?);
    let usage = noted.usage;
    usage.reserve_is_reached().then(|| {
        Finding::with(
            format!(
                "{name} said {} that {} of {} daily calls are used, and the last {} are kept for others: nothing is sent, and \
                 every quarter of an hour one call looks again",
                relative(noted.heard_at, facts.now),
                usage.used,
                usage.allowed,
                usage.reserve
            ),
            "wait until the receiver's day is over, or lower daily_limit_reserve",
        )
    })
}

/// Where each waits for the one before it, one that waits for a person holds the row key.
fn uncertain_before(facts: &Facts) -> Option<Finding> {
    let held_by = facts.kin.first_uncertain?;
    (facts.order() == OrderMode::Ordered).then(|| {
        let name = facts.name_of(held_by);
        Finding::with(
            format!("its row key is held by {name}, which is uncertain: nobody knows whether it arrived"),
            format!(
                "look at the receiver for it, then `aftercommit mark-delivered {name}`, `replay {name}` or `cancel {name}`; \
                 `aftercommit show {name}` has its key"
            ),
        )
    })
}

fn behind(facts: &Facts) -> Option<Finding> {
    let kin = &facts.kin;
    match facts.order() {
        OrderMode::Independent => None,
        OrderMode::Ordered => {
            let first = facts.name_of(kin.first_owed?);
            Some(Finding::with(
                format!(
                    "it waits behind {} of its row key; the first is {first}",
                    counted(kin.ahead, "older delivery", "older deliveries")
                ),
                format!("`aftercommit doctor {first}` says what that waits for"),
            ))
        }
        OrderMode::Latest => {
            let before = facts.name_of(kin.first_unknown.or(kin.in_flight)?);
            Some(Finding::with(
                format!(
                    "an older version of the row, {before}, may be on its way: this one waits until its outcome is known"
                ),
                format!("`aftercommit doctor {before}` says what that waits for"),
            ))
        }
    }
}

fn waiting(facts: &Facts) -> Option<Finding> {
    let due = facts.delivery.due_at.filter(|due| *due > facts.now)?;
    if facts.in_flight.is_some() {
        return None;
    }
    let number = facts.delivery.attempts + 1;
    let before = last_attempt(facts).map_or_else(String::new, |last| format!("; {last}"));
    let sentence = format!(
        "it waits until {} for attempt {number}{}{before}",
        at(due, facts.now),
        of_how_many(facts)
    );
    Some(Finding::with(
        sentence,
        format!(
            "`aftercommit retry-now {} --reason …` makes it due at once",
            facts.name()
        ),
    ))
}

/// How many attempts there may be, where the configuration says it.
fn of_how_many(facts: &Facts) -> String {
    let Configured::As(expected) = &facts.destination.configured else {
        return String::new();
    };
    let retry = &expected.retry;
    let left = retry
        .max_attempts
        .saturating_sub(facts.delivery.attempts.saturating_sub(facts.excused));
    format!(
        " ({left} of {} that count are left, and it is given up {} after it was owed)",
        retry.max_attempts,
        span(retry.max_age)
    )
}

fn next_to_go(facts: &Facts) -> Finding {
    let name = facts.destination_name();
    let by = match &facts.destination.holder {
        Holder::Relay { id, beat_at } => {
            format!(
                "relay {id}, heard of {}, dispatches it",
                relative(*beat_at, facts.now)
            )
        }
        Holder::Silent { .. } | Holder::Nobody { .. } => "a relay will dispatch it".to_owned(),
    };
    let before = match facts.before {
        0 => String::new(),
        before @ 1..1_000 => format!(
            "; {} before it",
            counted(before, "delivery is owed", "deliveries are owed")
        ),
        _ => "; a thousand deliveries or more are owed before it".to_owned(),
    };
    Finding::with(
        format!("it is due, and nothing keeps it: {by}{before}"),
        format!(
            "if it does not move, look at the rate and concurrency of {name}, whether others share its host, and at the relay's \
             log"
        ),
    )
}
