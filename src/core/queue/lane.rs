//! How one row key decides which of its deliveries goes first.
//!
//! A lane knows the ids that are held for one row key, which of them is in flight, and which left a trace. It knows
//! nothing of time: a candidate that is not due yet waits among the queue's timers, and its key waits with it.

use super::{OrderMode, Trace};

/// The deliveries of one row key.
#[derive(Debug)]
pub(super) struct Lane {
    order: OrderMode,
    /// Held and not superseded, ascending. Seldom more than a few.
    ids: Vec<(i64, Trace)>,
    in_flight: Option<i64>,
    /// The one that is scheduled now; kept by the queue.
    pub(super) candidate: Option<i64>,
}

impl Lane {
    pub(super) fn new(order: OrderMode) -> Self {
        Self {
            order,
            ids: Vec::new(),
            in_flight: None,
            candidate: None,
        }
    }

    pub(super) fn order(&self) -> OrderMode {
        self.order
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    pub(super) fn add(&mut self, outbox_id: i64, trace: Trace) {
        let at = self.ids.partition_point(|(id, _)| *id < outbox_id);
        self.ids.insert(at, (outbox_id, trace));
    }

    pub(super) fn remove(&mut self, outbox_id: i64) {
        self.ids.retain(|(id, _)| *id != outbox_id);
        self.in_flight.take_if(|id| *id == outbox_id);
        self.candidate.take_if(|id| *id == outbox_id);
    }

    /// The candidate was taken.
    pub(super) fn start(&mut self, outbox_id: i64) {
        self.in_flight = Some(outbox_id);
        self.candidate = None;
    }

    /// What was in flight waits again.
    pub(super) fn back(&mut self, outbox_id: i64, trace: Trace) {
        self.in_flight.take_if(|id| *id == outbox_id);
        if let Some(entry) = self.ids.iter_mut().find(|(id, _)| *id == outbox_id) {
            entry.1 = trace;
        }
    }

    /// Removes and returns those that a newer version takes the place of: all but the newest, unless their outcome is
    /// unknown or they are in flight.
    pub(super) fn supersede(&mut self) -> Vec<i64> {
        if self.order != OrderMode::Latest {
            return Vec::new();
        }
        let Some(&(newest, _)) = self.ids.last() else {
            return Vec::new();
        };
        let in_flight = self.in_flight;
        let overtaken =
            |&(id, trace): &(i64, Trace)| id < newest && trace == Trace::Clean && in_flight != Some(id);
        let gone = self
            .ids
            .iter()
            .filter(|entry| overtaken(entry))
            .map(|(id, _)| *id)
            .collect();
        self.ids.retain(|entry| !overtaken(entry));
        gone
    }

    /// The one that may go next, whenever it is due. `held_by` is the oldest delivery of the key that waits for a person.
    pub(super) fn choose(&self, held_by: Option<i64>) -> Option<i64> {
        if self.in_flight.is_some() {
            return None;
        }
        let (oldest, _) = *self.ids.first()?;
        match self.order {
            OrderMode::Ordered => held_by.is_none_or(|held| held > oldest).then_some(oldest),
            // After `supersede`, all but the newest have an unknown outcome: they are settled first, oldest first.
            OrderMode::Latest | OrderMode::Independent => Some(oldest),
        }
    }
}
