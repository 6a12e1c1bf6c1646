//! The breaker's rules as sentences, and against a model over many random steps.

use proptest::prelude::*;

use super::*;

const POLICY: BreakerPolicy = BreakerPolicy {
    failing_share: 0.5,
    window: Duration::from_secs(30),
    min_requests: 20,
    open_for: Duration::from_secs(15),
};

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A breaker that opened at `now`.
fn opened(now: Duration) -> Breaker {
    let mut breaker = Breaker::closed(POLICY);
    let changes = (0..20).map(|_| breaker.came_back(Kind::Regular, Verdict::Fails, now));
    assert_eq!(changes.last(), Some(Some(Change::Opened)));
    breaker
}

#[test]
fn it_opens_at_the_failing_share_and_not_before() {
    let mut breaker = Breaker::closed(POLICY);
    for _ in 0..10 {
        assert_eq!(breaker.came_back(Kind::Regular, Verdict::Works, at(1)), None);
    }
    for _ in 0..9 {
        assert_eq!(breaker.came_back(Kind::Regular, Verdict::Fails, at(2)), None);
    }
    assert_eq!(breaker.permission(at(2)), Permission::All);
    assert_eq!(
        breaker.came_back(Kind::Regular, Verdict::Fails, at(2)),
        Some(Change::Opened)
    );
    assert_eq!(breaker.permission(at(3)), Permission::Nothing(Some(at(17))));
}

#[test]
fn what_lies_before_the_window_does_not_count() {
    let mut breaker = Breaker::closed(POLICY);
    for _ in 0..19 {
        breaker.came_back(Kind::Regular, Verdict::Fails, at(1));
    }
    assert_eq!(breaker.came_back(Kind::Regular, Verdict::Fails, at(32)), None);
}

#[test]
fn a_request_to_wait_neither_opens_nor_closes_it() {
    let mut breaker = Breaker::closed(POLICY);
    for _ in 0..100 {
        assert_eq!(breaker.came_back(Kind::Regular, Verdict::Neither, at(1)), None);
    }
    let mut breaker = opened(at(1));
    breaker.probing();
    assert_eq!(breaker.came_back(Kind::Probe, Verdict::Neither, at(20)), None);
    assert_eq!(breaker.permission(at(20)), Permission::Probe);
}

#[test]
fn a_probe_that_works_closes_it_and_the_past_is_forgotten() {
    let mut breaker = opened(at(1));
    assert_eq!(breaker.permission(at(16)), Permission::Probe);
    breaker.probing();
    assert_eq!(
        breaker.permission(at(99)),
        Permission::Nothing(None),
        "one at a time"
    );
    assert_eq!(
        breaker.came_back(Kind::Probe, Verdict::Works, at(17)),
        Some(Change::Closed)
    );
    assert_eq!(breaker.came_back(Kind::Regular, Verdict::Fails, at(17)), None);
    assert!(breaker.is_closed());
}

#[test]
fn a_probe_that_fails_holds_it_open_as_long_again() {
    let mut breaker = opened(at(1));
    breaker.probing();
    assert_eq!(breaker.came_back(Kind::Probe, Verdict::Fails, at(20)), None);
    assert_eq!(breaker.permission(at(34)), Permission::Nothing(Some(at(35))));
    assert_eq!(breaker.permission(at(35)), Permission::Probe);
}

#[test]
fn what_was_on_the_wire_when_it_opened_changes_nothing() {
    let mut breaker = opened(at(1));
    for verdict in [Verdict::Works, Verdict::Fails] {
        assert_eq!(breaker.came_back(Kind::Regular, verdict, at(2)), None);
        assert_eq!(breaker.permission(at(2)), Permission::Nothing(Some(at(16))));
    }
    breaker.probing();
    assert_eq!(breaker.came_back(Kind::Regular, Verdict::Works, at(17)), None);
    assert_eq!(breaker.permission(at(17)), Permission::Nothing(None));
}

#[test]
fn one_that_was_open_when_its_shard_changed_hands_probes_first() {
    assert_eq!(Breaker::open(POLICY).permission(at(0)), Permission::Probe);
}

#[test]
fn a_changed_policy_leaves_it_open() {
    let other = BreakerPolicy {
        open_for: at(1),
        ..POLICY
    };
    let breaker = opened(at(1)).under(other);
    assert_eq!(breaker.permission(at(2)), Permission::Nothing(Some(at(16))));
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Pass(u64),
    Send,
    Return(Verdict),
}

fn step() -> impl Strategy<Value = Step> {
    let verdict = prop_oneof![
        1 => Just(Verdict::Works),
        4 => Just(Verdict::Fails),
        1 => Just(Verdict::Neither),
    ];
    prop_oneof![
        1 => (0..20_u64).prop_map(Step::Pass),
        3 => Just(Step::Send),
        3 => verdict.prop_map(Step::Return),
    ]
}

proptest! {
    #[test]
    fn while_it_is_open_one_probe_at_a_time_goes_and_none_before_its_time(
        steps in proptest::collection::vec(step(), 1..500)
    ) {
        let policy = BreakerPolicy { min_requests: 3, ..POLICY };
        let mut breaker = Breaker::closed(policy);
        let mut now = at(0);
        let mut on_wire: Vec<Kind> = vec![];
        let mut closed_until: Option<Duration> = None;
        for step in steps {
            match step {
                Step::Pass(seconds) => now += at(seconds),
                Step::Send => match breaker.permission(now) {
                    Permission::All => on_wire.push(Kind::Regular),
                    Permission::Probe => {
                        prop_assert!(!on_wire.contains(&Kind::Probe));
                        prop_assert!(closed_until.is_none_or(|until| now >= until));
                        breaker.probing();
                        on_wire.push(Kind::Probe);
                    }
                    Permission::Nothing(Some(until)) => prop_assert!(now < until && until <= now + POLICY.open_for),
                    Permission::Nothing(None) => prop_assert!(on_wire.contains(&Kind::Probe)),
                },
                Step::Return(verdict) => {
                    let Some(kind) = on_wire.pop() else { continue };
                    let was_closed = breaker.is_closed();
                    match breaker.came_back(kind, verdict, now) {
                        Some(Change::Opened) => {
                            prop_assert!(was_closed && verdict == Verdict::Fails);
                            closed_until = Some(now + policy.open_for);
                        }
                        Some(Change::Closed) => {
                            prop_assert!(kind == Kind::Probe && verdict == Verdict::Works);
                            closed_until = None;
                        }
                        None if kind == Kind::Probe && verdict == Verdict::Fails => {
                            closed_until = Some(now + policy.open_for);
                        }
                        None => prop_assert_eq!(was_closed, breaker.is_closed()),
                    }
                }
            }
        }
        // Whatever happened, a receiver that is back is found again.
        on_wire.clear();
        now += POLICY.open_for;
        if !breaker.is_closed() {
            breaker.probing();
            prop_assert_eq!(breaker.came_back(Kind::Probe, Verdict::Works, now), Some(Change::Closed));
        }
        prop_assert_eq!(breaker.permission(now), Permission::All);
    }
}
