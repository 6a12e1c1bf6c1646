//! Many deliveries at once: where enough of them are ready, they go by a job and not by requests.
//!
//! ```text
//!  queue (ready) ─▶ chosen ─▶ recorder (a dispatch of its own) ─▶ recorded ─▶ at work: made, then seen to ─▶ decide
//! ```
//!
//! Rows of a job are in flight until their reports come, so nothing else of their row keys moves. What no job can say,
//! and what comes back from one undone, goes by requests. A job whose id is on record is left to the next owner of the
//! lease when this dispatcher has to end.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Duration;

use tokio::task::Id;
use tokio_util::sync::CancellationToken;

use super::Dispatcher;
use super::events::Event;
use super::prepare::Prepared;
use super::sender::{Flight, Way};
use crate::core::decide::CancelRequest;
use crate::core::limit::breaker::Permission;
use crate::core::outcome::Report;
use crate::core::time::Timestamp;
use crate::destination::bulk::{Bulk, BulkWorth};
use crate::relay::Active;
use crate::relay::job::{Made, NewJob, RunningJob};
use crate::store::DispatchId;

/// Jobs of a shard at once; an org works on few at a time anyway.
const MOST_JOBS: usize = 8;
/// After too few deliveries were found for a job, so long nobody looks for more.
const REST: Duration = Duration::from_millis(100);
/// The same after reading went on and on and brought too few: most of the backlog is not due.
const LONG_REST: Duration = Duration::from_secs(10);
/// How many times as many reads as a full job needs are waited for.
const READS: usize = 2;

/// The jobs of a shard.
pub(super) struct BulkJobs {
    /// On record, not made.
    recorded: VecDeque<Vec<Prepared>>,
    /// Being made, or at the receiver, by task.
    at_work: HashMap<Id, Flight>,
    /// Deliveries that no job can say.
    unfit: HashSet<i64>,
    /// Since which fetch ready deliveries wait for more to be read.
    gathering_since: Option<u64>,
    next_look: Duration,
    /// Ends the tasks that look at jobs.
    leave: CancellationToken,
}

/// What comes back of a job.
pub(in crate::relay) enum JobEvent {
    /// It was made, or could not be.
    Made(Made),
    /// It has ended; `None`: it was left as it is.
    Seen(Option<Vec<Report>>),
}

impl BulkJobs {
    /// None yet. They are left when `drain` is cancelled.
    pub(super) fn new(drain: &CancellationToken) -> Self {
        Self {
            recorded: VecDeque::new(),
            at_work: HashMap::new(),
            unfit: HashSet::new(),
            gathering_since: None,
            next_look: Duration::ZERO,
            leave: drain.child_token(),
        }
    }

    /// Jobs that are being made or at the receiver: each is one request to the limits.
    pub(super) fn requests(&self) -> usize {
        self.at_work.len()
    }

    /// Whether a job is on record and not made.
    pub(super) fn waits(&self) -> bool {
        !self.recorded.is_empty()
    }

    /// Deliveries whose content is free again soon.
    pub(super) fn holding(&self) -> usize {
        let recorded: usize = self.recorded.iter().map(Vec::len).sum();
        // Those of one job shed their contents together.
        let holds = |flight: &&Flight| flight.deliveries.first().is_some_and(|one| one.bytes() > 0);
        let at_work = self.at_work.values().filter(holds);
        recorded + at_work.map(|flight| flight.deliveries.len()).sum::<usize>()
    }

    /// These are on record, as a dispatch of their own.
    pub(super) fn push(&mut self, rows: Vec<Prepared>) {
        if !rows.is_empty() {
            self.recorded.push_back(rows);
        }
    }

    /// Everything that is on record but of no job yet.
    pub(super) fn unsent(&mut self) -> impl Iterator<Item = Prepared> {
        self.recorded.drain(..).flatten()
    }

    /// The delivery has ended, or is no longer in memory.
    pub(super) fn forget(&mut self, outbox_id: i64) {
        if !self.unfit.is_empty() {
            self.unfit.remove(&outbox_id);
        }
    }

    /// What a job can say has changed.
    pub(super) fn rendering_changed(&mut self) {
        self.unfit.clear();
    }

    /// The job that was task `id`.
    pub(super) fn landed(&mut self, id: Id) -> Option<Flight> {
        self.at_work.remove(&id)
    }

