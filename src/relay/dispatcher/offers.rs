//! What becomes of what was read: it is offered to the queue, or left to be found again.
//!
//! The queue holds a delivery only behind the nearest older one of its row key (see `core::queue::left_out`). Where that one
//! is not held, it is late or left out. A *late* one came into sight below the cursor: it is read first, and the cursor
//! waits. One that was *left out* may wait for hours, so the cursor goes on; both are read again together once, since
//! it may have ended meanwhile, and for a newer version that may take its place.

use std::collections::HashSet;
use std::time::Duration;

use super::Dispatcher;
use super::intake::Content;
use super::reads::{Loaded, Outline, Reading, SWEEP_IDS, Swept};
use crate::core::queue::{Ended, Item, Offered, OrderMode};
use crate::core::row::{Op, RowId};
use crate::core::time::Timestamp;
use crate::store::{Fetched, Owed};

/// Row keys of which something of the batch that is being offered was left out: nothing else of them is held.
type LeftOut = HashSet<RowId>;

impl Dispatcher {
    /// Takes note of what was read.
    pub(super) fn read(&mut self, reading: Reading) {
        let was_paused = self.intake.paused;
        self.intake.came_back(match &reading {
            Reading::Fetched(fetched) => Some(fetched.paused),
            Reading::Swept(_) | Reading::Loaded(_) => None,
        });
        if was_paused && !self.intake.paused {
            // A person resumed it: what the receiver asked for before that is theirs to judge.
            self.sender.release();
        }
        let monotonic = self.context.clock.monotonic();
        match reading {
            Reading::Fetched(fetched) => self.fetched(fetched, monotonic),
            Reading::Swept(swept) => self.swept(swept, monotonic),
            Reading::Loaded(loaded) => self.loaded(loaded, monotonic),
        }
    }

    fn fetched(&mut self, fetched: Fetched, monotonic: Duration) {
        self.look_at_clock(fetched.now);
        let is_busy = !fetched.owed.is_empty() || self.on_its_way() > 0;
        let intake = &mut self.intake;
        intake.fetches += 1;
        intake.cursor = intake.cursor.max(fetched.upto);
        intake.more = fetched.more;
        intake.interval = if is_busy {
            intake.poll_busy
        } else {
            (intake.interval * 2).min(intake.poll_idle)
        };
        intake.next_poll = monotonic + intake.interval;
        let mut left_out = LeftOut::new();
        for owed in fetched.owed {
            let behind = fetched.behind.get(&owed.row.id).copied();
            if let Some(older) = self.unknown_before(&owed, behind, &left_out) {
                if self.queue.floor().is_none_or(|floor| older < floor) {
                    let intake = &mut self.intake;
                    intake.strays.insert(older);
                    (intake.cursor, intake.more) = (owed.row.id - 1, false);
                    intake.next_poll = monotonic + intake.poll_busy;
                    return;
                }
                self.read_again(older, &owed);
            }
            if owed.due_at > fetched.now && !self.queue.has_plenty() {
                // What has to wait makes way for what can go; the sweep finds it once it is due.
                self.queue.leave_out(owed.row.id);
                left_out.insert(owed.row.row);
            } else {
                self.offer(owed, behind, fetched.now, &mut left_out);
            }
        }
    }

    /// The older version of the same row that is owed, and that this dispatcher does not know of.
    fn unknown_before(&self, owed: &Owed, behind: Option<i64>, left_out: &LeftOut) -> Option<i64> {
        behind.filter(|older| {
            self.order_of(owed.row.op) != OrderMode::Independent
                && !self.queue.knows(*older)
                && !left_out.contains(&owed.row.row)
        })
    }

    /// Has both read again, unless the row key is read again anyway once what is held of it has gone.
    fn read_again(&mut self, older: i64, owed: &Owed) {
        let room = self.queue.room().saturating_sub(self.intake.strays.len());
        if room >= 2 && !self.queue.holds(&owed.row.row) {
            self.intake.strays.extend([older, owed.row.id]);
        }
    }

    fn swept(&mut self, swept: Swept, monotonic: Duration) {
        self.intake.rest_after(swept.took, monotonic);
        self.intake.sweep = self.look_through(&swept);
        if self.intake.sweep.is_none() {
            let intake = &mut self.intake;
            intake.next_sweep = intake.next_sweep.max(monotonic + intake.interval);
        }
        if swept.version == self.intake.uncertain_version {
            // What a person replayed goes ahead of what has waited behind it.
            for outline in swept.replayed {
                let item = self.item(outline, None, None);
                self.queue.offer(item);
            }
            let waiting = swept.uncertain.into_iter().map(|one| (one.outbox_id, one.row));
            self.queue.set_uncertain(waiting);
        }
        for asked in swept.cancelled {
            if let Some(mark) = self.queue.withdraw(asked.outbox_id) {
                self.cancel(asked.outbox_id, mark);
            } else if !self.queue.knows(asked.outbox_id) {
                // It is left out, be it for as long as the destination is paused; so nothing of it is in flight.
                self.cancel(asked.outbox_id, asked.mark);
            } else {
                self.intake.cancelled.insert(asked.outbox_id);
            }
        }
    }

