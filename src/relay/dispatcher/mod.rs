//! One leased shard of a destination: read, put on record, send, decide, settle.
//!
//! ```text
//!            ┌────────────── retry ──────────────┐
//!  intake ─▶ queue ─▶ prepare ─▶ recorder ─▶ sender ─▶ decide ─▶ recorder
//!  (reads)   (order)  (keys)     (begin)     (slots)            (settle)
//! ```
//!
//! One task turns the wheel; reads, records and requests run beside it and come back as events, so that reading and
//! recording overlap with HTTP. A record that is in progress lets the next one grow: group commit, without a timer.
//! The dispatcher holds no truth: whatever it forgets, the next sweep of the database finds again.

pub mod as_sent;
mod bulk;
mod events;
mod gathering;
mod health;
mod intake;
mod memory;
mod offers;
mod outcomes;
mod parts;
mod preflight;
mod prepare;
pub mod preview;
mod reads;
mod recorder;
mod renderings;
mod sender;
mod sending;
mod spans;
mod unmet;
mod usage;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::database_clock::DatabaseClock;
use super::heartbeat::Tenure;
use super::limits::Limits;
use super::limits::health::Health;
use super::limits::usage::UsageNotes;
use super::metrics::ShardCounts;
use super::reconnect::retrying;
use super::takeover::take_over;
use super::{Active, Context};
use crate::core::limit::breaker::Permission;
use crate::core::queue::{Bounds, Queue};
use crate::core::time::Timestamp;
use crate::store::{Lease, StoreError};
use bulk::BulkJobs;
use events::Event;
use gathering::Gathering;
use intake::{Content, Intake};
use preflight::Preflight;
use prepare::Prepared;
use recorder::Recorder;
use renderings::Renderings;
use sender::Sender;

/// Why a dispatcher ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It was asked to, and nothing is in flight any more.
    Drained,
    /// It was asked to, and requests were still in flight when its time was up; the next owner settles them.
    GraceOver,
    /// Another relay holds the lease.
    LeaseLost,
}

/// How a dispatcher is asked to end.
#[derive(Debug, Clone)]
pub struct Stop {
    /// Begin nothing more, finish what is in flight.
    pub drain: CancellationToken,
    /// Leave everything as it is. A child of this token's parent need not be `drain`.
    pub abort: CancellationToken,
}

/// Takes over a shard whose lease was just acquired, and dispatches it for as long as the lease is held.
pub(super) async fn dispatch(
    context: Context,
    lease: Lease,
    active: watch::Receiver<Arc<Active>>,
    tenure: Tenure,
    stop: Stop,
) -> Result<Exit, StoreError> {
    let current = active.borrow().clone();
    let mut chance = fastrand::Rng::with_seed(context.seed ^ context.sequence.next().unsigned_abs());
    let now = match take_over(&context, &lease, &current, &stop, &mut chance).await? {
        Ok(now) => now,
        Err(exit) => {
            tracing::warn!(destination = %lease.shard.destination, epoch = lease.epoch, ?exit, "ended at takeover");
            return Ok(exit);
        }
    };
    let open = retrying("open", &stop.abort, || async {
        let uncertain = context.store.uncertain(&lease.shard).await?;
        let failing = context.store.failing(&lease.shard).await?;
        Ok((
            Renderings::open(&*context.store, &current).await?,
            uncertain,
            failing,
        ))
    });
    let Some(open) = open.await else {
        return Ok(Exit::GraceOver);
    };
    let (renderings, uncertain, failing) = open?;
    let bounds = Bounds::of(usize::try_from(context.limits.max_held).unwrap_or(usize::MAX));
    let mut queue = Queue::new(bounds, chance.u64(..));
    // Before the first delivery comes, or it would go past one of its row key that waits for a person.
    queue.set_uncertain(uncertain.into_iter().map(|one| (one.outbox_id, one.row)));
    let dispatcher = Dispatcher {
        queue,
        intake: Intake::new(&context.limits, context.wakeup.listen()),
        recorder: Recorder::new(context.relay, lease.clone(), context.sequence.clone()),
        sender: Sender::new(),
        bulk: BulkJobs::new(&stop.drain),
        gathering: Gathering::default(),
        limits: Limits::new(&current, failing.as_ref()),
        health: Health::left(failing, current.limits.breaker.as_ref()),
        renderings,
        preflight: Preflight::Due,
        usage: UsageNotes::default(),
        tasks: JoinSet::new(),
        clock: DatabaseClock {
            read: now,
            at: context.clock.monotonic(),
        },
        chance,
        lost: false,
        asked_to_end: false,
        counts: context.metrics.shard(&lease.shard.destination),
        context,
        lease,
        active,
        tenure,
        stop,
    };
    dispatcher.run().await
}

