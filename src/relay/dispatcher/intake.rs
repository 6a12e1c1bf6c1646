//! What to read next, and what becomes of what was read.
//!
//! Fresh deliveries come by a cursor that only ascends; it is for speed, never for correctness. Whatever it passed and
//! is not in memory (a late commit under a lower id, a replay, a row that was forgotten) is found by the sweep, which
//! walks the ids below the cursor again, at no more than a fiftieth of the time.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use super::Dispatcher;
use super::events::Event;
use super::reads::{Job, Reading, SWEEP_IDS, Swept, read};
use crate::config::RelayConfig;
use crate::core::queue::{Ended, Item, OrderMode};
use crate::core::row::TopicKind;
use crate::relay::reconnect::retrying;
use crate::store::{FetchLimits, Fetched, Owed};

/// The share of time that sweeps may take: one part in so many.
const SWEEP_SHARE: u32 = 50;
/// Payload bytes that are read however full the memory is, so that a blocked row key never stops the rest.
const LEAST_BYTES: u64 = 64 * 1024;

/// A delivery in memory, with its share of the bytes that may be held.
pub(super) struct Content {
    pub(super) owed: Owed,
    _share: Option<OwnedSemaphorePermit>,
}

/// Where reading stands.
pub(super) struct Intake {
    limits: FetchLimits,
    poll_busy: Duration,
    poll_idle: Duration,
    /// Deliveries up to here have been read.
    cursor: i64,
    more: bool,
    /// Whether the destination is paused, as far as is known.
    pub(super) paused: bool,
    reading: bool,
    interval: Duration,
    next_poll: Duration,
    /// The sweep that is under way has read up to here.
    sweep: Option<i64>,
    next_sweep: Duration,
    /// Its share of the time allows a sweep from then on.
    sweep_allowed: Duration,
    /// Ids whose deliveries are to be loaded: taken ones first.
    awaited: HashSet<i64>,
    /// Loaded in this order, so that what belongs to one row key keeps its own.
    strays: BTreeSet<i64>,
    uncertain_version: u64,
    memory: Arc<Semaphore>,
    bell: watch::Receiver<u64>,
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
            reading: false,
            interval: limits.poll_busy,
            next_poll: Duration::ZERO,
            sweep: None,
            next_sweep: Duration::ZERO,
            sweep_allowed: Duration::ZERO,
            awaited: HashSet::new(),
            strays: BTreeSet::new(),
            uncertain_version: 0,
            memory: Arc::new(Semaphore::new((bytes * 2).min(Semaphore::MAX_PERMITS))),
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

    /// A sweep has ended, whose last step took so long.
    fn rest_from_sweeps(&mut self, monotonic: Duration, took: Duration) {
        self.sweep_allowed = monotonic + took * SWEEP_SHARE;
        self.next_sweep = self.sweep_allowed.max(monotonic + self.interval);
    }

    /// A share of the memory for `bytes` of payload, if there is room.
    fn share(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let bytes = u32::try_from(bytes.max(1)).ok()?;
        self.memory.clone().try_acquire_many_owned(bytes).ok()
    }

    fn fetch_limits(&self, room: usize) -> FetchLimits {
        let free = u64::try_from(self.memory.available_permits()).unwrap_or(u64::MAX);
        FetchLimits {
            rows: self.limits.rows.min(u32::try_from(room).unwrap_or(u32::MAX)),
            bytes: self.limits.bytes.min(free).max(LEAST_BYTES),
        }
    }
}

impl Dispatcher {
    /// Starts the next read, if one is due and none is under way.
    pub(super) fn start_read(&mut self, monotonic: Duration) {
        if self.intake.reading {
            return;
        }
        let Some(job) = self.next_job(monotonic) else {
            return;
        };
        self.intake.reading = true;
        let context = self.context.clone();
        // A drain needs nothing that is still to be read.
        let (shard, drain) = (self.lease.shard.clone(), self.stop.drain.clone());
        let limits = self.intake.limits;
        self.tasks.spawn(async move {
            let started = context.clock.monotonic();
            let reading = retrying("read", &drain, || read(&*context.store, &shard, &job, limits)).await;
            crate::crash_point!("after_fetch");
            let took = context.clock.monotonic().saturating_sub(started);
            Event::Read(reading.map(|reading| reading.map(|reading| reading.taking(took))))
        });
    }

    fn next_job(&mut self, monotonic: Duration) -> Option<Job> {
        let intake = &mut self.intake;
        let rows = usize::try_from(intake.limits.rows).unwrap_or(usize::MAX);
        if !intake.awaited.is_empty() {
            let mut ids: Vec<i64> = intake.awaited.iter().copied().take(rows).collect();
            ids.sort_unstable();
            return Some(Job::Load(ids));
        }
        let room = self.queue.room();
        let hungry = self.queue.ready() < rows;
        if room > 0 && hungry && !intake.strays.is_empty() && !intake.paused {
            let mut ids = std::mem::take(&mut intake.strays);
            if let Some(first_left) = ids.iter().nth(rows.min(room)).copied() {
                intake.strays = ids.split_off(&first_left);
            }
            return Some(Job::Load(ids.into_iter().collect()));
        }
        let poll = monotonic >= intake.next_poll;
        if (intake.more && hungry && room > 0 && !intake.paused) || poll {
            return Some(Job::Fetch {
                after: intake.cursor,
                limits: intake.fetch_limits(room),
            });
        }
        if monotonic >= intake.next_sweep || intake.sweep.is_some() {
            let (after, upto) = (intake.sweep.unwrap_or(0), intake.cursor);
            return Some(Job::Sweep {
                after,
                upto,
                version: intake.uncertain_version,
                held: self.queue.uncertain(),
            });
        }
        if poll {
            intake.next_poll = monotonic + intake.interval;
        }
        None
    }

