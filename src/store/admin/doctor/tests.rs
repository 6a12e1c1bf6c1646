//! Each thing that keeps a row is said in words, with its way out.

use std::time::Duration;

use super::facts::{Configured, DestinationFacts, Facts, Holder, Kin, Sender};
use super::findings::{findings, next};
use super::{Expected, Finding};
use crate::core::delivery::{REASONS, Reason, State};
use crate::core::limit::usage::Usage;
use crate::core::row::Op;
use crate::core::time::Timestamp;
use crate::store::admin::deliveries::Delivery;
use crate::store::admin::delivery::{Attempt, InFlight};
use crate::store::admin::filter::DeliveryId;
use crate::store::admin::pauses::Pause;
use crate::store::{Failing, NotedUsage};

const NOW: Timestamp = Timestamp::from_micros(1_796_000_000_000_000);

fn ago(seconds: i64) -> Timestamp {
    Timestamp::from_micros(NOW.as_micros() - seconds * 1_000_000)
}

/// An order that is due now, which a relay that lives dispatches and nothing keeps.
fn due() -> Facts {
    Facts {
        now: NOW,
        delivery: Delivery {
            id: DeliveryId {
                outbox_id: 7,
                destination: "crm".to_owned(),
            },
            state: State::Pending,
            reason: None,
            topic: "orders".to_owned(),
            row_key: "o-7".to_owned(),
            row_version: None,
            op: Op::Event,
            created_at: ago(60),
            attempts: 0,
            key_epoch: 0,
            due_at: Some(ago(60)),
            owed_at: Some(ago(60)),
            unknown_since: None,
            cancel_at: None,
            settled_at: None,
        },
        routes: vec![],
        destination: DestinationFacts {
            configured: Configured::As(Expected::default()),
            pause: None,
            failing: None,
            usage: None,
            holder: Holder::Relay {
                id: "relay-1".to_owned(),
                beat_at: ago(1),
            },
        },
        last_attempt: None,
        in_flight: None,
        sender: Sender::Lives,
        kin: Kin::default(),
        excused: 0,
        before: 0,
    }
}

fn ended(reason: Reason) -> Facts {
    let mut facts = due();
    facts.delivery.state = reason.state();
    facts.delivery.reason = Some(reason);
    facts.delivery.settled_at = Some(ago(120));
    facts.delivery.attempts = 2;
    facts.last_attempt = Some(refused());
    facts
}

fn refused() -> Attempt {
    Attempt {
        number: 2,
        key_epoch: 0,
        lease_epoch: 1,
        outcome: "refused".to_owned(),
        http_status: Some(500),
        started_at: ago(121),
        duration_us: 1_000,
        key: None,
        body_digest: None,
        detail: Some("HTTP 500: the server failed".to_owned()),
        excerpt: None,
    }
}

/// Everything that is said, on lines.
fn said(facts: &Facts) -> String {
    let lines = findings(facts)
        .into_iter()
        .flat_map(|Finding { sentence, way_out }| [Some(sentence), way_out]);
    lines.flatten().collect::<Vec<_>>().join("\n")
}

/// Changes what is due, and holds the first thing that is said against what it must hold.
fn first(change: impl FnOnce(&mut Facts), parts: &[&str]) {
    let mut facts = due();
    change(&mut facts);
    let first = findings(&facts).swap_remove(0);
    let told = format!("{}\n{}", first.sentence, first.way_out.unwrap_or_default());
    for part in parts {
        assert!(told.contains(part), "{part:?} is not in: {told}");
    }
}

#[test]
fn what_nothing_keeps_is_said_to_be_next() {
    first(|_| {}, &["it is due, and nothing keeps it", "relay-1", "1s ago"]);
    first(|facts| facts.before = 3, &["3 deliveries are owed before it"]);
    first(|facts| facts.before = 1_000, &["a thousand deliveries or more"]);
}

