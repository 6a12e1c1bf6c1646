//! A table of what is owed, and a queue that holds little of it.
//!
//! The reader here keeps the rules of `left_out` in the plainest way. Whatever is handed out is judged by the table alone:
//! nothing of its row key that must go before it may be owed. In the end everything has been found.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};

use super::{MARK, at};
use crate::core::queue::{Bounds, Ended, Item, LeftOff, Offered, OrderMode, Queue, Trace};
use crate::core::row::RowId;

const WINDOW: usize = 7;

/// A row of the table.
#[derive(Debug, Clone, Copy)]
struct Owed {
    key: u64,
    due: i64,
    trace: Trace,
    in_flight: bool,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    Commit { key: u64, due_in: i64 },
    Fetch,
    Found,
    LeftOff,
    Sweep,
    MakeRoom(usize),
    Take(usize),
    Retry { pick: usize, after: i64, trace: Trace },
    End { pick: usize, ended: Ended },
    Cancel { pick: usize },
    PersonDecides,
}

pub(super) struct World {
    order: OrderMode,
    queue: Queue<i64>,
    owed: BTreeMap<i64, Owed>,
    keys: Vec<u64>,
    uncertain: BTreeMap<i64, u64>,
    cursor: i64,
    strays: BTreeSet<i64>,
    sweep: i64,
    now: i64,
    seed: u64,
    /// The last steps, for whoever has to find out.
    trail: VecDeque<Step>,
}

impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!(
                "seed {}, {:?}, the last steps: {:#?}",
                self.seed, self.order, self.trail
            );
        }
    }
}

fn row(key: u64) -> RowId {
    RowId::new("t", &key.to_string())
}

impl World {
    pub(super) fn new(order: OrderMode, seed: u64) -> Self {
        Self {
            order,
            queue: Queue::new(
                Bounds {
                    held: 24,
                    per_row_key: 4,
                },
                seed,
            ),
            owed: BTreeMap::new(),
            keys: vec![u64::MAX],
            uncertain: BTreeMap::new(),
            cursor: 0,
            strays: BTreeSet::new(),
            sweep: 0,
            now: 0,
            seed,
            trail: VecDeque::new(),
        }
    }

    pub(super) fn step(&mut self, step: Step) {
        if self.trail.len() == 60 {
            self.trail.pop_front();
        }
        self.trail.push_back(step);
        match step {
            // What is not read yet must not grow beyond what the model can look through.
            Step::Commit { .. } if self.owed.len() > 50 => {}
            Step::Commit { key, due_in } => {
                let id = i64::try_from(self.keys.len()).unwrap();
                self.keys.push(key);
                let due = self.now + due_in;
                self.owed.insert(
                    id,
                    Owed {
                        key,
                        due,
                        trace: Trace::Clean,
                        in_flight: false,
                    },
                );
            }
            Step::Fetch => self.fetch(),
            Step::Found => self.found(),
            Step::LeftOff => self.left_off(),
            Step::Sweep => self.sweep(),
            Step::MakeRoom(wanted) => self.queue.make_room(wanted),
            Step::Take(most) => self.take(most),
            Step::Retry { pick, after, trace } => {
                let Some(id) = self.pick(pick, true) else { return };
                let due = self.now + after;
                self.queue.retry(id, at(due), trace, MARK);
                let one = self.owed.get_mut(&id).unwrap();
                (one.due, one.trace, one.in_flight) = (due, trace, false);
            }
            Step::End { pick, ended } => {
                let Some(id) = self.pick(pick, true) else { return };
                let key = self.owed.remove(&id).unwrap().key;
                for overtaken in self.queue.end(id, ended) {
                    self.uncertain.remove(&overtaken);
                }
                if ended == Ended::Uncertain && self.order != OrderMode::Independent {
                    self.uncertain.insert(id, key);
                }
                self.tell_uncertain();
            }
            Step::Cancel { pick } => {
                // Past the queue, which may hold it still.
                if let Some(id) = self.pick(pick, false) {
                    self.owed.remove(&id);
                }
            }
            Step::PersonDecides => {
                self.uncertain.pop_first();
                self.tell_uncertain();
            }
        }
    }