    /// Notes which ids are to be loaded. Returns how far this sweep has come; `None` if it is over.
    fn look_through(&mut self, swept: &Swept) -> Option<i64> {
        let now = self.clock.now(self.context.clock.monotonic());
        let crowded = self.queue.floor().is_some() && !self.queue.has_plenty();
        let room = self.queue.room();
        let mut seen = swept.after;
        for one in &swept.ids {
            let outbox_id = one.outbox_id;
            if self.queue.knows(outbox_id) {
                if one.due_at <= now && !self.intake.set_aside.contains(&outbox_id) {
                    self.queue.hurry(outbox_id, one.due_at, one.mark);
                }
            } else if self.queue.is_blocked(outbox_id) || crowded && one.due_at > now {
                self.queue.leave_out(outbox_id);
            } else if self.intake.strays.len() < room {
                self.intake.strays.insert(outbox_id);
            } else {
                // What is left is found by the next step. Where the order of row keys rests on the order of the sweep, it begins
                // anew: what is left out now comes first then, and nothing above it before.
                return self.queue.floor().map(|_| seen);
            }
            seen = outbox_id;
        }
        if swept.ids.len() >= usize::try_from(SWEEP_IDS).unwrap_or(usize::MAX) {
            return Some(seen);
        }
        self.queue.sweep_ends(self.intake.strays.first().copied());
        None
    }

    fn loaded(&mut self, loaded: Loaded, monotonic: Duration) {
        let Loaded {
            asked,
            owed,
            behind,
            goes_on,
        } = loaded;
        // A load that was cut by its limits says nothing of the ids above the last that came.
        let told = owed.last().map_or(i64::MAX, |last| last.row.id);
        let cut = owed.len() < asked.len() && told < i64::MAX;
        let come: HashSet<i64> = owed.iter().map(|owed| owed.row.id).collect();
        for outbox_id in asked.iter().filter(|id| !come.contains(id)) {
            if cut && *outbox_id > told {
                if !self.intake.awaited.contains(outbox_id) {
                    self.intake.strays.insert(*outbox_id);
                }
            } else if self.intake.awaited.remove(outbox_id) {
                self.queue.end(*outbox_id, Ended::Otherwise);
            }
        }
        let now = self.clock.now(monotonic);
        let active = self.active.borrow().clone();
        let mut left_out = LeftOut::new();
        for owed in owed {
            if self.intake.awaited.remove(&owed.row.id) {
                let share = self.intake.memory.share(owed.row.payload.len());
                let owed = Box::new(owed);
                self.prepare(Content { owed, share }, now, &active);
            } else {
                let behind = behind.get(&owed.row.id).copied();
                self.offer(owed, behind, now, &mut left_out);
            }
        }
        if let Some(left_off) = goes_on {
            self.queue.goes_on(&left_off);
        }
    }

    fn order_of(&self, op: Op) -> OrderMode {
        self.active.borrow().order_of(op)
    }

    fn offer(&mut self, owed: Owed, behind: Option<i64>, now: Timestamp, left_out: &mut LeftOut) {
        let follows = self.order_of(owed.row.op) != OrderMode::Independent;
        if follows && left_out.contains(&owed.row.row) {
            self.queue.leave_out_of(&owed.row.row, owed.row.id);
            return;
        }
        let outline = Outline::of(&owed);
        let row = owed.row.row.clone();
        // Without a share of the memory only the id is kept, and so it is while it has to wait; the content is read again
        // when its turn has come.
        let content = (owed.due_at <= now)
            .then(|| self.intake.memory.share(owed.row.payload.len()))
            .flatten()
            .map(|share| Content {
                owed: Box::new(owed),
                share: Some(share),
            });
        let item = self.item(outline, behind, content);
        if self.queue.offer(item) == Offered::LeftOut {
            left_out.insert(row);
        }
    }

    fn item(&self, outline: Outline, behind: Option<i64>, content: Option<Content>) -> Item<Content> {
        Item {
            outbox_id: outline.outbox_id,
            order: self.order_of(outline.op),
            row: outline.row,
            due: outline.due,
            trace: outline.trace,
            mark: outline.mark,
            behind,
            content,
        }
    }
}
