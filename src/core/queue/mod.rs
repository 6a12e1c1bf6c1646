//! What may be sent next from one shard of one destination.
//!
//! The dispatcher offers what it read, takes what may be sent, and says what became of it. The queue keeps the order
//! per row key: which delivery of a key goes first, which waits, and which is superseded. It holds ids and, until they
//! are taken, contents; it reads no clock and writes nothing. How one row key decides stands in `lane`.
//!
//! ```text
//!  offer ─▶ waiting ──take──▶ in flight ──end──▶ (gone)
//!             ▲  │                │
//!             │  └─superseded─▶ ending ──end──▶ (gone)
//!             └─────── retry ─────┘
//! ```

mod lane;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap, HashSet};

use super::row::RowId;
use super::time::Timestamp;
use lane::Lane;

/// How deliveries of one row key follow one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OrderMode {
    /// A newer version supersedes older ones that are still owed.
    Latest,
    /// Each waits for the one before it.
    Ordered,
    /// None waits for another.
    Independent,
}

/// Whether an earlier attempt may have arrived without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trace {
    /// None: a newer version may take this delivery's place.
    Clean,
    /// One: newer versions wait until its outcome is known.
    Unknown,
}

/// What a settlement of a delivery must match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// Attempts on record.
    pub attempts: u32,
    /// How often a replay asked for a new key.
    pub key_epoch: u32,
}

/// A delivery as it is offered to the queue.
#[derive(Debug)]
pub struct Item<T> {
    /// The outbox row; deliveries of one row key are sent in ascending order.
    pub outbox_id: i64,
    /// Whose key it is about.
    pub row: RowId,
    /// How it follows others of its row key.
    pub order: OrderMode,
    /// When it may be sent.
    pub due: Timestamp,
    /// Whether an earlier attempt may have arrived.
    pub trace: Trace,
    /// What its settlement must match.
    pub mark: Mark,
    /// Handed out again when it is taken.
    pub content: Option<T>,
}

/// How a delivery left the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It was delivered.
    Delivered,
    /// It waits for a person, and holds its row key.
    Uncertain,
    /// It ended otherwise, or is no longer owed.
    Otherwise,
}

/// What [`Queue::take`] hands out.
#[derive(Debug)]
pub struct Taken<T> {
    /// May be sent now; each is in flight until `retry` or `end`. Without content, it must be read again.
    pub send: Vec<(i64, Option<T>)>,
    /// Must be settled as superseded; each is held until `end`.
    pub superseded: Vec<(i64, Mark)>,
}

/// One shard's deliveries in memory.
#[derive(Debug)]
pub struct Queue<T> {
    capacity: usize,
    entries: HashMap<i64, Entry<T>>,
    lanes: HashMap<RowId, Lane>,
    /// Due, by outbox id, so that older deliveries go first.
    ready: BTreeSet<i64>,
    /// Not due yet.
    timers: BTreeSet<(Timestamp, i64)>,
    superseded: Vec<(i64, Mark)>,
    uncertain: HashMap<RowId, BTreeSet<i64>>,
}

#[derive(Debug)]
struct Entry<T> {
    /// `None` if it follows no other.
    row: Option<RowId>,
    due: Timestamp,
    phase: Phase,
    mark: Mark,
    content: Option<T>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Held back, due, or waiting for its time.
    Waiting,
    /// Taken.
    InFlight,
    /// Superseded; its settle is on the way.
    Ending,
}

impl<T> Queue<T> {
    /// An empty queue that wants to hold at most `capacity` deliveries.
    pub fn new(capacity: usize) -> Self {
        Self {
            capacity,
            entries: HashMap::new(),
            lanes: HashMap::new(),
            ready: BTreeSet::new(),
            timers: BTreeSet::new(),
            superseded: Vec::new(),
            uncertain: HashMap::new(),
        }
    }

    /// How many more deliveries should be offered.
    pub fn room(&self) -> usize {
        self.capacity.saturating_sub(self.entries.len())
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
        self.ready.len()
    }

    /// Moves what has become due at `now` to what is ready.
    pub fn promote(&mut self, now: Timestamp) {
        while let Some((due, outbox_id)) = self.timers.first().copied().filter(|(due, _)| *due <= now) {
            self.timers.remove(&(due, outbox_id));
            self.ready.insert(outbox_id);
        }
    }

    /// When the next delivery that only waits for its time is due.
    pub fn next_due(&self) -> Option<Timestamp> {
        self.timers.first().map(|(due, _)| *due)
    }

    /// Takes note of a delivery that is owed. One that is held already stays as it is.
    pub fn offer(&mut self, item: Item<T>) {
        if self.knows(item.outbox_id) {
            return;
        }
        let row = (item.order != OrderMode::Independent).then(|| item.row.clone());
        let Item {
            outbox_id,
            order,
            due,
            trace,
            mark,
            content,
            ..
        } = item;
        let entry = Entry {
            row,
            due,
            phase: Phase::Waiting,
            mark,
            content,
        };
        self.entries.insert(outbox_id, entry);
        match order {
            OrderMode::Independent => self.schedule(outbox_id),
            order => {
                let lane = self
                    .lanes
                    .entry(item.row.clone())
                    .or_insert_with(|| Lane::new(order));
                lane.add(outbox_id, trace);
                self.refresh(&item.row);
            }
        }
    }