    /// Stops looking at jobs: they go on, and whoever holds the lease next asks for them.
    pub(super) fn leave(&self) {
        self.leave.cancel();
    }
}

impl Dispatcher {
    /// Requests on the wire, jobs among them.
    pub(super) fn on_wire(&self) -> usize {
        self.sender.requests() + self.bulk.requests()
    }

    /// How many ready deliveries are enough for now: what a fetch brings, or what a job takes.
    pub(super) fn enough(&self) -> usize {
        let of_job = self.renderings.current().bulk().and_then(Bulk::worth);
        let of_job = of_job.map_or(0, |worth| worth.most_rows);
        self.intake.rows().max(of_job)
    }

    /// Whether what is ready should wait, since reading brings more for a job right now.
    pub(super) fn gathers_for_a_job(&mut self, monotonic: Duration) -> bool {
        self.worth_of_a_job(monotonic)
            .is_some_and(|worth| self.reading_brings_more(worth))
    }

    /// Takes what is ready for a job, if that is worth one.
    pub(super) fn gather_for_a_job(&mut self, monotonic: Duration, now: Timestamp, active: &Active) {
        let Some(worth) = self.worth_of_a_job(monotonic) else {
            return;
        };
        if self.reading_brings_more(worth) {
            return;
        }
        // Still set, if there was more to be read.
        let rest = self.bulk.gathering_since.take().map_or(REST, |_| LONG_REST);
        let hopeful = self.queue.ready().saturating_sub(self.bulk.unfit.len());
        if hopeful < worth.threshold || self.limits.soon(monotonic) == 0 {
            if rest == LONG_REST {
                self.bulk.next_look = monotonic.saturating_add(rest);
            }
            return;
        }
        let chosen = self.choose(worth);
        if chosen.len() < worth.threshold {
            let queue = &self.queue;
            self.bulk.unfit.retain(|outbox_id| queue.knows(*outbox_id));
            self.bulk.next_look = monotonic.saturating_add(rest);
            return;
        }
        let taken = self.queue.take_these(&chosen);
        let contents = taken.into_iter().filter_map(|(_, content)| content);
        let rows = contents
            .filter_map(|content| self.readied(content, now, active))
            .collect();
        self.recorder.begin_job(rows);
    }

    /// When jobs are made, if one may be made now.
    fn worth_of_a_job(&self, monotonic: Duration) -> Option<BulkWorth> {
        let worth = self.renderings.current().bulk()?.worth()?;
        let jobs = self.bulk.requests() + self.bulk.recorded.len() + self.recorder.jobs();
        // One request is left to what cannot wait for jobs.
        let most = self.limits.concurrency().saturating_sub(1).clamp(1, MOST_JOBS);
        let may = self.limits.permission(monotonic) == Permission::All
            && jobs < most
            && self.on_wire() < self.limits.concurrency()
            && monotonic >= self.bulk.next_look;
        may.then_some(worth)
    }

    /// As long as this holds, a read is under way or begins in this turn.
    fn reading_brings_more(&mut self, worth: BulkWorth) -> bool {
        let intake = &self.intake;
        let is_reading = intake.more && intake.awaited() == 0 && intake.has_memory();
        if !is_reading || self.queue.ready() >= worth.most_rows || self.queue.room() == 0 {
            self.bulk.gathering_since = None;
            return false;
        }
        let since = *self.bulk.gathering_since.get_or_insert(intake.fetches);
        let most = READS * worth.most_rows.div_ceil(intake.rows().max(1));
        intake.fetches - since < u64::try_from(most).unwrap_or(u64::MAX)
    }

    /// The oldest deliveries that one job can take. What none can is remembered.
    fn choose(&mut self, worth: BulkWorth) -> Vec<i64> {
        let Some(bulk) = self.renderings.current().bulk() else {
            return vec![];
        };
        let current = self.renderings.current_id();
        let (mut chosen, mut names, mut unfit) = (vec![], HashSet::new(), vec![]);
        let mut bytes = 0_usize;
        for (outbox_id, content) in self.queue.ready_ones() {
            let Some(owed) = content.map(|content| &content.owed) else {
                continue;
            };
            let apart = self.sender.parts.of(outbox_id).is_some() || self.bulk.unfit.contains(&outbox_id);
            let otherwise = owed.rendering.is_some_and(|rendering| rendering != current);
            if apart || otherwise || owed.cancel == CancelRequest::Requested {
                continue;
            }
            let Some(name) = bulk.name(&owed.row) else {
                unfit.push(outbox_id);
                continue;
            };
            bytes = bytes.saturating_add(owed.row.payload.len());
            if bytes > self.limits.most_bytes() || chosen.len() == worth.most_rows {
                break;
            }
            if names.insert(name) {
                chosen.push(outbox_id);
            }
        }
        self.bulk.unfit.extend(unfit);
        chosen
    }

