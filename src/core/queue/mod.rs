//! What may be sent next from one shard of one destination.
//!
//! The dispatcher offers what it read, takes what may be sent, and says what became of it. The queue keeps the order
//! per row key: which delivery of a key goes first, which waits, and which is superseded. It holds ids and, until they
//! are taken, contents; it reads no clock and writes nothing. How one row key decides stands in `lane`; what is not held,
//! and why nothing goes past it, in `left_out`.
//!
//! ```text
//!  offer ─▶ waiting ──take──▶ in flight ──end──▶ (gone)
//!     │       ▲  │  │             │
//!     │       │  │  └─superseded─▶ ending ──end──▶ (gone)
//!     │       └──│──── retry ─────┘
//!     └──────────┴──▶ (left out, and read again)
//! ```

mod item;
mod lane;
mod lanes;
mod left_out;
mod schedule;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};

use foldhash::fast::FixedState;

use super::row::RowId;
use super::time::Timestamp;
pub use item::{Ended, Item, Mark, Offered, OrderMode, Taken, Trace};
use lanes::{LaneId, Lanes};
use left_out::LeftOut;
pub use left_out::{Bounds, LeftOff};
use schedule::Schedule;

/// One shard's deliveries in memory.
#[derive(Debug)]
pub struct Queue<T> {
    bounds: Bounds,
    entries: HashMap<i64, Entry<T>, FixedState>,
    lanes: Lanes,
    schedule: Schedule,
    superseded: Vec<(i64, Mark)>,
    uncertain: HashMap<RowId, BTreeSet<i64>>,
    /// Contents that came since they were shed.
    contents: usize,
    left_out: LeftOut,
    /// Row keys whose lane has drained, of which there is more.
    drained: VecDeque<LeftOff>,
}

#[derive(Debug)]
struct Entry<T> {
    /// `None` if it follows no other, or is ending.
    lane: Option<LaneId>,
    phase: Phase,
    due: Timestamp,
    mark: Mark,
    /// Boxed, since most entries of a full queue have none.
    content: Option<Box<T>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Held back, due, or waiting for its time.
    Waiting,
    /// Taken.
    InFlight,
    /// Superseded or withdrawn; its settle is on the way.
    Ending,
}

impl<T> Queue<T> {
    /// An empty queue. `seed` is for the hashes of row keys, and should not be guessed.
    pub fn new(bounds: Bounds, seed: u64) -> Self {
        Self {
            bounds,
            entries: HashMap::with_hasher(FixedState::with_seed(seed)),
            lanes: Lanes::new(seed),
            schedule: Schedule::new(),
            superseded: Vec::new(),
            uncertain: HashMap::new(),
            contents: 0,
            left_out: LeftOut::default(),
            drained: VecDeque::new(),
        }
    }

    /// How many more deliveries should be offered.
    pub fn room(&self) -> usize {
        self.bounds.held.saturating_sub(self.entries.len())
    }

    /// How many deliveries are held: waiting, in flight, or ending.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether the delivery is held.
    pub fn knows(&self, outbox_id: i64) -> bool {
        self.entries.contains_key(&outbox_id)
    }

    /// How many deliveries could be taken at the last `promote`.
    pub fn ready(&self) -> usize {
        self.schedule.ready()
    }

    /// Moves what has become due at `now` to what is ready.
    pub fn promote(&mut self, now: Timestamp) {
        self.schedule.promote(now);
    }

    /// When the next delivery that only waits for its time is due.
    pub fn next_due(&self) -> Option<Timestamp> {
        self.schedule.next_due()
    }

