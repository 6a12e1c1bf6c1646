//! What is owed and not held, so that memory is bounded, and why order does not suffer.
//!
//! Three things leave a delivery out: its row key has as many in memory as one key may (`Bounds::per_row_key`); the queue is
//! full, and it is due later than others or waits for something outside (`make_room`); or one before it is not held. It stays
//! owed in the database, which is the truth, and is read again: at once when its lane has drained (`next_left_off`), else by
//! the sweep.
//!
//! **The rule.** A delivery is held only if the nearest older delivery of its row key that is owed is held too. So what is
//! held of a row key is always the oldest of what is owed of it, without a gap, and whatever `lane` decides about that part
//! it would decide about the whole: `ordered` sends the oldest, or waits for it; `latest` sends nothing past one whose
//! outcome is unknown. (That `latest` sends a version of which a newer one is left out costs a request, not the order.)
//!
//! - *It holds when a delivery comes*: `offer` refuses one whose `Item::behind` is not held, and one that a lane has left out
//!   others before. The reader finds `behind` in the database. Without anything left out the version just before it is
//!   enough, since all others are held, or late with it; once there is a `floor`, the reader looks for the nearest one that
//!   is owed at `floor` or above, however many ended ones lie between, for below the floor nothing is left out.
//! - *It holds when a delivery goes*: what ends leaves no gap, and what is left out goes from the newest end of its lane.
//! - *It holds while a batch is offered*: what was read together was judged by what was held then; so once a row key has lost
//!   one of a batch, the dispatcher offers none of that key from the rest of it.
//!
//! A row key that an `uncertain` delivery holds is blocked by `set_uncertain`, whether or not anything of it is held.
//!
//! What a person made due again below what is held goes when it is found, as always: it had ended, and the newer ones
//! were free to pass.

use std::collections::BTreeSet;

use super::lane::Lane;
use super::lanes::LaneId;
use super::{Item, Phase, Queue};
use crate::core::row::RowId;

/// Deliveries of one row key that are held at most while it is `ordered`. They go one at a time, each waiting for an
/// answer and a record, so that reading the next ones is a small part of it.
const PER_ROW_KEY: usize = 64;
/// Drained row keys that are remembered; what is forgotten here is found by the sweep.
const MOST_DRAINED: usize = 1_024;

/// How much a queue holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Deliveries at which no more should be offered.
    pub held: usize,
    /// Deliveries of one row key, if it is `ordered`.
    pub per_row_key: usize,
}

impl Bounds {
    /// At most `held` deliveries, and no more of one row key than keep it busy.
    pub fn of(held: usize) -> Self {
        Self {
            held,
            per_row_key: PER_ROW_KEY,
        }
    }
}

/// Where a row key goes on: what was held of it is gone, and there is more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOff {
    /// The row key.
    pub row: RowId,
    /// The first delivery that was left out.
    pub from: i64,
}

/// The lowest ids that are owed and not held.
#[derive(Debug, Default)]
pub(super) struct LeftOut {
    floor: Option<i64>,
    /// Of what has been left out since the present sweep began.
    since_sweep: Option<i64>,
    /// Behind row keys of which nothing moves: until something does, it is in vain to read them again.
    blocked: BTreeSet<i64>,
}

impl LeftOut {
    fn note(&mut self, outbox_id: i64) {
        self.floor = lower(self.floor, Some(outbox_id));
        self.since_sweep = lower(self.since_sweep, Some(outbox_id));
    }
}

fn lower(one: Option<i64>, other: Option<i64>) -> Option<i64> {
    one.into_iter().chain(other).min()
}

impl<T> Queue<T> {
    /// Below this outbox id nothing is left out; `None` if nothing is at all.
    pub fn floor(&self) -> Option<i64> {
        self.left_out.floor
    }

    /// Whether at least half of what may be held is free.
    pub fn has_plenty(&self) -> bool {
        self.room() >= self.bounds.held / 2
    }

    /// Whether something of the row key is held.
    pub fn holds(&self, row: &RowId) -> bool {
        self.lanes.of(row).is_some()
    }

    /// A delivery is owed, and the reader chose not to offer it.
    pub fn leave_out(&mut self, outbox_id: i64) {
        self.left_out.note(outbox_id);
    }

    /// The same, because one of its row key was left out before.
    pub fn leave_out_of(&mut self, row: &RowId, outbox_id: i64) {
        self.left_out.note(outbox_id);
        if let Some(at) = self.lanes.of(row) {
            self.note_blocked(at, outbox_id);
        }
    }

    /// Whether it would be left out again, if it were read and offered now.
    pub fn is_blocked(&self, outbox_id: i64) -> bool {
        self.left_out.blocked.contains(&outbox_id)
    }

