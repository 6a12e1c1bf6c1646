//! One simulated relay: its clock, its heart, its leases.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use crate::relay::Vitals;
use crate::store::{Lease, RelayId, Shard};

pub(super) struct Process {
    pub(super) id: RelayId,
    pub(super) life: Life,
    pub(super) stands_still_until: i64,
    /// Its heartbeats do not reach the database.
    pub(super) cut_off_until: i64,
    /// A heartbeat is under way.
    pub(super) beating: bool,
    clock: MachineClock,
    pub(super) vitals: Vitals,
    pub(super) held: HashMap<Shard, Holding>,
    pub(super) looking: bool,
    /// Into how many shards its configuration divides each destination.
    pub(super) divided: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Life {
    Working,
    /// Asked to end.
    Leaving,
    Gone,
}

/// A machine's clock: where it began, and by how many millionths it goes wrong.
#[derive(Clone, Copy)]
pub(super) struct MachineClock {
    pub(super) offset: i64,
    pub(super) ppm: i64,
}

impl MachineClock {
    pub(super) fn at(self, time: i64) -> i64 {
        self.offset + time + time / 1_000 * self.ppm / 1_000
    }
}

/// A shard that is dispatched.
pub(super) struct Holding {
    pub(super) lease: Lease,
    pub(super) term: u64,
    pub(super) draining: bool,
    pub(super) lost: bool,
    pub(super) handing_back: bool,
    /// Attempts on record that have not come back.
    pub(super) open: u32,
}

impl Holding {
    pub(super) fn new(lease: Lease, term: u64) -> Self {
        Self {
            lease,
            term,
            draining: false,
            lost: false,
            handing_back: false,
            open: 0,
        }
    }

    /// Begins nothing more.
    pub(super) fn ends(&self) -> bool {
        self.draining || self.lost
    }
}

impl Process {
    pub(super) fn new(id: RelayId, clock: MachineClock, divided: u32) -> Self {
        Self {
            id,
            life: Life::Working,
            stands_still_until: 0,
            cut_off_until: 0,
            beating: false,
            clock,
            vitals: Vitals::none(),
            held: HashMap::new(),
            looking: false,
            divided,
        }
    }

    pub(super) fn monotonic(&self, time: i64) -> Duration {
        Duration::from_micros(self.clock.at(time).unsigned_abs())
    }

    /// The true time at which its clock has gone on by `span`, at the latest.
    pub(super) fn after(&self, time: i64, span: i64) -> i64 {
        time + span + span / 1_000 * (self.clock.ppm.abs() + 1) / 1_000
    }

    pub(super) fn wanted(&self, destinations: u32) -> BTreeSet<Shard> {
        (0..destinations)
            .flat_map(|name| {
                (0..self.divided).map(move |number| Shard {
                    destination: format!("destination {name}").into(),
                    number,
                    of: self.divided,
                })
            })
            .collect()
    }
}