    fn tell_uncertain(&mut self) {
        let uncertain: Vec<_> = self.uncertain.iter().map(|(id, key)| (*id, row(*key))).collect();
        self.queue.set_uncertain(uncertain);
    }

    fn pick(&self, pick: usize, in_flight: bool) -> Option<i64> {
        let ids = || {
            self.owed
                .iter()
                .filter(|(_, one)| one.in_flight == in_flight)
                .map(|(id, _)| *id)
        };
        ids().nth(pick.checked_rem(ids().count())?)
    }

    /// What the two statements say: the version just before, if it is owed; from the floor on, the nearest that is.
    fn behind(&self, id: i64, floor: Option<i64>) -> Option<i64> {
        let key = self.owed[&id].key;
        let nearest = self
            .owed
            .range(floor?.min(id)..id)
            .rev()
            .find(|(_, one)| one.key == key);
        nearest.map(|(id, _)| *id)
    }

    fn just_before(&self, id: i64) -> Option<i64> {
        let key = self.owed[&id].key;
        let before = (1..id)
            .rev()
            .find(|older| self.keys[usize::try_from(*older).unwrap()] == key)?;
        self.owed.contains_key(&before).then_some(before)
    }

    fn fetch(&mut self) {
        let (room, floor) = (self.queue.room(), self.queue.floor());
        let batch: Vec<i64> = self
            .owed
            .range(self.cursor + 1..)
            .take(room.min(5))
            .map(|(id, _)| *id)
            .collect();
        let read: Vec<_> = (batch.into_iter())
            .map(|id| (id, self.behind(id, floor).or_else(|| self.just_before(id))))
            .collect();
        let mut left_out = HashSet::new();
        for (id, behind) in read {
            self.cursor = id;
            let one = self.owed[&id];
            if let Some(older) = behind.filter(|older| !self.queue.knows(*older))
                && !self.queue.holds(&row(one.key))
                && self.strays.len() + 2 <= self.queue.room()
            {
                self.strays.extend([older, id]);
            }
            if one.due > self.now && !self.queue.has_plenty() {
                self.queue.leave_out(id);
                left_out.insert(one.key);
            } else {
                self.offer(id, behind, &mut left_out);
            }
        }
    }

    fn offer(&mut self, id: i64, behind: Option<i64>, left_out: &mut HashSet<u64>) {
        let one = self.owed[&id];
        if self.order != OrderMode::Independent && left_out.contains(&one.key) {
            self.queue.leave_out_of(&row(one.key), id);
            return;
        }
        let offered = self.queue.offer(Item {
            outbox_id: id,
            row: row(one.key),
            order: self.order,
            due: at(one.due),
            trace: one.trace,
            mark: MARK,
            behind,
            content: Some(id),
        });
        if offered == Offered::LeftOut {
            left_out.insert(one.key);
        }
    }

    fn load(&mut self, ids: impl IntoIterator<Item = i64>) {
        let floor = self.queue.floor();
        let owed: Vec<_> = (ids.into_iter())
            .filter(|id| self.owed.contains_key(id))
            .map(|id| (id, self.behind(id, floor).or_else(|| self.just_before(id))))
            .collect();
        let mut left_out = HashSet::new();
        for (id, behind) in owed {
            self.offer(id, behind, &mut left_out);
        }
    }

    fn found(&mut self) {
        let room = self.queue.room();
        let ids: Vec<i64> = self.strays.iter().copied().take(room.min(4)).collect();
        for id in &ids {
            self.strays.remove(id);
        }
        self.load(ids);
    }

