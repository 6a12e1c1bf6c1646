//! What to read next.
//!
//! Fresh deliveries come by a cursor that only ascends; it is for speed, never for correctness. Whatever it passed and
//! is not in memory (a late commit under a lower id, a replay, a row that was left out) is found by the sweep, which
//! walks the ids below the cursor again, at no more than a fiftieth of the time. What becomes of what was read stands in
//! `offers`.
//!
//! What is fresh and what was found again take turns, so that neither starves the other.

use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

use tokio::sync::watch;

use super::Dispatcher;
use super::events::Event;
use super::memory::{Memory, Share};
use super::reads::{Errand, read};
use crate::config::RelayConfig;
use crate::relay::pace;
use crate::relay::reconnect::retrying;
use crate::store::{FetchLimits, Owed};

/// Payload bytes for which it is worth while to read.
const ENOUGH_BYTES: u64 = 64 * 1024;

/// A delivery in memory, with its share of the bytes that may be held.
pub(super) struct Content {
    /// Boxed: it goes through many hands.
    pub(super) owed: Box<Owed>,
    /// Held, not read.
    pub(super) share: Option<Share>,
}

/// Where reading stands.
pub(super) struct Intake {
    pub(super) limits: FetchLimits,
    pub(super) poll_busy: Duration,
    pub(super) poll_idle: Duration,
    /// Deliveries up to here have been read.
    pub(super) cursor: i64,
    pub(super) more: bool,
    /// Whether the destination is paused, as far as is known.
    pub(super) paused: bool,
    /// Whether it was this dispatcher that paused it, and how far that has come.
    own_pause: OwnPause,
    pub(super) reading: bool,
    /// How often fresh ones have been read.
    pub(super) fetches: u64,
    pub(super) interval: Duration,
    pub(super) next_poll: Duration,
    /// The sweep that is under way has read up to here.
    pub(super) sweep: Option<i64>,
    pub(super) next_sweep: Duration,
    /// Its share of the time allows a sweep from then on.
    sweep_allowed: Duration,
    /// Ids whose deliveries were taken and are to be loaded.
    pub(super) awaited: BTreeSet<i64>,
    /// Loaded in this order, so that what belongs to one row key keeps its own.
    pub(super) strays: BTreeSet<i64>,
    /// Deliveries that wait in memory alone, though the database says that they are due: no sweep hurries them.
    pub(super) set_aside: BTreeSet<i64>,
    /// Asked to be cancelled while they are in flight: it takes effect at their settle.
    pub(super) cancelled: HashSet<i64>,
    turn: Turn,
    pub(super) uncertain_version: u64,
    pub(super) memory: Memory,
    bell: watch::Receiver<u64>,
}

/// Whose turn it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    Found,
    Fresh,
}

/// How far a pause on the relay's own account has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OwnPause {
    /// It is being written.
    Writing,
    /// It is written, but the read that is under way may have begun before.
    Written,
    /// Every read from now on sees it, or there is none.
    Seen,
}

impl Intake {
    pub(super) fn new(limits: &RelayConfig, bell: watch::Receiver<u64>) -> Self {
        let bytes = usize::try_from(limits.fetch_bytes).unwrap_or(usize::MAX);
        Self {
            limits: FetchLimits {
                rows: limits.fetch_rows,
                bytes: limits.fetch_bytes.into(),
            },
            poll_busy: limits.poll_busy,
            poll_idle: limits.poll_idle,
            cursor: 0,
            more: true,
            paused: false,
            own_pause: OwnPause::Seen,
            reading: false,
            fetches: 0,
            interval: limits.poll_busy,
            next_poll: Duration::ZERO,
            sweep: None,
            next_sweep: Duration::ZERO,
            sweep_allowed: Duration::ZERO,
            awaited: BTreeSet::new(),
            strays: BTreeSet::new(),
            set_aside: BTreeSet::new(),
            cancelled: HashSet::new(),
            turn: Turn::Fresh,
            uncertain_version: 0,
            // What is read next and what is on its way.
            memory: Memory::of(bytes.saturating_mul(2)),
            bell,
        }
    }

