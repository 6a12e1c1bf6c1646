//! What this process has done, as numbers for a monitoring system.
//!
//! Counted where a record is committed, once for the whole record, in counters that were looked up when the dispatcher
//! began: the hot path pays a few additions for hundreds of deliveries. Labels are destinations, outcomes and states, never
//! topics or row keys, so there are only as many series as the configuration makes. Nothing here is read to decide anything.

mod counts;
pub mod labels;

use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use prometheus_client::encoding::prometheus_text;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::core::delivery::State;
pub(super) use counts::ShardCounts;
use counts::{Counts, ENDS, OUTCOMES};
use labels::{InState, To, WithOutcome};

/// What stands before every name.
pub const PREFIX: &str = "aftercommit";

/// Upper bounds of the latency's buckets, in seconds: from a receiver next door to one that was down for a day.
const LATENCY: [f64; 17] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1_800.0, 10_800.0,
    86_400.0,
];
/// Upper bounds of the buckets for how many deliveries one record settles.
const SETTLED: [f64; 11] = [
    1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1_000.0, 2_000.0,
];

/// The numbers of one relay. Cheap to clone; all clones are the same numbers.
#[derive(Clone, Debug)]
pub struct RelayMetrics {
    inner: Arc<Inner>,
}

struct Inner {
    registry: Registry,
    families: Families,
    pulse: Pulse,
    /// The counters of each destination that this process has dispatched.
    destinations: Mutex<BTreeMap<Arc<str>, Arc<Counts>>>,
}

/// What happens to the process as a whole.
#[derive(Debug, Default)]
pub(super) struct Pulse {
    /// Shards whose lease is held now.
    pub(super) leases: Gauge,
    pub(super) leases_acquired: Counter,
    pub(super) leases_released: Counter,
    pub(super) leases_lost: Counter,
    pub(super) heartbeat_failures: Counter,
}

#[derive(Debug)]
struct Families {
    attempts: Family<WithOutcome, Counter>,
    settled: Family<InState, Counter>,
    latency: Family<To, Histogram, fn() -> Histogram>,
    settle_batch: Family<To, Histogram, fn() -> Histogram>,
    breakers_open: Family<To, Gauge>,
}

impl RelayMetrics {
    /// All at zero.
    pub fn new() -> Self {
        let (families, pulse) = (Families::new(), Pulse::default());
        let inner = Inner {
            registry: registry(&families, &pulse),
            families,
            pulse,
            destinations: Mutex::default(),
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Writes them as Prometheus' text format 0.0.4.
    pub fn write(&self, into: &mut impl Write) -> fmt::Result {
        prometheus_text::encode(into, &self.inner.registry)
    }

    pub(super) fn pulse(&self) -> &Pulse {
        &self.inner.pulse
    }

    /// The counters of one shard of a destination; its shards share them.
    pub(super) fn shard(&self, destination: &Arc<str>) -> ShardCounts {
        let mut known = self.known();
        let counts = known
            .entry(destination.clone())
            .or_insert_with(|| Arc::new(self.inner.families.of(destination)));
        ShardCounts::new(counts.clone())
    }

    /// Of each destination: deliveries that were delivered, and attempts that were not accepted.
    pub(super) fn totals(&self) -> BTreeMap<Arc<str>, (u64, u64)> {
        let known = self.known();
        let total = |(destination, counts): (&Arc<str>, &Arc<Counts>)| {
            (destination.clone(), (counts.delivered(), counts.failed()))
        };
        known.iter().map(total).collect()
    }

    fn known(&self) -> std::sync::MutexGuard<'_, BTreeMap<Arc<str>, Arc<Counts>>> {
        // Nothing panics while it is locked.
        self.inner
            .destinations
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for RelayMetrics {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RelayMetrics").finish_non_exhaustive()
    }
}

impl Families {
    fn new() -> Self {
        Self {
            attempts: Family::default(),
            settled: Family::default(),
            latency: Family::new_with_constructor(|| Histogram::new(LATENCY)),
            settle_batch: Family::new_with_constructor(|| Histogram::new(SETTLED)),
            breakers_open: Family::default(),
        }
    }

    /// Every series of a destination is there from the start, at zero, so that what a monitoring system sees first is no
    /// jump.
    fn of(&self, destination: &str) -> Counts {
        let to = To::destination(destination);
        let attempts = |outcome| {
            self.attempts
                .get_or_create_owned(&WithOutcome::of(destination, outcome))
        };
        let settled = |state: State| {
            self.settled
                .get_or_create_owned(&InState::of(destination, state.as_str()))
        };
        Counts {
            attempts: OUTCOMES.map(attempts),
            settled: ENDS.map(settled),
            latency: self.latency.get_or_create_owned(&to),
            settle_batch: self.settle_batch.get_or_create_owned(&to),
            breakers_open: self.breakers_open.get_or_create_owned(&to),
        }
    }
}

fn registry(families: &Families, pulse: &Pulse) -> Registry {
    let mut registry = Registry::with_prefix(PREFIX);
    registry.register(
        "attempts",
        "Attempts that are on record with their outcome",
        families.attempts.clone(),
    );
    registry.register(
        "settled",
        "Deliveries that this process put into a state",
        families.settled.clone(),
    );
    registry.register(
        "delivery_latency_seconds",
        "From when a delivery was owed, the commit of its row or a replay, to the answer that accepted it",
        families.latency.clone(),
    );
    registry.register(
        "settle_batch_size",
        "Deliveries that one record settled",
        families.settle_batch.clone(),
    );
    registry.register(
        "breakers_open",
        "Shards that this process dispatches and whose breaker is open",
        families.breakers_open.clone(),
    );
    registry.register("leases", "Leases that this process holds", pulse.leases.clone());
    registry.register(
        "leases_acquired",
        "Leases that this process took",
        pulse.leases_acquired.clone(),
    );
    registry.register(
        "leases_released",
        "Leases that this process gave back",
        pulse.leases_released.clone(),
    );
    registry.register(
        "leases_lost",
        "Leases that this process lost to another, or may have lost",
        pulse.leases_lost.clone(),
    );
    registry.register(
        "heartbeat_failures",
        "Heartbeats that the database did not take",
        pulse.heartbeat_failures.clone(),
    );
    registry
}