    fn left_off(&mut self) {
        let Some(LeftOff { row: left, from }) = self.queue.next_left_off() else {
            return;
        };
        let of_row = self.owed.range(from..).filter(|(_, one)| row(one.key) == left);
        let ids: Vec<i64> = of_row.map(|(id, _)| *id).take(4).collect();
        let goes_on = (ids.len() == 4).then(|| LeftOff {
            row: left,
            from: ids[3] + 1,
        });
        self.load(ids);
        if let Some(left_off) = goes_on {
            self.queue.goes_on(&left_off);
        }
    }

    fn sweep(&mut self) {
        if self.sweep == 0 {
            self.queue.sweep_begins();
        }
        let ids: Vec<i64> = (self.owed.range(self.sweep + 1..=self.cursor.max(self.sweep + 1)))
            .map(|(id, _)| *id)
            .filter(|id| *id <= self.cursor)
            .take(WINDOW)
            .collect();
        let crowded = self.queue.floor().is_some() && !self.queue.has_plenty();
        for id in &ids {
            if self.queue.knows(*id) {
            } else if self.queue.is_blocked(*id) || crowded && self.owed[id].due > self.now {
                self.queue.leave_out(*id);
            } else if self.strays.len() < self.queue.room() {
                self.strays.insert(*id);
            } else if self.queue.floor().is_some() {
                return;
            } else {
                self.sweep = 0;
                return;
            }
            self.sweep = *id;
        }
        if ids.len() < WINDOW {
            self.sweep = 0;
            self.queue.sweep_ends(self.strays.first().copied());
        }
    }

    fn take(&mut self, most: usize) {
        self.now += 1;
        let taken = self.queue.take(at(self.now), most);
        let superseded: BTreeSet<i64> = taken.superseded.iter().map(|(id, _)| *id).collect();
        for (id, content) in taken.send {
            assert!(content.is_none_or(|content| content == id));
            let Some(one) = self.owed.get(&id).copied() else {
                // It was cancelled meanwhile, as the record would find.
                self.queue.end(id, Ended::Otherwise);
                continue;
            };
            assert!(one.due <= self.now, "{id} is not due");
            self.may_go(id, one, &superseded);
            self.owed.get_mut(&id).unwrap().in_flight = true;
        }
        for id in superseded {
            self.queue.end(id, Ended::Otherwise);
            self.owed.remove(&id);
        }
    }

    /// Nothing of its row key that must go before it is owed, held or not.
    fn may_go(&self, id: i64, one: Owed, superseded: &BTreeSet<i64>) {
        assert!(!one.in_flight, "{id} is in flight already");
        if self.order == OrderMode::Independent {
            return;
        }
        let mut siblings = self
            .owed
            .iter()
            .filter(|(other, two)| two.key == one.key && **other != id);
        let before = siblings
            .clone()
            .find(|(other, _)| **other < id && !superseded.contains(other));
        assert!(before.is_none(), "{id} goes past {before:?}");
        assert!(
            siblings.all(|(_, two)| !two.in_flight),
            "{id} goes beside another"
        );
        let held = self.order == OrderMode::Ordered
            && self
                .uncertain
                .iter()
                .any(|(held, key)| *key == one.key && *held < id);
        assert!(!held, "{id} goes though its row key is held");
    }

    /// With nothing new, and every answer a success, all of it goes.
    pub(super) fn drain(&mut self) {
        self.uncertain.clear();
        self.tell_uncertain();
        for _ in 0..3_000 {
            if self.owed.is_empty() {
                return;
            }
            for step in [
                Step::LeftOff,
                Step::Found,
                Step::Fetch,
                Step::Sweep,
                Step::Take(5),
            ] {
                self.step(step);
            }
            while self.pick(0, true).is_some() {
                self.step(Step::End {
                    pick: 0,
                    ended: Ended::Delivered,
                });
            }
            self.step(Step::MakeRoom(3));
        }
        panic!("never found again: {:?}", self.owed);
    }
}