/// Dispatches one shard for as long as its lease is held.
pub(super) struct Dispatcher {
    context: Context,
    lease: Lease,
    active: watch::Receiver<Arc<Active>>,
    tenure: Tenure,
    stop: Stop,
    queue: Queue<Content>,
    intake: Intake,
    recorder: Recorder,
    sender: Sender,
    bulk: BulkJobs,
    gathering: Gathering,
    limits: Limits,
    health: Health,
    renderings: Renderings,
    preflight: Preflight,
    usage: UsageNotes,
    /// Reads, records and requests under way.
    tasks: JoinSet<Event>,
    clock: DatabaseClock,
    chance: fastrand::Rng,
    lost: bool,
    asked_to_end: bool,
    counts: ShardCounts,
}

impl Dispatcher {
    /// Runs until it is drained, aborted, or has lost its lease. An error is one that waiting cannot mend.
    async fn run(mut self) -> Result<Exit, StoreError> {
        let destination = self.lease.shard.destination.clone();
        tracing::info!(%destination, shard = self.lease.shard.number, epoch = self.lease.epoch, "dispatching");
        loop {
            self.turn();
            if let Some(exit) = self.exit() {
                tracing::info!(%destination, shard = self.lease.shard.number, ?exit, "no longer dispatching");
                return Ok(exit);
            }
            self.wait().await?;
        }
    }

    /// Whether it was asked to end when this turn began, or has lost its lease.
    fn draining(&self) -> bool {
        self.lost || self.asked_to_end
    }

    /// Whether anything new may be put on record: it is neither asked to end nor asked to wait, and its receiver was looked
    /// at.
    fn may_begin(&self, monotonic: Duration) -> bool {
        let breaker = self.limits.permission(monotonic);
        !(self.draining()
            || self.sender.is_held(monotonic)
            || self.intake.paused
            || self.preflight != Preflight::Done
            || matches!(breaker, Permission::Nothing(_)))
    }

    fn exit(&self) -> Option<Exit> {
        if self.stop.abort.is_cancelled() {
            return Some(Exit::GraceOver);
        }
        let unsent = !self.sender.is_idle() || self.bulk.waits();
        let busy = !self.tasks.is_empty() || self.recorder.has_work() || unsent;
        match (self.draining(), busy) {
            (true, false) => Some(if self.lost { Exit::LeaseLost } else { Exit::Drained }),
            _ => None,
        }
    }

    /// Starts everything that can be started now.
    fn turn(&mut self) {
        let monotonic = self.context.clock.monotonic();
        let now = self.clock.now(monotonic);
        self.asked_to_end = self.stop.drain.is_cancelled();
        // Answers that keep coming must not keep a changed configuration waiting.
        if self.active.has_changed().unwrap_or(false) {
            self.open_renderings();
        }
        let active = self.active.borrow().clone();
        if !self.lost && self.tenure.is_over() {
            let (destination, epoch) = (&self.lease.shard.destination, self.lease.epoch);
            tracing::warn!(%destination, epoch, "the heartbeat was silent for too long: the lease is lost, or may be");
            self.lost = true;
        }
        if self.lost {
            self.bulk.leave();
        }
        self.limits.begin_turn();
        self.counts.look_at_breaker(&self.limits);
        // Though nothing may begin: what is due is enough to send, so that no more is read.
        self.queue.promote(now);
        self.start_preflight(now);
        if self.may_begin(monotonic) {
            self.fill(monotonic, now, &active);
        } else {
            self.give_back(now);
        }
        self.start_record(monotonic);
        self.start_jobs(monotonic, &active);
        self.start_requests(monotonic, &active);
        self.start_note();
        self.start_usage_note(monotonic);
        if !self.draining() {
            self.start_read(monotonic);
        }
    }

    /// Makes a taken delivery ready for the record, or ends it where it cannot be sent.
    fn prepare(&mut self, content: Content, now: Timestamp, active: &Active) {
        if let Some(prepared) = self.readied(content, now, active) {
            self.recorder.begin(prepared);
        }
    }