#[test]
fn a_destination_that_fails_is_named_and_how_often_its_breaker_looks() {
    let failing = Failing {
        since: ago(600),
        breaker_opened_at: Some(ago(300)),
        dying_from: NOW.plus(Duration::from_hours(72)),
        detail: "HTTP 502".to_owned(),
    };
    let breaker = failing.clone();
    first(
        |facts| facts.destination.failing = Some(breaker),
        &[
            "the breaker of crm is open",
            "HTTP 502",
            "now and then a single row looks",
            "aftercommit test crm",
        ],
    );
    let (breaker, looking) = (
        failing.clone(),
        Expected {
            looks_every: Some(Duration::from_secs(15)),
            ..Expected::default()
        },
    );
    first(
        |facts| {
            facts.destination.failing = Some(breaker);
            facts.destination.configured = Configured::As(looking);
        },
        &[
            "It goes on by itself: every 15s a single row looks",
            "do not die of waiting",
        ],
    );
    let closed = Failing {
        breaker_opened_at: None,
        ..failing
    };
    first(
        |facts| facts.destination.failing = Some(closed),
        &["no request to crm has worked since"],
    );
}

#[test]
fn whatever_keeps_a_row_is_named_with_the_way_out() {
    first(
        |facts| facts.delivery.id.destination.clear(),
        &["`orders` has no route", "aftercommit apply"],
    );
    first(
        |facts| {
            facts.delivery.id.destination.clear();
            facts.routes = vec!["crm".to_owned()];
        },
        &["`orders` is routed to crm by now", "relay-1, which keeps house"],
    );
    first(
        |facts| {
            facts.delivery.id.destination.clear();
            facts.routes = vec!["crm".to_owned()];
            facts.destination.holder = Holder::Nobody { live_relays: 1 };
        },
        &["no relay keeps house"],
    );
    first(
        |facts| facts.destination.configured = Configured::Missing,
        &["crm is not in the configuration", "configure crm again"],
    );
    let pause = Pause {
        at: ago(3_600),
        by: "ada".to_owned(),
        reason: "maintenance".to_owned(),
    };
    first(
        |facts| facts.destination.pause = Some(pause),
        &["by ada: maintenance", "1h ago", "aftercommit resume crm"],
    );
    first(
        |facts| facts.destination.holder = Holder::Nobody { live_relays: 0 },
        &["no relay runs", "aftercommit run"],
    );
    first(
        |facts| facts.destination.holder = Holder::Nobody { live_relays: 2 },
        &["nobody holds the lease"],
    );
    let dead = Holder::Silent {
        id: "relay-2".to_owned(),
        beat_at: Some(ago(90)),
    };
    first(
        |facts| facts.destination.holder = dead,
        &["relay-2", "heard of last", "1m ago", "takes it over"],
    );
    let usage = NotedUsage {
        usage: Usage {
            used: 96,
            allowed: 100,
            reserve: 5,
        },
        heard_at: ago(5),
    };
    first(
        |facts| facts.destination.usage = Some(usage),
        &["96 of 100 daily calls", "kept for others"],
    );
    first(
        |facts| facts.delivery.cancel_at = Some(ago(2)),
        &["asked at", "to cancel it"],
    );
}

#[test]
fn what_is_in_flight_comes_before_whatever_keeps_it_afterwards() {
    let in_flight = InFlight {
        since: ago(3),
        relay: "relay-1".to_owned(),
        job: None,
        rendering: 1,
    };
    let mut facts = due();
    facts.in_flight = Some(in_flight.clone());
    facts.destination.pause = Some(Pause {
        at: ago(1),
        by: "ada".to_owned(),
        reason: "x".to_owned(),
    });
    let sentences: Vec<_> = findings(&facts)
        .into_iter()
        .map(|finding| finding.sentence)
        .collect();
    assert!(
        sentences[0].starts_with("attempt 1 is in flight since "),
        "{sentences:?}"
    );
    assert!(sentences[1].contains("is paused since"), "{sentences:?}");

    facts.sender = Sender::Silent;
    assert!(said(&facts).contains("fallen silent"), "{}", said(&facts));
    let job = InFlight {
        job: Some("750A".to_owned()),
        ..in_flight
    };
    first(
        |facts| facts.in_flight = Some(job),
        &["by job 750A", "relay-1 asks after it"],
    );
}