    /// Takes note of what was read.
    pub(super) fn read(&mut self, reading: Reading) {
        self.intake.reading = false;
        let monotonic = self.context.clock.monotonic();
        match reading {
            Reading::Fetched(fetched) => self.fetched(fetched, monotonic),
            Reading::Swept(swept) => self.swept(swept, monotonic),
            Reading::Loaded { asked, owed } => self.loaded(&asked, owed),
        }
    }

    fn fetched(&mut self, fetched: Fetched, monotonic: Duration) {
        self.look_at_clock(fetched.now);
        let intake = &mut self.intake;
        let found = !fetched.owed.is_empty();
        if intake.paused && !fetched.paused {
            // What was skipped while it was paused lies below the cursor.
            intake.next_sweep = Duration::ZERO;
        }
        intake.paused = fetched.paused;
        intake.cursor = intake.cursor.max(fetched.upto);
        intake.more = fetched.more;
        intake.interval = if found {
            intake.poll_busy
        } else {
            (intake.interval * 2).min(intake.poll_idle)
        };
        intake.next_poll = monotonic + intake.interval;
        for owed in fetched.owed {
            if let Some(older) = self.unknown_before(&owed, &fetched.behind) {
                // An older version came into sight late, below the cursor: it is read first, and the cursor waits.
                let intake = &mut self.intake;
                intake.strays.insert(older);
                (intake.cursor, intake.more) = (owed.row.id - 1, false);
                intake.next_poll = monotonic + intake.poll_busy;
                return;
            }
            self.offer(owed);
        }
    }

    /// The older version of the same row that is owed, and that this dispatcher does not know of.
    fn unknown_before(&self, owed: &Owed, behind: &HashMap<i64, i64>) -> Option<i64> {
        let older = *behind.get(&owed.row.id)?;
        (self.order_of(owed) != OrderMode::Independent && !self.queue.knows(older)).then_some(older)
    }

    fn swept(&mut self, swept: Swept, monotonic: Duration) {
        let done = swept.ids.len() < usize::try_from(SWEEP_IDS).unwrap_or(usize::MAX);
        let intake = &mut self.intake;
        intake.sweep = swept.ids.last().copied().filter(|_| !done);
        if done {
            intake.rest_from_sweeps(monotonic, swept.took);
        }
        let room = self.queue.room();
        for outbox_id in swept.ids.into_iter().filter(|id| !self.queue.knows(*id)) {
            if intake.strays.len() >= room {
                // What is left out now is found first by the next sweep, and nothing above it before.
                intake.sweep = None;
                intake.rest_from_sweeps(monotonic, swept.took);
                break;
            }
            intake.strays.insert(outbox_id);
        }
        if swept.version == intake.uncertain_version {
            // What a person replayed goes ahead of what has waited behind it.
            for owed in swept.replayed {
                self.offer(owed);
            }
            let waiting = swept.uncertain.into_iter().map(|one| (one.outbox_id, one.row));
            self.queue.set_uncertain(waiting);
        }
        for outbox_id in swept.cancelled {
            if let Some(mark) = self.queue.withdraw(outbox_id) {
                self.cancel(outbox_id, mark);
            }
        }
    }

    fn loaded(&mut self, asked: &[i64], owed: Vec<Owed>) {
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
        let now = self.clock.now(self.context.clock.monotonic());
        let active = self.active.borrow().clone();
        for owed in owed {
            if self.intake.awaited.remove(&owed.row.id) {
                let share = self.intake.share(owed.row.payload.len());
                self.prepare(Content { owed, _share: share }, now, &active);
            } else {
                self.offer(owed);
            }
        }
    }

    fn order_of(&self, owed: &Owed) -> OrderMode {
        let configured = self.active.borrow().order;
        configured.unwrap_or(match owed.row.op.kind() {
            TopicKind::State => OrderMode::Latest,
            TopicKind::Event => OrderMode::Ordered,
        })
    }

    fn offer(&mut self, owed: Owed) {
        let order = self.order_of(&owed);
        let (outbox_id, row, due) = (owed.row.id, owed.row.row.clone(), owed.due_at);
        let (trace, mark) = (owed.trace(), owed.mark());
        // Without a share of the memory only the id is kept; the content is read again when its turn has come.
        let share = self.intake.share(owed.row.payload.len());
        let content = share.map(|share| Content {
            owed,
            _share: Some(share),
        });
        self.queue.offer(Item {
            outbox_id,
            row,
            order,
            due,
            trace,
            mark,
            content,
        });
    }
}
