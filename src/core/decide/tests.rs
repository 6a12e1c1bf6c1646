//! Every outcome, in every standing: what must follow, and what may never follow.

use std::time::Duration;

use proptest::prelude::*;

use super::{CancelRequest, Counts, Decision, Hold, Standing, Transition, decide, may_send};
use crate::core::delivery::{REASONS, Reason, State};
use crate::core::limit::breaker::Kind;
use crate::core::outcome::{Outcome, Refusal, Scope};
use crate::core::policy::{IdempotencyWindow, Policy, RetryPolicy, UncertainPolicy};
use crate::core::time::Timestamp;

const NOW: Timestamp = Timestamp::from_micros(1_000_000_000_000);

fn standing(attempts: u32) -> Standing {
    Standing {
        attempts,
        excused: 0,
        owed_at: NOW,
        unknown_since: None,
        cancel: CancelRequest::None,
        sent_as: Kind::Regular,
    }
}

fn after(outcome: &Outcome, standing: &Standing) -> Decision {
    decide(outcome, standing, NOW, &Policy::default(), 0.5)
}

fn any_outcome() -> impl Strategy<Value = Outcome> {
    let refusal = prop_oneof![
        Just(Refusal::Retryable),
        Just(Refusal::Final),
        Just(Refusal::Stored),
        Just(Refusal::Gone),
        Just(Refusal::Together),
        Just(Refusal::Alone),
        Just(Refusal::NotRenderable)
    ];
    let throttled = (
        prop_oneof![Just(Scope::Row), Just(Scope::Destination)],
        proptest::option::of(0..u64::MAX / 2),
    )
        .prop_map(|(scope, secs)| Outcome::Throttled {
            scope,
            retry_after: secs.map(Duration::from_secs),
        });
    prop_oneof![
        Just(Outcome::Accepted),
        throttled,
        refusal.prop_map(Outcome::Refused),
        Just(Outcome::Unreachable),
        Just(Outcome::Unknown),
    ]
}