    /// A taken delivery that can be sent. One that cannot ends, or waits.
    fn readied(&mut self, content: Content, now: Timestamp, active: &Active) -> Option<Prepared> {
        let outbox_id = content.owed.row.id;
        self.intake.set_aside.remove(&outbox_id);
        let prepared = prepare::prepare(
            content,
            now,
            &prepare::Circumstances {
                namespace: &self.context.namespace,
                destination: &self.lease.shard.destination,
                policy: &active.policy,
            },
            &mut self.renderings,
        );
        match prepared {
            Ok(prepared) => return Some(prepared),
            Err(prepare::Unsendable::End(settlement)) => self.recorder.settle(*settlement, None),
            Err(prepare::Unsendable::Later {
                after,
                trace,
                mark,
                why,
            }) => {
                tracing::error!(delivery.id = outbox_id, destination = %self.lease.shard.destination, %why, "cannot send");
                self.intake.set_aside.insert(outbox_id);
                self.queue.retry(outbox_id, now.plus(after), trace, mark);
            }
        }
        None
    }

    /// Puts back what is not on the wire yet: it was never sent, and nothing has to be written.
    fn give_back(&mut self, now: Timestamp) {
        for prepared in self.sender.unsent() {
            let owed = prepared.owed();
            self.queue.retry(owed.row.id, now, owed.trace(), owed.mark());
            self.recorder.unsent(prepared.sequence);
        }
        self.give_jobs_back(now);
        for prepared in self.recorder.unbegun() {
            let owed = prepared.owed();
            self.queue.retry(owed.row.id, now, owed.trace(), owed.mark());
        }
    }

    /// The configuration has changed: what is rendered from now on needs a rendering that is kept.
    fn open_renderings(&mut self) {
        let active = self.active.borrow_and_update().clone();
        self.retune(&active);
        let (store, drain) = (self.context.store.clone(), self.stop.drain.clone());
        self.tasks.spawn(async move {
            let opened = retrying("open", &drain, || Renderings::open(&*store, &active)).await;
            Event::Opened(active, opened)
        });
    }

    /// Takes over the renderings of a changed configuration, unless it has changed again meanwhile.
    fn adopt(&mut self, active: &Arc<Active>, renderings: Renderings) {
        if !Arc::ptr_eq(active, &self.active.borrow()) {
            return;
        }
        if !Arc::ptr_eq(&self.renderings.shared(), &renderings.shared()) {
            self.preflight = Preflight::Due;
        }
        self.gathering.rendering_changed();
        self.renderings = renderings;
        // What was made ready under the old rendering is not on the wire: it must not go on record under the new one.
        self.give_back(self.clock.now(self.context.clock.monotonic()));
    }

    /// Waits until something has happened, and takes note of all that has.
    async fn wait(&mut self) -> Result<(), StoreError> {
        let monotonic = self.context.clock.monotonic();
        let sleep = self.next_deadline(monotonic);
        let draining = self.draining();
        tokio::select! {
            biased;
            Some(event) = self.tasks.join_next_with_id(), if !self.tasks.is_empty() => self.handle(event)?,
            () = self.stop.abort.cancelled() => return Ok(()),
            () = self.stop.drain.cancelled(), if !draining => {}
            Ok(()) = self.active.changed() => self.open_renderings(),
            Ok(()) = self.tenure.changed() => {}
            () = self.intake.woken() => {}
            () = self.limits.called() => {}
            () = tokio::time::sleep(sleep) => {}
        }
        while let Some(event) = self.tasks.try_join_next_with_id() {
            self.handle(event)?;
        }
        Ok(())
    }

    /// How long nothing will happen by itself.
    fn next_deadline(&self, monotonic: Duration) -> Duration {
        let now = self.clock.now(monotonic);
        // What nobody would act on must not wake it either.
        let due = (self.queue.next_due())
            .filter(|_| self.may_begin(monotonic))
            .map(|due| due.since(now).max(Duration::from_millis(1)));
        let held = self.sender.held_for(monotonic);
        let limit = (self.limits.next_change(monotonic))
            .filter(|_| !self.draining())
            .map(|at| at.saturating_sub(monotonic).max(Duration::from_millis(1)));
        let record = self.recorder.grows_until(self.sender.waiting());
        let record = record.map(|until| until.saturating_sub(monotonic));
        let poll = (!self.draining()).then(|| self.intake.next_look().saturating_sub(monotonic));
        [due, held, limit, record, poll]
            .into_iter()
            .flatten()
            .min()
            .unwrap_or(Duration::MAX)
    }
}