    /// Makes the jobs that are on record.
    pub(super) fn start_jobs(&mut self, monotonic: Duration, active: &Active) {
        let held = self.draining() || self.sender.is_held(monotonic);
        if held || !self.bulk.waits() || !self.tenure.outlives(monotonic, active.timeout) {
            return;
        }
        if self.limits.permission(monotonic) != Permission::All {
            // A probe is a single row.
            let now = self.clock.now(monotonic);
            self.give_jobs_back(now);
        }
        while self.on_wire() < self.limits.concurrency() {
            let Some(rows) = self.bulk.recorded.pop_front() else {
                return;
            };
            let bytes = rows.iter().map(Prepared::bytes).sum();
            let Some(ticket) = self.limits.admit_job(bytes, monotonic) else {
                self.bulk.recorded.push_front(rows);
                return;
            };
            let flight = Flight {
                way: Way::Job,
                started_at: self.clock.now(monotonic),
                deliveries: rows,
                ticket,
            };
            self.make(flight, active);
        }
    }

    fn make(&mut self, flight: Flight, active: &Active) {
        let Some(first) = flight.deliveries.first() else {
            return;
        };
        let job = NewJob {
            context: self.context.clone(),
            destination: first.destination.clone(),
            lease: self.lease.clone(),
            dispatch: DispatchId {
                relay: self.context.relay,
                sequence: first.sequence,
            },
            rows: flight
                .deliveries
                .iter()
                .map(|one| one.owed().row.clone())
                .collect(),
            clock: self.clock,
            tenure: self.tenure.clone(),
            timeout: active.timeout,
            abort: self.stop.abort.clone(),
        };
        let id = self
            .tasks
            .spawn(async move { Event::Job(JobEvent::Made(job.make().await)) })
            .id();
        self.bulk.at_work.insert(id, flight);
    }

    /// Puts back what is on record for a job and was not made one.
    pub(super) fn give_jobs_back(&mut self, now: Timestamp) {
        let unsent: Vec<_> = self.bulk.unsent().collect();
        for prepared in unsent {
            let owed = prepared.owed();
            self.queue.retry(owed.row.id, now, owed.trace(), owed.mark());
            self.recorder.unsent(prepared.sequence);
        }
    }

    /// A step of a job is done.
    pub(super) fn job_moved(&mut self, id: Id, event: JobEvent) {
        let Some(flight) = self.bulk.landed(id) else {
            return;
        };
        match event {
            JobEvent::Made(Made::Running(job)) => self.see_to(job, flight),
            JobEvent::Made(Made::Not(reports)) | JobEvent::Seen(Some(reports)) => {
                crate::crash_point!("before_job_settled");
                self.answered(flight, reports);
            }
            JobEvent::Seen(None) => {
                let (destination, rows) = (&self.lease.shard.destination, flight.deliveries.len());
                tracing::info!(%destination, rows, "a job goes on; whoever takes the lease next asks for it");
            }
        }
    }

    fn see_to(&mut self, mut job: RunningJob, mut flight: Flight) {
        let (destination, rows) = (&self.lease.shard.destination, flight.deliveries.len());
        tracing::info!(%destination, job = job.id, rows, "a job has its data");
        // The data is away: neither its bytes nor its contents are needed any more.
        self.limits.job_is_away(&mut flight.ticket);
        for prepared in &mut flight.deliveries {
            prepared.shed();
        }
        let (context, leave) = (self.context.clone(), self.bulk.leave.clone());
        let id = self
            .tasks
            .spawn(async move { Event::Job(JobEvent::Seen(job.see(&context, &leave).await)) })
            .id();
        self.bulk.at_work.insert(id, flight);
    }
}