#[test]
fn a_row_waits_for_its_kin_only_as_its_order_says() {
    let kin = Kin {
        ahead: 2,
        first_owed: Some(3),
        first_unknown: Some(4),
        first_uncertain: Some(2),
        ..Kin::default()
    };
    let mut facts = due();
    facts.kin = kin.clone();
    let event = said(&facts);
    assert!(
        event.contains("its row key is held by 2:crm, which is uncertain"),
        "{event}"
    );
    assert!(
        event.contains("it waits behind 2 older deliveries of its row key; the first is 3:crm"),
        "{event}"
    );
    facts.delivery.op = Op::Upsert;
    let state = said(&facts);
    assert!(
        state.contains("an older version of the row, 4:crm, may be on its way"),
        "{state}"
    );
    assert!(!state.contains("2:crm"), "{state}");
    facts.destination.configured = Configured::As(Expected {
        order: Some(crate::core::queue::OrderMode::Independent),
        ..Expected::default()
    });
    assert!(said(&facts).contains("nothing keeps it"), "{}", said(&facts));

    let newer = Kin {
        newest: Some(9),
        behind: 1,
        newest_owed: Some(9),
        ..Kin::default()
    };
    facts.destination.configured = Configured::Silent;
    facts.kin = newer;
    assert!(
        said(&facts).contains("9:crm: this one ends as superseded"),
        "{}",
        said(&facts)
    );
    facts.delivery.unknown_since = Some(ago(9));
    assert!(
        !said(&facts).contains("superseded"),
        "what may have arrived is settled first: {}",
        said(&facts)
    );
}

#[test]
fn a_retry_says_when_which_and_after_what() {
    let mut facts = due();
    facts.delivery.attempts = 2;
    facts.excused = 1;
    facts.delivery.due_at = Some(NOW.plus(Duration::from_mins(4)));
    facts.last_attempt = Some(refused());
    let told = said(&facts);
    for part in [
        "(in 4m) for attempt 3 (15 of 16 that count are left, and it is given up 3d after it was owed)",
        "attempt 2 failed with HTTP 500",
        "the server failed",
        "aftercommit retry-now 7:crm",
    ] {
        assert!(told.contains(part), "{part:?} is not in: {told}");
    }
    let coming = next(&facts);
    assert_eq!(coming.due_at, facts.delivery.due_at);
    assert!(coming.sentence.starts_with("it waits until"), "{coming:?}");
}

#[test]
fn every_end_says_why_and_what_then_and_nothing_comes_after_it() {
    for (reason, state) in REASONS {
        let facts = ended(reason);
        let findings = findings(&facts);
        assert!(findings[0].sentence.contains("2m ago"), "{reason}: {findings:?}");
        let needs_a_person = matches!(state, State::Dead | State::Uncertain);
        assert_eq!(
            findings[0].way_out.is_some(),
            needs_a_person,
            "{reason}: {findings:?}"
        );
        assert_eq!(next(&facts).due_at, None);
    }
    assert!(said(&ended(Reason::StoredFailure)).contains("--key new"));
    assert!(said(&ended(Reason::NotCanonical)).contains("commit it again"));
}

#[test]
fn an_end_names_its_time_once_and_that_of_an_attempt_long_before_it_too() {
    let mut facts = ended(Reason::AttemptsExhausted);
    let sentence = next(&facts).sentence;
    assert_eq!(sentence.matches("UTC").count(), 1, "{sentence}");
    assert_eq!(sentence.matches("HTTP 500").count(), 1, "{sentence}");
    facts.delivery.settled_at = Some(ago(10));
    let sentence = next(&facts).sentence;
    assert!(
        sentence.contains("10s ago") && sentence.contains("2m ago"),
        "{sentence}"
    );
}

#[test]
fn what_waits_for_a_person_says_what_waits_with_it() {
    let mut facts = ended(Reason::OutcomeUnknown);
    facts.kin.behind = 4;
    assert!(
        said(&facts).contains("4 later deliveries of its row key wait until then"),
        "{}",
        said(&facts)
    );
    facts.delivery.op = Op::Upsert;
    assert!(
        !said(&facts).contains("later deliveries"),
        "a newer version goes on: {}",
        said(&facts)
    );
}
