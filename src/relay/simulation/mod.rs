//! The lease protocol with 64 relays in one process: seeded chance, simulated time, the real `balance` and `Vitals`.
//!
//! Relays join, leave, die and stand still; statements commit though their caller never hears of it, or late; clocks run
//! apart and jump as far as the margin allows; the number of shards changes. What must hold is checked at every step. Then
//! each guard is taken away in turn, and the simulation must find what it is good for.

mod acting;
mod committing;
mod process;
mod tables;
mod world;

use world::{Broken, World};

/// A guard that a run does without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Guard {
    /// A lease is not taken from an owner whose heart beats.
    LiveCheck,
    /// Each change of hands has an epoch of its own.
    EpochGrows,
    /// A relay believes in its leases a little less long than the others do.
    Margin,
    /// What was made ready before a gap in the heartbeats is not sent after it.
    Term,
    /// A request must end before the lease can.
    Outlives,
    /// A lease that the database calls a relay's, and that it does not dispatch, is given back.
    Dangling,
}

#[test]
fn sixty_four_relays_never_own_one_epoch_twice_and_share_evenly() {
    for seed in seeds(3) {
        let sent = World::new(seed, None).run().unwrap_or_else(|broken| {
            panic!("{broken}; AFTERCOMMIT_SEED={seed} shows it again");
        });
        assert!(
            sent > 1_000,
            "seed {seed}: only {sent} requests, which proves little"
        );
    }
}

#[test]
fn without_a_look_at_whether_the_owner_lives_a_request_meets_anothers() {
    assert!(missed(Guard::LiveCheck, |broken| matches!(
        broken,
        Broken::Request(_)
    )));
}

#[test]
fn without_a_new_epoch_two_own_the_same() {
    assert!(missed(Guard::EpochGrows, |broken| matches!(
        broken,
        Broken::Ownership(_)
    )));
}

#[test]
fn without_a_margin_clocks_that_run_apart_let_a_request_outlive_its_lease() {
    assert!(missed(Guard::Margin, |broken| matches!(
        broken,
        Broken::Request(_)
    )));
}

#[test]
fn without_terms_a_relay_that_wakes_up_sends_what_another_has_taken_over() {
    assert!(missed(Guard::Term, |broken| matches!(broken, Broken::Request(_))));
}

#[test]
fn without_the_look_at_the_time_out_a_request_outlives_its_lease() {
    assert!(missed(Guard::Outlives, |broken| matches!(
        broken,
        Broken::Request(_)
    )));
}

#[test]
fn without_giving_back_what_is_not_dispatched_a_shard_stays_without_an_owner_at_work() {
    assert!(missed(Guard::Dangling, |broken| matches!(
        broken,
        Broken::Sharing(_)
    )));
}

/// Whether something of this kind goes wrong without the guard.
fn missed(guard: Guard, kind: impl Fn(&Broken) -> bool) -> bool {
    (1..=40).any(|seed| {
        World::new(seed, Some(guard))
            .run()
            .is_err_and(|broken| kind(&broken))
    })
}

/// One that the environment names, or as many as asked for, fresh ones.
fn seeds(count: usize) -> Vec<u64> {
    if let Ok(seed) = std::env::var("AFTERCOMMIT_SEED") {
        return vec![seed.parse().unwrap()];
    }
    let fresh = || uuid::Uuid::new_v4().as_u64_pair().0;
    std::iter::repeat_with(fresh).take(count).collect()
}