    /// Takes note of a delivery that is owed. One that is held already stays as it is.
    pub fn offer(&mut self, item: Item<T>) -> Offered {
        if self.knows(item.outbox_id) {
            return Offered::Held;
        }
        let lane = match item.order {
            OrderMode::Independent => None,
            _ if self.must_leave_out(&item) => return Offered::LeftOut,
            order => {
                let lane = self.lanes.of(&item.row);
                Some(lane.unwrap_or_else(|| self.lanes.add(item.row, order)))
            }
        };
        self.contents += usize::from(item.content.is_some());
        let entry = Entry {
            lane,
            phase: Phase::Waiting,
            due: item.due,
            mark: item.mark,
            content: item.content.map(Box::new),
        };
        self.entries.insert(item.outbox_id, entry);
        let Some(at) = lane else {
            self.schedule.put(item.outbox_id, item.due);
            return Offered::Held;
        };
        if let Some(lane) = self.lanes.get_mut(at) {
            // A configuration may change the order of a row key that never drains.
            lane.follow(item.order);
            lane.add(item.outbox_id, item.trace);
        }
        self.refresh(at);
        if self.lanes.get_mut(at).is_some_and(|lane| lane.is_blocked())
            && let Some(entry) = self.entries.get_mut(&item.outbox_id)
        {
            // What waits for a person may wait for days.
            entry.content = None;
        }
        Offered::Held
    }

    /// Hands out at most `most` deliveries that may be sent at `now`, and all that were superseded.
    pub fn take(&mut self, now: Timestamp, most: usize) -> Taken<T> {
        self.promote(now);
        let mut send = Vec::with_capacity(most.min(self.ready()));
        while send.len() < most {
            let Some(outbox_id) = self.schedule.pop() else {
                break;
            };
            send.extend(self.start(outbox_id));
        }
        Taken {
            send,
            superseded: std::mem::take(&mut self.superseded),
        }
    }

    /// Hands out one delivery that may be sent at `now`: the next one after `last`, or else the oldest, so that each has its
    /// turn.
    pub fn take_one(&mut self, now: Timestamp, last: Option<i64>) -> Option<(i64, Option<T>)> {
        self.promote(now);
        let outbox_id = self.schedule.pop_after(last)?;
        self.start(outbox_id)
    }

    /// What could be taken at the last `promote`, the oldest first, with its content where that is held.
    pub fn ready_ones(&self) -> impl Iterator<Item = (i64, Option<&T>)> {
        let one = |id| Some((id, self.entries.get(&id)?.content.as_deref()));
        self.schedule.ready_ids().filter_map(one)
    }

    /// Hands out those of `outbox_ids` that could be taken at the last `promote`.
    pub fn take_these(&mut self, outbox_ids: &[i64]) -> Vec<(i64, Option<T>)> {
        let mut taken = Vec::with_capacity(outbox_ids.len());
        for outbox_id in outbox_ids {
            if self.schedule.pop_this(*outbox_id) {
                taken.extend(self.start(*outbox_id));
            }
        }
        taken
    }

    fn start(&mut self, outbox_id: i64) -> Option<(i64, Option<T>)> {
        let entry = self.entries.get_mut(&outbox_id)?;
        entry.phase = Phase::InFlight;
        if let Some(lane) = entry.lane.and_then(|at| self.lanes.get_mut(at)) {
            lane.start(outbox_id);
        }
        Some((outbox_id, entry.content.take().map(|content| *content)))
    }

    /// A delivery that was taken stays owed, and is due again at `due`.
    pub fn retry(&mut self, outbox_id: i64, due: Timestamp, trace: Trace, mark: Mark) {
        let taken = |entry: &&mut Entry<T>| entry.phase == Phase::InFlight;
        let Some(entry) = self.entries.get_mut(&outbox_id).filter(taken) else {
            return;
        };
        entry.due = due;
        entry.mark = mark;
        entry.phase = Phase::Waiting;
        let Some(at) = entry.lane else {
            self.schedule.put(outbox_id, due);
            return;
        };
        if let Some(lane) = self.lanes.get_mut(at) {
            lane.back(outbox_id, trace);
        }
        self.refresh(at);
    }

    /// The database says that a delivery is due at `due`, which a person can have brought forward: if it waits here for later
    /// than that, it waits no longer. Nothing happens where it has been attempted since that was said.
    pub fn hurry(&mut self, outbox_id: i64, due: Timestamp, mark: Mark) {
        let waits =
            |entry: &&mut Entry<T>| entry.phase == Phase::Waiting && entry.mark == mark && entry.due > due;
        let Some(entry) = self.entries.get_mut(&outbox_id).filter(waits) else {
            return;
        };
        let later = std::mem::replace(&mut entry.due, due);
        let scheduled = match entry.lane {
            None => true,
            Some(at) => self
                .lanes
                .get_mut(at)
                .is_some_and(|lane| lane.candidate == Some(outbox_id)),
        };
        if scheduled {
            self.schedule.remove(outbox_id, later);
            self.schedule.put(outbox_id, due);
        }
    }