    /// Deliveries that were taken and whose content is still to be read.
    pub(super) fn awaited(&self) -> usize {
        self.awaited.len()
    }

    /// A taken delivery has no content in memory.
    pub(super) fn await_content(&mut self, outbox_id: i64) {
        self.awaited.insert(outbox_id);
    }

    /// A delivery became `uncertain`: what a read that is under way says of them is old.
    pub(super) fn uncertain_changed(&mut self) {
        self.uncertain_version += 1;
    }

    /// The destination is to be paused: what a read says that began before that is written is old.
    pub(super) fn pause(&mut self) {
        (self.paused, self.own_pause) = (true, OwnPause::Writing);
    }

    /// The pause is written.
    pub(super) fn pause_is_written(&mut self) {
        self.own_pause = if self.reading {
            OwnPause::Written
        } else {
            OwnPause::Seen
        };
    }

    /// A read came back; `paused` is what it says of the destination, if it says anything.
    pub(super) fn came_back(&mut self, paused: Option<bool>) {
        self.reading = false;
        if let Some(paused) = paused {
            let was_paused = self.paused;
            self.paused = paused || (was_paused && self.own_pause != OwnPause::Seen);
            if was_paused && !self.paused {
                // What was skipped while it was paused lies below the cursor.
                self.next_sweep = Duration::ZERO;
            }
        }
        if self.own_pause == OwnPause::Written {
            self.own_pause = OwnPause::Seen;
        }
    }

    /// When to look at the database again, if nothing happens before (monotonic).
    pub(super) fn next_look(&self) -> Duration {
        if self.reading {
            Duration::MAX
        } else {
            self.next_poll.min(self.next_sweep)
        }
    }

    /// Returns when somebody rang the bell. Not during a read, which may have looked before: the bell waits for its end.
    pub(super) async fn woken(&mut self) {
        if self.reading {
            return std::future::pending().await;
        }
        match self.bell.changed().await {
            Ok(()) => {
                self.next_poll = Duration::ZERO;
                // What was committed may be late, below the cursor.
                self.next_sweep = self.next_sweep.min(self.sweep_allowed);
            }
            Err(_) => std::future::pending().await,
        }
    }

    /// A step of a sweep took so long: the next one comes after its rest.
    pub(super) fn rest_after(&mut self, took: Duration, monotonic: Duration) {
        self.sweep_allowed = monotonic + pace::after_look(took);
        self.next_sweep = self.sweep_allowed;
    }

    pub(super) fn rows(&self) -> usize {
        usize::try_from(self.limits.rows).unwrap_or(usize::MAX)
    }

    fn fetch_limits(&self, room: usize) -> FetchLimits {
        FetchLimits {
            rows: self.limits.rows.min(u32::try_from(room).unwrap_or(u32::MAX)),
            // A single row comes anyway.
            bytes: self.limits.bytes.min(self.memory.free()),
        }
    }

    /// Whether it is worth while to read for the bytes that are free.
    pub(super) fn has_memory(&self) -> bool {
        self.memory.free() >= ENOUGH_BYTES.min(self.limits.bytes)
    }
}

impl Dispatcher {
    /// Starts the next read, if one is due and none is under way.
    pub(super) fn start_read(&mut self, monotonic: Duration) {
        if self.intake.reading {
            return;
        }
        let Some(errand) = self.next_errand(monotonic) else {
            return;
        };
        self.intake.reading = true;
        let context = self.context.clone();
        // A drain needs nothing that is still to be read.
        let (shard, drain) = (self.lease.shard.clone(), self.stop.drain.clone());
        self.tasks.spawn(async move {
            let started = context.clock.monotonic();
            let reading = retrying("read", &drain, || read(&*context.store, &shard, &errand)).await;
            crate::crash_point!("after_fetch");
            let took = context.clock.monotonic().saturating_sub(started);
            Event::Read(reading.map(|reading| reading.map(|reading| reading.taking(took))))
        });
    }

