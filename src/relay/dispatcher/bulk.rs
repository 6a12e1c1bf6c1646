//! The jobs of a shard: many deliveries each, which go by a job and not by requests.
//!
//! ```text
//!  `gathering` ─▶ recorder (a dispatch of its own) ─▶ recorded ─▶ at work: made, then seen to ─▶ decide
//! ```
//!
//! Rows of a job are in flight until their reports come, so nothing else of their row keys moves. What no job can say,
//! and what comes back from one undone, goes by requests. A job whose id is on record is left to the next owner of the
//! lease when this dispatcher has to end.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use tokio::task::Id;
use tokio_util::sync::CancellationToken;

use super::Dispatcher;
use super::events::Event;
use super::prepare::Prepared;
use super::sender::{Flight, Way};
use crate::core::limit::breaker::Permission;
use crate::core::outcome::Report;
use crate::core::time::Timestamp;
use crate::relay::Active;
use crate::relay::job::{Made, NewJob, RunningJob};
use crate::store::DispatchId;

/// The jobs of a shard.
pub(super) struct BulkJobs {
    /// On record, not made.
    recorded: VecDeque<Vec<Prepared>>,
    /// Being made, or at the receiver, by task.
    at_work: HashMap<Id, Flight>,
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
            leave: drain.child_token(),
        }
    }

    /// Jobs that are on record, being made, or at the receiver.
    pub(super) fn len(&self) -> usize {
        self.recorded.len() + self.at_work.len()
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