    /// A delivery is no longer owed. Returns the `uncertain` deliveries that a delivered newer version supersedes.
    pub fn end(&mut self, outbox_id: i64, ended: Ended) -> Vec<i64> {
        let Some(at) = self.remove(outbox_id) else {
            return Vec::new();
        };
        let mut overtaken = Vec::new();
        if let Some(lane) = self.lanes.get_mut(at) {
            lane.remove(outbox_id);
            match ended {
                Ended::Uncertain => {
                    self.uncertain
                        .entry(lane.row.clone())
                        .or_default()
                        .insert(outbox_id);
                }
                Ended::Delivered if lane.order() == OrderMode::Latest && !self.uncertain.is_empty() => {
                    let held = self.uncertain.get(&lane.row);
                    overtaken.extend(held.into_iter().flat_map(|ids| ids.range(..outbox_id)));
                }
                Ended::Delivered | Ended::Otherwise => {}
            }
        }
        self.refresh(at);
        overtaken
    }

    /// Takes out a delivery that only waits, because it is to end without being sent; held until `end`. `None` if it is
    /// not held, in flight, or ending.
    pub fn withdraw(&mut self, outbox_id: i64) -> Option<Mark> {
        let waits = |entry: &&mut Entry<T>| entry.phase == Phase::Waiting;
        let entry = self.entries.get_mut(&outbox_id).filter(waits)?;
        entry.phase = Phase::Ending;
        entry.content = None;
        self.schedule.remove(outbox_id, entry.due);
        let mark = entry.mark;
        if let Some(at) = entry.lane.take() {
            if let Some(lane) = self.lanes.get_mut(at) {
                lane.remove(outbox_id);
            }
            self.refresh(at);
        }
        Some(mark)
    }

    /// Deliveries that wait for a person, as far as is known. Ascending.
    pub fn uncertain(&self) -> Vec<i64> {
        let mut ids: Vec<i64> = self.uncertain.values().flatten().copied().collect();
        ids.sort_unstable();
        ids
    }

    /// Replaces what is known of deliveries that wait for a person; row keys that none holds any more are free.
    pub fn set_uncertain(&mut self, waiting: impl IntoIterator<Item = (i64, RowId)>) {
        let mut touched: HashSet<RowId> = self.uncertain.drain().map(|(row, _)| row).collect();
        for (outbox_id, row) in waiting {
            touched.insert(row.clone());
            self.uncertain.entry(row).or_default().insert(outbox_id);
        }
        for row in touched {
            if let Some(at) = self.lanes.of(&row) {
                self.refresh(at);
            }
        }
    }

    /// Works out anew which delivery of a lane may go, and which are superseded.
    fn refresh(&mut self, at: LaneId) {
        let Some(lane) = self.lanes.get_mut(at) else {
            return;
        };
        let before = lane.candidate;
        for outbox_id in lane.supersede() {
            if let Some(entry) = self.entries.get_mut(&outbox_id) {
                entry.phase = Phase::Ending;
                entry.content = None;
                entry.lane = None;
                self.superseded.push((outbox_id, entry.mark));
            }
        }
        let held_by = (!self.uncertain.is_empty())
            .then(|| self.uncertain.get(&lane.row)?.first().copied())
            .flatten();
        lane.candidate = lane.choose(held_by);
        let (after, empty) = (lane.candidate, lane.is_empty());
        if before != after {
            let due = |id: i64| Some((id, self.entries.get(&id)?.due));
            if let Some((id, due)) = before.and_then(due) {
                self.schedule.remove(id, due);
            }
            if let Some((id, due)) = after.and_then(due) {
                self.schedule.put(id, due);
            }
        }
        self.forget_blocked(at);
        if empty && let Some(lane) = self.lanes.remove(at) {
            self.drained(lane);
        }
    }

    /// Forgets a delivery; returns the lane that it stood in.
    fn remove(&mut self, outbox_id: i64) -> Option<LaneId> {
        let entry = self.entries.remove(&outbox_id)?;
        if entry.phase == Phase::Waiting {
            self.schedule.remove(outbox_id, entry.due);
        }
        entry.lane
    }
}