    /// Hands out at most `most` deliveries that may be sent at `now`, and all that were superseded.
    pub fn take(&mut self, now: Timestamp, most: usize) -> Taken<T> {
        self.promote(now);
        let mut send = Vec::new();
        while send.len() < most {
            let Some(outbox_id) = self.ready.pop_first() else {
                break;
            };
            let Some(entry) = self.entries.get_mut(&outbox_id) else {
                continue;
            };
            entry.phase = Phase::InFlight;
            send.push((outbox_id, entry.content.take()));
            if let Some(lane) = entry.row.as_ref().and_then(|row| self.lanes.get_mut(row)) {
                lane.start(outbox_id);
            }
        }
        Taken {
            send,
            superseded: std::mem::take(&mut self.superseded),
        }
    }

    /// Hands out one delivery that may be sent at `now`, of another id than `passed_over` if there is any.
    pub fn take_one(&mut self, now: Timestamp, passed_over: &BTreeSet<i64>) -> Option<(i64, Option<T>)> {
        self.promote(now);
        let other = self.ready.iter().find(|id| !passed_over.contains(*id));
        let outbox_id = *other.or_else(|| self.ready.first())?;
        self.ready.remove(&outbox_id);
        let entry = self.entries.get_mut(&outbox_id)?;
        entry.phase = Phase::InFlight;
        if let Some(lane) = entry.row.as_ref().and_then(|row| self.lanes.get_mut(row)) {
            lane.start(outbox_id);
        }
        Some((outbox_id, entry.content.take()))
    }

    /// A delivery that was taken stays owed, and is due again at `due`.
    pub fn retry(&mut self, outbox_id: i64, due: Timestamp, trace: Trace, mark: Mark) {
        let Some(entry) = self.entries.get_mut(&outbox_id) else {
            return;
        };
        entry.due = due;
        entry.mark = mark;
        entry.phase = Phase::Waiting;
        match entry.row.clone() {
            None => self.schedule(outbox_id),
            Some(row) => {
                if let Some(lane) = self.lanes.get_mut(&row) {
                    lane.back(outbox_id, trace);
                }
                self.refresh(&row);
            }
        }
    }

    /// A delivery is no longer owed. Returns the `uncertain` deliveries that a delivered newer version supersedes.
    pub fn end(&mut self, outbox_id: i64, ended: Ended) -> Vec<i64> {
        let Some(entry) = self.entries.remove(&outbox_id) else {
            return Vec::new();
        };
        self.unschedule(outbox_id, entry.due);
        let Some(row) = entry.row else { return Vec::new() };
        let mut overtaken = Vec::new();
        if let Some(lane) = self.lanes.get_mut(&row) {
            lane.remove(outbox_id);
            match ended {
                Ended::Uncertain => {
                    self.uncertain.entry(row.clone()).or_default().insert(outbox_id);
                }
                Ended::Delivered if lane.order() == OrderMode::Latest => {
                    let held = self.uncertain.get(&row);
                    overtaken.extend(held.into_iter().flat_map(|ids| ids.range(..outbox_id)));
                }
                Ended::Delivered | Ended::Otherwise => {}
            }
        }
        self.refresh(&row);
        overtaken
    }

    /// Takes out a delivery that only waits, because it is to end without being sent; held until `end`. `None` if it is
    /// not held, in flight, or ending.
    pub fn withdraw(&mut self, outbox_id: i64) -> Option<Mark> {
        let entry = self
            .entries
            .get_mut(&outbox_id)
            .filter(|entry| entry.phase == Phase::Waiting)?;
        entry.phase = Phase::Ending;
        entry.content = None;
        let (mark, due, row) = (entry.mark, entry.due, entry.row.clone());
        self.unschedule(outbox_id, due);
        if let Some(row) = row {
            if let Some(lane) = self.lanes.get_mut(&row) {
                lane.remove(outbox_id);
            }
            self.refresh(&row);
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
            self.refresh(&row);
        }
    }

    /// Works out anew which delivery of `row` may go, and which are superseded.
    fn refresh(&mut self, row: &RowId) {
        let Some(lane) = self.lanes.get_mut(row) else {
            return;
        };
        if let Some(before) = lane.candidate.take()
            && let Some(due) = self.entries.get(&before).map(|entry| entry.due)
        {
            self.unschedule(before, due);
        }
        let Some(lane) = self.lanes.get_mut(row) else {
            return;
        };
        for outbox_id in lane.supersede() {
            if let Some(entry) = self.entries.get_mut(&outbox_id) {
                entry.phase = Phase::Ending;
                entry.content = None;
                self.superseded.push((outbox_id, entry.mark));
            }
        }
        let held_by = self.uncertain.get(row).and_then(|ids| ids.first().copied());
        lane.candidate = lane.choose(held_by);
        match lane.candidate {
            Some(candidate) => self.schedule(candidate),
            None if lane.is_empty() => {
                self.lanes.remove(row);
            }
            None => {}
        }
    }

    /// Puts a delivery among the timers; `take` finds it there once it is due.
    fn schedule(&mut self, outbox_id: i64) {
        if let Some(entry) = self.entries.get(&outbox_id) {
            self.timers.insert((entry.due, outbox_id));
        }
    }

    fn unschedule(&mut self, outbox_id: i64, due: Timestamp) {
        self.ready.remove(&outbox_id);
        self.timers.remove(&(due, outbox_id));
    }
}
