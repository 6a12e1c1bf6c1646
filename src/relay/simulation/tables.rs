//! The tables of the lease protocol in memory: the meaning of `beat`, `take_lease`, `record` and `orphans`, without SQL.
//!
//! Each method is one transaction. Times are the database's clock, in microseconds.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::Guard;
use crate::store::{Lease, LeaseRow, RelayId, Shard};

#[derive(Default)]
pub(super) struct Tables {
    beats: BTreeMap<u128, i64>,
    leases: BTreeMap<(Arc<str>, u32), Row>,
    dispatches: HashMap<u64, Dispatch>,
    next_dispatch: u64,
    /// Who was ever given which epoch.
    granted: HashMap<(Arc<str>, u32, i64), RelayId>,
}

#[derive(Clone, Copy)]
struct Row {
    of: u32,
    owner: Option<RelayId>,
    epoch: i64,
}

struct Dispatch {
    shard: Shard,
    epoch: i64,
    slot: u32,
}

impl Tables {
    pub(super) fn beat(&mut self, relay: RelayId, started_at: i64) {
        let beat = self.beats.entry(relay.0.as_u128()).or_insert(started_at);
        *beat = started_at.max(*beat);
    }

    pub(super) fn live(&self, me: RelayId, now: i64, ttl: i64) -> Vec<RelayId> {
        let alive = |(id, beat): &(&u128, &i64)| **beat > now - ttl || **id == me.0.as_u128();
        let ids = self.beats.iter().filter(alive).map(|(id, _)| *id);
        ids.map(|id| RelayId(uuid::Uuid::from_u128(id))).collect()
    }

    pub(super) fn leave(&mut self, relay: RelayId) {
        self.beats.remove(&relay.0.as_u128());
    }

    fn lives(&self, relay: RelayId, now: i64, ttl: i64) -> bool {
        self.beats
            .get(&relay.0.as_u128())
            .is_some_and(|beat| *beat > now - ttl)
    }

    pub(super) fn leases(&self, now: i64, ttl: i64) -> Vec<LeaseRow> {
        let rows = self.leases.iter();
        let row = |((destination, number), row): (&(Arc<str>, u32), &Row)| LeaseRow {
            shard: Shard {
                destination: destination.clone(),
                number: *number,
                of: row.of,
            },
            live_owner: row.owner.filter(|owner| self.lives(*owner, now, ttl)),
            epoch: row.epoch,
        };
        rows.map(row).collect()
    }

    /// `Err` says how the promise of `Store::acquire` was broken.
    pub(super) fn acquire(
        &mut self,
        shard: &Shard,
        relay: RelayId,
        now: i64,
        ttl: i64,
        broken: Option<Guard>,
    ) -> Result<Option<Lease>, String> {
        let owner_lives = |row: &Row| row.owner.is_some_and(|owner| self.lives(owner, now, ttl));
        let checked = broken != Some(Guard::LiveCheck);
        let mut of_destination = self
            .leases
            .iter()
            .filter(|((name, _), _)| *name == shard.destination);
        if checked && of_destination.any(|(_, row)| row.of != shard.of && owner_lives(row)) {
            return Ok(None);
        }
        let key = (shard.destination.clone(), shard.number);
        let before = self.leases.get(&key).copied();
        if checked && before.is_some_and(|row| row.owner != Some(relay) && owner_lives(&row)) {
            return Ok(None);
        }
        let step = i64::from(broken != Some(Guard::EpochGrows));
        let epoch = before.map_or(1, |row| row.epoch + step);
        self.leases.insert(
            key,
            Row {
                of: shard.of,
                owner: Some(relay),
                epoch,
            },
        );
        for ((name, _), row) in &mut self.leases {
            if *name == shard.destination && row.of != shard.of && row.owner.is_some() {
                (row.owner, row.epoch) = (None, row.epoch + 1);
            }
        }
        if before.is_some_and(|row| epoch <= row.epoch) {
            return Err(format!("the epoch of {shard:?} did not grow"));
        }
        let granted = (shard.destination.clone(), shard.number, epoch);
        match self.granted.insert(granted, relay) {
            Some(other) => Err(format!("{relay:?} and {other:?} own epoch {epoch} of {shard:?}")),
            None => Ok(Some(Lease {
                shard: shard.clone(),
                owner: relay,
                epoch,
            })),
        }
    }

    pub(super) fn release(&mut self, lease: &Lease) {
        if self.holds(lease)
            && let Some(row) = self
                .leases
                .get_mut(&(lease.shard.destination.clone(), lease.shard.number))
        {
            row.owner = None;
        }
    }

    /// The fence.
    pub(super) fn holds(&self, lease: &Lease) -> bool {
        let row = self
            .leases
            .get(&(lease.shard.destination.clone(), lease.shard.number));
        row.is_some_and(|row| row.owner == Some(lease.owner) && row.epoch == lease.epoch)
    }

    /// Whether nobody else can take the lease as long as the database's clock shows less than `until`.
    pub(super) fn is_safe(&self, lease: &Lease, until: i64, ttl: i64) -> bool {
        self.holds(lease) && self.lives(lease.owner, until, ttl)
    }

    pub(super) fn begin(&mut self, lease: &Lease, slot: u32) -> Option<u64> {
        let held = self.holds(lease);
        self.next_dispatch += 1;
        let dispatch = Dispatch {
            shard: lease.shard.clone(),
            epoch: lease.epoch,
            slot,
        };
        held.then(|| self.dispatches.insert(self.next_dispatch, dispatch));
        held.then_some(self.next_dispatch)
    }

    pub(super) fn finish(&mut self, lease: &Lease, dispatch: u64) {
        if self.holds(lease) {
            self.dispatches.remove(&dispatch);
        }
    }

    /// Settles what earlier owners left behind; `false` if the lease is lost.
    pub(super) fn take_over(&mut self, lease: &Lease) -> bool {
        if !self.holds(lease) {
            return false;
        }
        let Shard {
            destination,
            number,
            of,
        } = &lease.shard;
        self.dispatches.retain(|_, dispatch| {
            let theirs = dispatch.shard.destination == *destination
                && (dispatch.shard.of != *of
                    || (dispatch.shard.number == *number && dispatch.epoch < lease.epoch));
            !(theirs && dispatch.slot % of == *number)
        });
        true
    }

    /// Dispatches that no owner of today has begun.
    pub(super) fn orphans(&self) -> usize {
        let current = |dispatch: &Dispatch| {
            let row = self
                .leases
                .get(&(dispatch.shard.destination.clone(), dispatch.shard.number));
            row.is_some_and(|row| row.owner.is_some() && row.epoch == dispatch.epoch)
        };
        self.dispatches
            .values()
            .filter(|dispatch| !current(dispatch))
            .count()
    }
}