    fn next_errand(&mut self, monotonic: Duration) -> Option<Errand> {
        if let Some(errand) = self.load_awaited() {
            return Some(errand);
        }
        // Takes a fiftieth of the time, so it need not wait until there is nothing better to do.
        let sweep = monotonic >= self.intake.next_sweep;
        if sweep && self.intake.cursor > 0 {
            return Some(self.next_step());
        }
        let hungry = self.is_hungry();
        if hungry && !self.intake.paused {
            self.make_room();
            if let Some(errand) = self.next_found() {
                self.intake.turn = Turn::Fresh;
                return Some(errand);
            }
        }
        let room = self.queue.room();
        let poll = monotonic >= self.intake.next_poll;
        if (self.intake.more && hungry && room > 0 && !self.intake.paused) || poll {
            self.intake.turn = Turn::Found;
            return Some(Errand::Fetch {
                after: self.intake.cursor,
                // A poll of one that is not hungry only looks at the clock, and whether it is paused.
                limits: self.intake.fetch_limits(if hungry { room } else { 0 }),
                floor: self.queue.floor(),
            });
        }
        sweep.then(|| self.next_step())
    }

    /// Whether more should be read: there is little to send, and memory for more, or none that will be free by itself.
    fn is_hungry(&mut self) -> bool {
        let ready = self.queue.ready();
        if !self.intake.awaited.is_empty() || ready >= self.enough() {
            return false;
        }
        if ready == 0 && !self.intake.has_memory() {
            // What is not ready waits without its content, since that keeps others from being sent.
            self.queue.shed_contents();
        }
        self.intake.has_memory() || (ready == 0 && self.on_its_way() == 0)
    }

    /// Deliveries whose content is free again soon.
    pub(super) fn on_its_way(&self) -> usize {
        let by_jobs = self.recorder.beginning_by_jobs() + self.bulk.holding();
        self.recorder.beginning() + self.sender.len() + by_jobs
    }

    /// Makes room for what can go sooner than what is held, if there is anything.
    fn make_room(&mut self) {
        let intake = &self.intake;
        if intake.more || !intake.strays.is_empty() || self.queue.has_left_off() {
            self.queue.make_room(intake.rows());
        }
    }

    /// What was taken is loaded as far as there is memory: a row at least, as soon as any is free.
    fn load_awaited(&mut self) -> Option<Errand> {
        if self.intake.awaited.is_empty() {
            return None;
        }
        if self.intake.memory.free() == 0 && self.on_its_way() == 0 {
            // All of it is held by what waits, be it behind one of these.
            self.queue.shed_contents();
        }
        let free = self.intake.memory.free();
        let ids = self.intake.awaited.iter().copied().take(self.intake.rows());
        (free > 0).then(|| Errand::Load {
            ids: ids.collect(),
            limits: FetchLimits {
                bytes: self.intake.limits.bytes.min(free),
                ..self.intake.limits
            },
        })
    }

    /// What was left out and found again, if it is its turn.
    fn next_found(&mut self) -> Option<Errand> {
        let (room, floor) = (self.queue.room(), self.queue.floor());
        if room == 0 || (self.intake.turn == Turn::Fresh && self.intake.more) {
            return None;
        }
        let limits = self.intake.fetch_limits(room);
        if let Some(left_off) = self.queue.next_left_off() {
            return Some(Errand::Row {
                left_off,
                limits,
                floor,
            });
        }
        if self.intake.strays.is_empty() {
            return None;
        }
        let mut ids = std::mem::take(&mut self.intake.strays);
        if let Some(first_left) = ids.iter().nth(self.intake.rows().min(room)).copied() {
            self.intake.strays = ids.split_off(&first_left);
        }
        Some(Errand::Found {
            ids: ids.into_iter().collect(),
            limits,
            floor,
        })
    }

    fn next_step(&mut self) -> Errand {
        let after = self.intake.sweep.unwrap_or(0);
        if after == 0 {
            self.queue.sweep_begins();
        }
        Errand::Sweep {
            after,
            upto: self.intake.cursor,
            version: self.intake.uncertain_version,
            held: self.queue.uncertain(),
            limits: FetchLimits {
                bytes: ENOUGH_BYTES,
                ..self.intake.limits
            },
        }
    }
}
