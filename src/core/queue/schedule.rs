//! When what: deliveries that may go as soon as their time has come.

use std::collections::BTreeSet;
use std::ops::Bound::{Excluded, Unbounded};

use crate::core::time::Timestamp;

/// Deliveries by the time at which they are due.
#[derive(Debug)]
pub(super) struct Schedule {
    /// The latest time that was looked at: what was due then is in `ready`, the rest among the timers.
    now: Timestamp,
    /// By outbox id, so that older deliveries go first.
    ready: BTreeSet<i64>,
    timers: BTreeSet<(Timestamp, i64)>,
}

impl Schedule {
    pub(super) fn new() -> Self {
        Self {
            now: Timestamp::from_micros(i64::MIN),
            ready: BTreeSet::new(),
            timers: BTreeSet::new(),
        }
    }

    pub(super) fn ready(&self) -> usize {
        self.ready.len()
    }

    /// Moves what has become due at `now` to what is ready.
    pub(super) fn promote(&mut self, now: Timestamp) {
        self.now = self.now.max(now);
        while let Some(first) = self.timers.first().copied().filter(|(due, _)| *due <= self.now) {
            self.timers.remove(&first);
            self.ready.insert(first.1);
        }
    }

    /// The one that is due next.
    pub(super) fn next_due(&self) -> Option<Timestamp> {
        self.timers.first().map(|(due, _)| *due)
    }

    /// The one that is due last, of those that are not due.
    pub(super) fn farthest(&self) -> Option<i64> {
        self.timers.last().map(|(_, outbox_id)| *outbox_id)
    }

    pub(super) fn put(&mut self, outbox_id: i64, due: Timestamp) {
        if due <= self.now {
            self.ready.insert(outbox_id);
        } else {
            self.timers.insert((due, outbox_id));
        }
    }

    pub(super) fn remove(&mut self, outbox_id: i64, due: Timestamp) {
        if due <= self.now {
            self.ready.remove(&outbox_id);
        } else {
            self.timers.remove(&(due, outbox_id));
        }
    }

    /// All that are ready, the oldest first.
    pub(super) fn ready_ids(&self) -> impl Iterator<Item = i64> {
        self.ready.iter().copied()
    }

    /// Whether this one was ready; it is so no longer.
    pub(super) fn pop_this(&mut self, outbox_id: i64) -> bool {
        self.ready.remove(&outbox_id)
    }

    /// The oldest that is ready.
    pub(super) fn pop(&mut self) -> Option<i64> {
        self.ready.pop_first()
    }

    /// The oldest that is ready and younger than `last`, or else the oldest.
    pub(super) fn pop_after(&mut self, last: Option<i64>) -> Option<i64> {
        let younger = last.and_then(|last| self.ready.range((Excluded(last), Unbounded)).next().copied());
        younger
            .filter(|outbox_id| self.ready.remove(outbox_id))
            .or_else(|| self.pop())
    }
}