    /// What was read of a row key is not all: there may be more from `left_off.from` on.
    pub fn goes_on(&mut self, left_off: &LeftOff) {
        // Where nothing is held of it, what keeps it out is not gone by reading it again at once.
        if let Some(lane) = self.lanes.of(&left_off.row).and_then(|at| self.lanes.get_mut(at)) {
            lane.leave_out(left_off.from);
        }
        self.left_out.note(left_off.from);
    }

    /// A row key whose lane has drained, of which there is more.
    pub fn next_left_off(&mut self) -> Option<LeftOff> {
        self.drained.pop_front()
    }

    /// A sweep of everything that is owed begins.
    pub fn sweep_begins(&mut self) {
        self.left_out.since_sweep = None;
    }

    /// That sweep has seen everything, and `still_out` is the lowest id that it found and that is not held yet.
    pub fn sweep_ends(&mut self, still_out: Option<i64>) {
        self.left_out.floor = lower(self.left_out.since_sweep, still_out);
    }

    /// Whether there is a `next_left_off`.
    pub fn has_left_off(&self) -> bool {
        !self.drained.is_empty()
    }

    /// Tries to make room for `wanted` deliveries, or an eighth of what may be held: leaves out what is due last, then what
    /// waits behind others.
    pub fn make_room(&mut self, wanted: usize) {
        let wanted = wanted.min(self.bounds.held / 8).max(1);
        while self.room() < wanted
            && let Some(outbox_id) = self.schedule.farthest()
        {
            if let Some(lane) = self.entries.get(&outbox_id).and_then(|entry| entry.lane) {
                self.cut(lane, 0);
            } else {
                self.remove(outbox_id);
                self.leave_out(outbox_id);
            }
        }
        if self.room() >= wanted {
            return;
        }
        for at in self.lanes.all() {
            let Some(lane) = self.lanes.get_mut(at) else {
                continue;
            };
            let keep = usize::from(!lane.is_blocked());
            self.cut(at, keep);
            if self.room() >= wanted {
                return;
            }
        }
    }

    /// Forgets what was to be handed out with deliveries that only wait: it is read again when their turn has come.
    pub fn shed_contents(&mut self) {
        if std::mem::take(&mut self.contents) > 0 {
            for entry in self.entries.values_mut() {
                entry.content = None;
            }
        }
    }

    /// Whether the rule forbids to hold it; if so, it is left out.
    pub(super) fn must_leave_out(&mut self, item: &Item<T>) -> bool {
        let most = self.bounds.per_row_key;
        let behind_one = item.behind.is_some_and(|older| !self.knows(older));
        let at = self.lanes.of(&item.row);
        let lane = at.and_then(|at| self.lanes.get_mut(at));
        let full = lane
            .as_ref()
            .is_some_and(|lane| lane.leaves_out(item.outbox_id, most));
        if !(behind_one || full) {
            return false;
        }
        if let Some(lane) = lane {
            lane.leave_out(item.outbox_id);
        }
        self.left_out.note(item.outbox_id);
        if let Some(at) = at.filter(|_| full) {
            self.note_blocked(at, item.outbox_id);
        }
        true
    }

    /// Remembers what a lane left out, if nothing of it moves; no more of them than may be held.
    fn note_blocked(&mut self, at: LaneId, outbox_id: i64) {
        if let Some(lane) = self.lanes.get_mut(at).filter(|lane| lane.is_blocked())
            && self.left_out.blocked.len() < self.bounds.held
        {
            lane.blocks_others = true;
            self.left_out.blocked.insert(outbox_id);
        }
    }

    /// A lane has changed: what it blocked is worth reading again once it moves or is gone.
    pub(super) fn forget_blocked(&mut self, at: LaneId) {
        if let Some(lane) = self.lanes.get_mut(at)
            && lane.blocks_others
            && (lane.is_empty() || !lane.is_blocked())
        {
            lane.blocks_others = false;
            self.left_out.blocked.clear();
        }
    }

    /// A lane is empty.
    pub(super) fn drained(&mut self, lane: Lane) {
        if let Some(from) = lane.beyond()
            && self.drained.len() < MOST_DRAINED
        {
            self.drained.push_back(LeftOff { row: lane.row, from });
        }
    }

    /// Leaves out all of a lane but its `keep` oldest, and what is in flight.
    fn cut(&mut self, at: LaneId, keep: usize) {
        let Some(lane) = self.lanes.get_mut(at) else {
            return;
        };
        let candidate = lane.candidate;
        let cut = lane.cut(keep);
        let empty = lane.is_empty();
        for outbox_id in cut {
            if let Some(entry) = self.entries.remove(&outbox_id) {
                debug_assert_eq!(entry.phase, Phase::Waiting, "what is in flight is held");
                if candidate == Some(outbox_id) {
                    self.schedule.remove(outbox_id, entry.due);
                }
            }
            self.leave_out(outbox_id);
        }
        if empty {
            self.forget_blocked(at);
            // The sweep finds it, once it is due.
            self.lanes.remove(at);
        }
    }
}
