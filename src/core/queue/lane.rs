//! How one row key decides which of its deliveries goes first.
//!
//! A lane knows the ids that are held for one row key, which of them is in flight, and which left a trace. It knows
//! nothing of time: a candidate that is not due yet waits among the queue's timers, and its key waits with it.

use super::{OrderMode, Trace};
use crate::core::row::RowId;

/// The deliveries of one row key.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) row: RowId,
    order: OrderMode,
    /// Held and not superseded.
    ids: Ids,
    in_flight: Option<i64>,
    /// The one that is scheduled now; kept by the queue.
    pub(super) candidate: Option<i64>,
    /// The first delivery of the row key that was left out: from here on, none is held.
    beyond: Option<i64>,
    /// Whether some that were left out are remembered as blocked by it; kept by the queue.
    pub(super) blocks_others: bool,
}

/// Ids with their traces, ascending. Nearly every row key has one, which needs no allocation.
#[derive(Debug, Default)]
struct Ids {
    oldest: Option<(i64, Trace)>,
    later: Vec<(i64, Trace)>,
}

impl Lane {
    pub(super) fn new(row: RowId, order: OrderMode) -> Self {
        Self {
            row,
            order,
            ids: Ids::default(),
            in_flight: None,
            candidate: None,
            beyond: None,
            blocks_others: false,
        }
    }

    pub(super) fn order(&self) -> OrderMode {
        self.order
    }

    /// What comes from now on follows in another order, and what is held with it.
    pub(super) fn follow(&mut self, order: OrderMode) {
        self.order = order;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ids.oldest.is_none()
    }

    /// Whether nothing of it moves: what holds it is outside of it.
    pub(super) fn is_blocked(&self) -> bool {
        self.in_flight.is_none() && self.candidate.is_none()
    }

    /// Whether `outbox_id` comes after one that was left out, or after as many as may be held.
    pub(super) fn leaves_out(&self, outbox_id: i64, most: usize) -> bool {
        let full = self.order == OrderMode::Ordered && self.ids.len() >= most;
        self.beyond.is_some_and(|beyond| beyond <= outbox_id)
            || full && self.ids.newest().is_some_and(|(newest, _)| newest < outbox_id)
    }

    /// A delivery of the row key is not held.
    pub(super) fn leave_out(&mut self, outbox_id: i64) {
        self.beyond = Some(self.beyond.map_or(outbox_id, |beyond| beyond.min(outbox_id)));
    }

    pub(super) fn beyond(&self) -> Option<i64> {
        self.beyond
    }

    pub(super) fn add(&mut self, outbox_id: i64, trace: Trace) {
        self.ids.insert(outbox_id, trace);
    }

    pub(super) fn remove(&mut self, outbox_id: i64) {
        self.ids.remove(outbox_id);
        self.in_flight.take_if(|id| *id == outbox_id);
        self.candidate.take_if(|id| *id == outbox_id);
    }

    /// Removes and returns the newest, so that at most `keep` are left, and all up to the one in flight.
    pub(super) fn cut(&mut self, keep: usize) -> Vec<i64> {
        let flying = self.ids.iter().position(|(id, _)| self.in_flight == Some(id));
        let cut = self.ids.split_off(keep.max(flying.map_or(0, |place| place + 1)));
        if let Some(first) = cut.first() {
            self.leave_out(*first);
        }
        self.candidate.take_if(|id| cut.contains(id));
        cut
    }

    /// The candidate was taken.
    pub(super) fn start(&mut self, outbox_id: i64) {
        self.in_flight = Some(outbox_id);
        self.candidate = None;
    }

    /// What was in flight waits again.
    pub(super) fn back(&mut self, outbox_id: i64, trace: Trace) {
        self.in_flight.take_if(|id| *id == outbox_id);
        self.ids.set(outbox_id, trace);
    }

    /// Removes and returns those that a newer version takes the place of: all but the newest, unless their outcome is
    /// unknown or they are in flight.
    pub(super) fn supersede(&mut self) -> Vec<i64> {
        if self.order != OrderMode::Latest || self.ids.later.is_empty() {
            return Vec::new();
        }
        let Some((newest, _)) = self.ids.newest() else {
            return Vec::new();
        };
        let overtaken = |(id, trace): (i64, Trace)| {
            (id < newest && trace == Trace::Clean && self.in_flight != Some(id)).then_some(id)
        };
        let gone: Vec<i64> = self.ids.iter().filter_map(overtaken).collect();
        for outbox_id in &gone {
            self.ids.remove(*outbox_id);
        }
        gone
    }

    /// The one that may go next, whenever it is due. `held_by` is the oldest delivery of the key that waits for a person.
    pub(super) fn choose(&self, held_by: Option<i64>) -> Option<i64> {
        if self.in_flight.is_some() {
            return None;
        }
        let (oldest, _) = self.ids.oldest?;
        match self.order {
            OrderMode::Ordered => held_by.is_none_or(|held| held > oldest).then_some(oldest),
            // After `supersede`, all but the newest have an unknown outcome: they are settled first, oldest first.
            OrderMode::Latest | OrderMode::Independent => Some(oldest),
        }
    }
}

impl Ids {
    fn len(&self) -> usize {
        usize::from(self.oldest.is_some()) + self.later.len()
    }

    fn newest(&self) -> Option<(i64, Trace)> {
        self.later.last().copied().or(self.oldest)
    }

    fn iter(&self) -> impl Iterator<Item = (i64, Trace)> {
        self.oldest.into_iter().chain(self.later.iter().copied())
    }

    fn insert(&mut self, outbox_id: i64, trace: Trace) {
        let mut added = (outbox_id, trace);
        let Some(oldest) = &mut self.oldest else {
            self.oldest = Some(added);
            return;
        };
        if outbox_id < oldest.0 {
            std::mem::swap(oldest, &mut added);
        }
        let place = self.later.partition_point(|(id, _)| *id < added.0);
        self.later.insert(place, added);
    }

    fn remove(&mut self, outbox_id: i64) {
        if self.oldest.is_some_and(|(id, _)| id == outbox_id) {
            self.oldest = (!self.later.is_empty()).then(|| self.later.remove(0));
        } else if !self.later.is_empty() {
            self.later.retain(|(id, _)| *id != outbox_id);
        }
    }

    fn set(&mut self, outbox_id: i64, trace: Trace) {
        let one = self
            .oldest
            .iter_mut()
            .chain(&mut self.later)
            .find(|(id, _)| *id == outbox_id);
        if let Some(one) = one {
            one.1 = trace;
        }
    }

    fn split_off(&mut self, keep: usize) -> Vec<i64> {
        let Some(kept_later) = keep.checked_sub(1) else {
            let all = self.iter().map(|(id, _)| id).collect();
            *self = Self::default();
            return all;
        };
        let cut = self.later.split_off(kept_later.min(self.later.len()));
        cut.into_iter().map(|(id, _)| id).collect()
    }
}
