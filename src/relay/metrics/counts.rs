//! The counters of one destination, and how a record is counted into them.

use std::sync::Arc;
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;

use crate::core::delivery::{Reason, State};
use crate::core::outcome::Outcome;
use crate::relay::limits::Limits;
use crate::store::{Recorded, Settlement, SettlementKind};

/// The word of each outcome, in the order of [`place`].
pub(super) const OUTCOMES: [&str; 5] = ["accepted", "throttled", "refused", "unreachable", "unknown"];

/// The states that a settlement can bring about.
pub(super) const ENDS: [State; 5] = [
    State::Delivered,
    State::Dead,
    State::Uncertain,
    State::Superseded,
    State::Cancelled,
];

/// Everything that is counted of one destination.
#[derive(Debug)]
pub(super) struct Counts {
    /// By outcome, in the order of [`OUTCOMES`].
    pub(super) attempts: [Counter; 5],
    /// By state, in the order of [`ENDS`].
    pub(super) settled: [Counter; 5],
    pub(super) latency: Histogram,
    pub(super) settle_batch: Histogram,
    pub(super) breakers_open: Gauge,
}

/// The counters as one shard of the destination uses them.
#[derive(Debug)]
pub(in crate::relay) struct ShardCounts {
    of: Arc<Counts>,
    breaker_is_open: bool,
}

impl Counts {
    pub(super) fn delivered(&self) -> u64 {
        let [delivered, ..] = &self.settled;
        delivered.get()
    }

    pub(super) fn failed(&self) -> u64 {
        let [_accepted, failed @ ..] = &self.attempts;
        failed.iter().map(Counter::get).sum()
    }
}

impl ShardCounts {
    pub(super) fn new(of: Arc<Counts>) -> Self {
        Self {
            of,
            breaker_is_open: false,
        }
    }

    /// What a record settled, now that it is committed.
    pub(in crate::relay) fn settled(&self, settlements: &[Settlement], recorded: &Recorded) {
        let counted = Counted::of(settlements, recorded);
        if counted.settlements == 0 {
            return;
        }
        for (counter, more) in self.of.attempts.iter().zip(counted.attempts) {
            add(counter, more);
        }
        for (counter, more) in self.of.settled.iter().zip(counted.settled) {
            add(counter, more);
        }
        self.of.settle_batch.observe(f64::from(counted.settlements));
    }

    /// A row was accepted so long after its delivery was owed.
    pub(in crate::relay) fn accepted_after(&self, latency: Duration) {
        self.of.latency.observe(latency.as_secs_f64());
    }

    /// Looks whether the breaker of the shard is open now.
    pub(in crate::relay) fn look_at_breaker(&mut self, limits: &Limits) {
        match (self.breaker_is_open, limits.is_open()) {
            (false, true) => self.of.breakers_open.inc(),
            (true, false) => self.of.breakers_open.dec(),
            _ => return,
        };
        self.breaker_is_open = limits.is_open();
    }
}

impl Drop for ShardCounts {
    /// Another process looks after the shard now, or nobody.
    fn drop(&mut self) {
        if self.breaker_is_open {
            self.of.breakers_open.dec();
        }
    }
}

/// A record, counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Counted {
    attempts: [u32; 5],
    settled: [u32; 5],
    settlements: u32,
}

impl Counted {
    fn of(settlements: &[Settlement], recorded: &Recorded) -> Self {
        let mut counted = Self::default();
        // A success needs no lease; without one, nothing else was written.
        let written =
            |one: &&Settlement| recorded.leased || one.kind == SettlementKind::End(Reason::Accepted);
        for settlement in settlements.iter().filter(written) {
            counted.settlements += 1;
            if let Some(attempt) = &settlement.attempt {
                counted.attempts[place(&attempt.report.outcome)] += 1;
            }
            let end = match settlement.kind {
                SettlementKind::End(reason) => reason.state(),
                SettlementKind::SupersedeUncertain => State::Superseded,
                SettlementKind::Retry { .. } => continue,
            };
            if let Some(place) = ENDS.iter().position(|state| *state == end) {
                counted.settled[place] += 1;
            }
        }
        counted
    }
}

fn add(counter: &Counter, more: u32) {
    if more > 0 {
        counter.inc_by(u64::from(more));
    }
}

fn place(outcome: &Outcome) -> usize {
    match outcome {
        Outcome::Accepted => 0,
        Outcome::Throttled { .. } => 1,
        Outcome::Refused(_) => 2,
        Outcome::Unreachable => 3,
        Outcome::Unknown => 4,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::core::decide::Counts as Whether;
    use crate::core::outcome::{Refusal, Report};
    use crate::core::time::Timestamp;
    use crate::store::EndedAttempt;

    fn settlement(outcome: Option<Outcome>, kind: SettlementKind) -> Settlement {
        Settlement {
            outbox_id: 1,
            key_epoch: 0,
            attempts_before: 0,
            attempt: outcome.map(|outcome| EndedAttempt {
                number: 1,
                started_at: Timestamp::from_micros(0),
                rendering: 1,
                key: None,
                report: Report::unanswered(outcome, String::new()),
            }),
            kind,
        }
    }

    fn recorded(leased: bool) -> Recorded {
        Recorded {
            now: Timestamp::from_micros(0),
            begun: vec![],
            overtaken: vec![],
            leased,
            paused: false,
        }
    }

    #[test]
    fn a_record_is_counted_by_outcomes_and_ends_and_without_the_lease_by_its_successes_alone() {
        let retry = SettlementKind::Retry {
            after: Duration::from_secs(1),
            counts: Whether::Yes,
            unknown_since: None,
        };
        let refused = Outcome::Refused(Refusal::Final);
        let settlements = [
            settlement(Some(Outcome::Accepted), SettlementKind::End(Reason::Accepted)),
            settlement(Some(refused), SettlementKind::End(Reason::Refused)),
            settlement(Some(Outcome::Unknown), retry),
            settlement(None, SettlementKind::End(Reason::Operator)),
            settlement(None, SettlementKind::SupersedeUncertain),
        ];
        let all = Counted::of(&settlements, &recorded(true));
        assert_eq!(
            (all.attempts, all.settled, all.settlements),
            ([1, 0, 1, 0, 1], [1, 1, 0, 1, 1], 5)
        );
        let successes = Counted::of(&settlements, &recorded(false));
        assert_eq!(
            (successes.attempts, successes.settled),
            ([1, 0, 0, 0, 0], [1, 0, 0, 0, 0])
        );
        assert_eq!(successes.settlements, 1);
    }

    #[test]
    fn every_outcome_has_the_place_of_its_word() {
        for outcome in [
            Outcome::Accepted,
            Outcome::excused(),
            Outcome::Refused(Refusal::Gone),
            Outcome::Unreachable,
            Outcome::Unknown,
        ] {
            assert_eq!(OUTCOMES[place(&outcome)], outcome.as_str());
        }
    }
}