fn any_policy() -> impl Strategy<Value = Policy> {
    (
        1..100_000_u64,
        1.0..10.0_f64,
        1..10_000_000_u64,
        1..60_u32,
        1..1_000_000_u64,
        any::<(bool, bool)>(),
    )
        .prop_map(
            |(first, factor, max_delay, max_attempts, max_age, (hold, unbounded))| Policy {
                retry: RetryPolicy {
                    first: Duration::from_millis(first),
                    factor,
                    max_delay: Duration::from_millis(max_delay),
                    max_attempts,
                    max_age: Duration::from_secs(max_age),
                    ..RetryPolicy::default()
                },
                uncertain: if hold {
                    UncertainPolicy::Hold
                } else {
                    UncertainPolicy::Resend
                },
                idempotency_window: if unbounded {
                    IdempotencyWindow::Unbounded
                } else {
                    IdempotencyWindow::For(Duration::from_hours(24))
                },
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_retry_lies_in_the_future_and_is_bounded(
        outcome in any_outcome(), policy in any_policy(), attempts in 1..100_u32, jitter in 0.0..=1.0_f64,
    ) {
        let decision = decide(&outcome, &standing(attempts), NOW, &policy, jitter);
        if let Transition::Retry { after, .. } = decision.transition {
            let asked = matches!(outcome, Outcome::Throttled { retry_after: Some(_), .. });
            prop_assert!(asked || after >= Duration::from_millis(1));
            let longest = policy.retry.max_delay.max(policy.retry.max_retry_after).max(Duration::from_secs(1));
            prop_assert!(after <= longest);
        }
    }

    #[test]
    fn a_retry_after_is_never_undercut(
        policy in any_policy(), secs in 0..86_400_u64, jitter in 0.0..=1.0_f64, attempts in 1..100_u32,
    ) {
        let asked = Duration::from_secs(secs);
        let outcome = Outcome::Throttled { scope: Scope::Destination, retry_after: Some(asked) };
        let decision = decide(&outcome, &standing(attempts), NOW, &policy, jitter);
        if let Transition::Retry { after, counts } = decision.transition {
            prop_assert_eq!(counts, Counts::Excused);
            prop_assert!(after >= asked);
        }
        prop_assert!(matches!(decision.hold, Hold::For(span) if span >= asked));
    }

    #[test]
    fn every_delivery_ends(
        policy in any_policy(), outcomes in proptest::collection::vec(any_outcome(), 1..20), jitter in 0.0..=1.0_f64,
        sent_as in prop_oneof![Just(Kind::Regular), Just(Kind::Probe)],
    ) {
        let (mut now, mut attempts, mut excused, mut unknown_since) = (NOW, 0, 0, None);
        for outcome in outcomes.iter().cycle().take(200_000) {
            attempts += 1;
            if *outcome == Outcome::Unknown {
                unknown_since = unknown_since.or(Some(now));
            }
            let standing = Standing { attempts, excused, unknown_since, sent_as, ..standing(attempts) };
            match decide(outcome, &standing, now, &policy, jitter).transition {
                Transition::End(_) => return Ok(()),
                Transition::Retry { after, counts } => {
                    now = now.plus(after.max(Duration::from_secs(10)));
                    excused += u32::from(counts == Counts::Excused);
                }
            }
        }
        prop_assert!(false, "two hundred thousand attempts, and no end");
    }

    #[test]
    fn only_an_acceptance_delivers(outcome in any_outcome(), policy in any_policy(), attempts in 1..100_u32) {
        let transition = decide(&outcome, &standing(attempts), NOW, &policy, 0.5).transition;
        let delivered = transition == Transition::End(Reason::Accepted);
        prop_assert_eq!(delivered, outcome == Outcome::Accepted);
    }

    #[test]
    fn an_unknown_outcome_is_never_resent_outside_the_window(
        policy in any_policy(), age in 0..200_000_u64, jitter in 0.0..=1.0_f64, attempts in 1..100_u32,
    ) {
        let since = Timestamp::from_micros(NOW.as_micros() - i64::try_from(age * 1_000_000).unwrap());
        let standing = Standing { unknown_since: Some(since), ..standing(attempts) };
        if let Transition::Retry { after, .. } = decide(&Outcome::Unreachable, &standing, NOW, &policy, jitter).transition {
            prop_assert_eq!(policy.uncertain, UncertainPolicy::Resend);
            prop_assert!(!policy.idempotency_window.is_over(since, NOW.plus(after)));
            prop_assert!(may_send(Some(since), NOW.plus(after), &policy).is_ok());
        }
    }
}

#[test]
fn where_a_repetition_is_harmless_for_ever_no_window_makes_a_delivery_uncertain() {
    let days_ago = Timestamp::from_micros(NOW.as_micros() - 3 * 86_400_000_000);
    let policy = |idempotency_window, uncertain| Policy {
        uncertain,
        idempotency_window,
        ..Policy::default()
    };
    let may = |policy: &Policy| {
        let unknown = Standing {
            unknown_since: Some(days_ago),
            ..standing(3)
        };
        let transition = decide(&Outcome::Unknown, &unknown, NOW, policy, 0.5).transition;
        (may_send(Some(days_ago), NOW, policy), transition)
    };
    let upsert = may(&policy(IdempotencyWindow::Unbounded, UncertainPolicy::Resend));
    assert!(matches!(upsert, (Ok(()), Transition::Retry { .. })), "{upsert:?}");
    let a_day = IdempotencyWindow::For(Duration::from_hours(24));
    let passed = Reason::WindowPassed;
    assert_eq!(
        may(&policy(a_day, UncertainPolicy::Resend)),
        (Err(passed), Transition::End(passed))
    );
    let asked_to_hold = Reason::OutcomeUnknown;
    assert_eq!(
        may(&policy(IdempotencyWindow::Unbounded, UncertainPolicy::Hold)),
        (Err(asked_to_hold), Transition::End(asked_to_hold))
    );
}

#[test]
fn three_attempts_at_most_means_three_requests() {
    let policy = Policy {
        retry: RetryPolicy {
            max_attempts: 3,
            ..RetryPolicy::default()
        },
        ..Policy::default()
    };
    let at = |attempts| decide(&Outcome::Unreachable, &standing(attempts), NOW, &policy, 1.0).transition;
    assert!(matches!(at(1), Transition::Retry { .. }));
    assert!(matches!(at(2), Transition::Retry { .. }));
    assert_eq!(at(3), Transition::End(Reason::AttemptsExhausted));
}

#[test]
fn throttled_attempts_do_not_count() {
    let policy = Policy {
        retry: RetryPolicy {
            max_attempts: 3,
            ..RetryPolicy::default()
        },
        ..Policy::default()
    };
    let excused = Standing {
        excused: 7,
        ..standing(9)
    };
    assert!(matches!(
        decide(&Outcome::Unreachable, &excused, NOW, &policy, 1.0).transition,
        Transition::Retry { .. }
    ));
}

#[test]
fn a_probe_is_not_the_last_attempt_of_its_row() {
    let max_attempts = Policy::default().retry.max_attempts;
    let probe = |sent_as| Standing {
        sent_as,
        ..standing(max_attempts)
    };
    for outcome in [Outcome::Unreachable, Outcome::Unknown] {
        let counts = |sent_as| match after(&outcome, &probe(sent_as)).transition {
            Transition::Retry { counts, .. } => Some(counts),
            Transition::End(_) => None,
        };
        assert_eq!(counts(Kind::Regular), None);
        assert_eq!(counts(Kind::Probe), Some(Counts::Excused));
    }
    let refused = Outcome::Refused(Refusal::Final);
    assert_eq!(
        after(&refused, &probe(Kind::Probe)).transition,
        Transition::End(Reason::Refused)
    );
}

#[test]
fn a_cancel_takes_effect_at_the_settle_unless_the_receiver_took_the_row() {
    let cancelled = Standing {
        cancel: CancelRequest::Requested,
        ..standing(1)
    };
    assert_eq!(
        after(&Outcome::Accepted, &cancelled).transition,
        Transition::End(Reason::Accepted)
    );
    assert_eq!(
        after(&Outcome::Unknown, &cancelled).transition,
        Transition::End(Reason::Operator)
    );
}

#[test]
fn a_receiver_that_is_gone_pauses_the_destination_and_costs_no_attempt() {
    let decision = after(&Outcome::Refused(Refusal::Gone), &standing(1));
    assert_eq!(decision.hold, Hold::Pause);
    assert!(matches!(
        decision.transition,
        Transition::Retry {
            counts: Counts::Excused,
            ..
        }
    ));
}

#[test]
fn a_row_that_was_only_refused_with_others_is_due_at_once_and_costs_no_attempt() {
    for refusal in [Refusal::Together, Refusal::Alone] {
        let decision = after(&Outcome::Refused(refusal), &standing(1_000));
        let at_once = Transition::Retry {
            after: Duration::from_millis(1),
            counts: Counts::Excused,
        };
        assert_eq!((decision.transition, decision.hold), (at_once, Hold::None));
    }
}

#[test]
fn a_row_of_which_no_request_can_be_made_is_dead_and_the_reason_says_so() {
    let transition = after(&Outcome::Refused(Refusal::NotRenderable), &standing(1)).transition;
    assert_eq!(transition, Transition::End(Reason::NotRenderable));
}

#[test]
fn a_refusal_for_good_is_dead_at_once_and_a_stored_failure_says_so() {
    assert_eq!(
        after(&Outcome::Refused(Refusal::Final), &standing(1)).transition,
        Transition::End(Reason::Refused)
    );
    let stored = after(&Outcome::Refused(Refusal::Stored), &standing(1)).transition;
    assert_eq!(stored, Transition::End(Reason::StoredFailure));
}

#[test]
fn a_delivery_that_is_too_old_is_dead_at_its_next_failure() {
    let old = Standing {
        owed_at: Timestamp::from_micros(0),
        ..standing(1)
    };
    assert_eq!(
        after(&Outcome::Unreachable, &old).transition,
        Transition::End(Reason::AgeExhausted)
    );
}

#[test]
fn every_reason_explains_the_state_that_the_table_says() {
    for (reason, state) in REASONS {
        assert_eq!(reason.state(), state, "{reason}");
        assert_ne!(state, State::Pending, "{reason}");
    }
}
