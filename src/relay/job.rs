//! A job at a receiver, step by step: opened, put on record, given its data, and looked at until it has ended.
//!
//! The id of a job is on record before any of its data is sent, so whoever takes the shard over can ask what became of
//! it. What goes wrong before the data is complete has reached no row. Used by whoever makes a job and by whoever finds
//! one; what its reports mean for the deliveries, neither decides here.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::Context;
use super::database_clock::DatabaseClock;
use super::heartbeat::Tenure;
use super::reconnect::retrying;
use crate::core::outcome::{Outcome, Report};
use crate::core::row::OutboxRow;
use crate::destination::Destination;
use crate::destination::bulk::{Awaited, Bulk, Progress};
use crate::store::{DispatchId, Lease};

/// The time between two looks: a quarter of what the job has lasted, within these bounds.
const PACE: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(10));
/// After a job was given up, it is asked for its results for so long.
const FAREWELL: Duration = Duration::from_mins(1);

/// A job that is to be made.
pub(super) struct NewJob {
    pub(super) context: Context,
    pub(super) destination: Arc<dyn Destination>,
    pub(super) lease: Lease,
    pub(super) dispatch: DispatchId,
    pub(super) rows: Vec<OutboxRow>,
    pub(super) clock: DatabaseClock,
    pub(super) tenure: Tenure,
    /// Of one request.
    pub(super) timeout: Duration,
    pub(super) abort: CancellationToken,
}

/// What came of it.
pub(super) enum Made {
    /// The receiver has it.
    Running(RunningJob),
    /// It has nothing of it, and this is what each row met.
    Not(Vec<Report>),
}

/// A job that the receiver has.
#[derive(Clone)]
pub(super) struct RunningJob {
    pub(super) destination: Arc<dyn Destination>,
    pub(super) id: String,
    pub(super) awaited: Awaited,
    pub(super) clock: DatabaseClock,
    /// Since when (monotonic), and until when it may last.
    pub(super) since: Duration,
    pub(super) until: Duration,
}

impl NewJob {
    /// Makes it, as far as that goes. Takes three requests and one statement.
    pub(super) async fn make(self) -> Made {
        let Some(bulk) = self.destination.bulk() else {
            return Made::Not(self.none_sent("the destination takes no jobs"));
        };
        let data = bulk.data(&self.rows.iter().collect::<Vec<_>>());
        let all = |report: Report| Made::Not(vec![report; self.rows.len()]);
        let job = match bulk.open(self.now()).await {
            Ok(job) => job,
            Err(report) => return all(report),
        };
        crate::crash_point!("after_job_opened");
        if let Err(why) = self.put_on_record(&job).await {
            self.abandon(bulk, &job).await;
            return Made::Not(self.none_sent(why));
        }
        crate::crash_point!("after_job_noted");
        if let Err(report) = bulk.upload(&job, data.body, self.now()).await {
            self.abandon(bulk, &job).await;
            return all(report);
        }
        crate::crash_point!("after_job_uploaded");
        let since = self.context.clock.monotonic();
        Made::Running(RunningJob {
            id: job,
            awaited: data.awaited,
            clock: self.clock,
            since,
            until: since.saturating_add(bulk.job_timeout()),
            destination: self.destination,
        })
    }

    /// An error says why no data must be sent.
    async fn put_on_record(&self, job: &str) -> Result<(), &'static str> {
        let store = &self.context.store;
        let noted = retrying("note a job", &self.abort, || {
            store.note_job(&self.lease, self.dispatch, job)
        })
        .await;
        if !matches!(noted, Some(Ok(true))) {
            return Err("not sent: the job could not be put on record under the lease");
        }
        if !self.tenure.outlives(self.context.clock.monotonic(), self.timeout) {
            return Err("not sent: the lease might not have outlived the request");
        }
        Ok(())
    }

    async fn abandon(&self, bulk: &dyn Bulk, job: &str) {
        if let Err(why) = bulk.abandon(job, self.now()).await {
            // Nobody starts it, and the receiver throws it away one day.
            tracing::warn!(destination = %self.lease.shard.destination, job, why, "an unused job could not be aborted");
        }
    }

    fn none_sent(&self, why: &str) -> Vec<Report> {
        vec![Report::unanswered(Outcome::excused(), why.to_owned()); self.rows.len()]
    }

    fn now(&self) -> crate::core::time::Timestamp {
        self.clock.now(self.context.clock.monotonic())
    }
}

impl RunningJob {
    /// Looks until it has ended, or until it has lasted too long and was given up. Returns what each row met; `None` if
    /// `leave` was cancelled before: the job goes on, and whoever holds the lease next asks for it.
    pub(super) async fn see(&mut self, context: &Context, leave: &CancellationToken) -> Option<Vec<Report>> {
        let mut given_up = false;
        loop {
            let monotonic = context.clock.monotonic();
            let step = tokio::select! {
                biased;
                () = leave.cancelled() => return None,
                step = self.look(monotonic) => step,
            };
            let why = match step {
                Step::Ended(reports) => return Some(self.lasting(reports, context)),
                Step::Unclear(why) => {
                    tracing::debug!(job = self.id, why, "cannot see how the job is doing");
                    why
                }
                Step::Running => "it had not ended".to_owned(),
            };
            if monotonic >= self.until {
                if given_up {
                    let detail = format!("the job was given up, and what became of it cannot be seen: {why}");
                    return Some(self.lasting(self.awaited.all(&Outcome::Unknown, &detail), context));
                }
                self.give_up(monotonic).await;
                (given_up, self.until) = (true, monotonic.saturating_add(FAREWELL));
                continue;
            }
            let pace = pace(monotonic.saturating_sub(self.since));
            tokio::select! {
                () = leave.cancelled() => return None,
                () = tokio::time::sleep(pace.min(self.until.saturating_sub(monotonic))) => {}
            }
        }
    }

    async fn look(&self, monotonic: Duration) -> Step {
        let Some(bulk) = self.destination.bulk() else {
            return Step::Ended(
                self.awaited
                    .all(&Outcome::Unknown, "the destination knows no jobs any more"),
            );
        };
        let now = self.clock.now(monotonic);
        match bulk.poll(&self.id, &self.awaited, now).await {
            Progress::Running => Step::Running,
            Progress::Unclear(why) => Step::Unclear(why),
            Progress::Ended(reports) => Step::Ended(reports),
            Progress::Forgotten => {
                let detail = "the receiver knows nothing of the job any more";
                Step::Ended(self.awaited.all(&Outcome::Unknown, detail))
            }
            // Only once it is aborted nobody can start it any more, be it by a request that is still on its way.
            Progress::Open => match bulk.abandon(&self.id, now).await {
                Ok(()) => {
                    let detail = "not sent: the job's data had not arrived, so it was aborted";
                    Step::Ended(self.awaited.all(&Outcome::Unreachable, detail))
                }
                Err(why) => Step::Unclear(why),
            },
        }
    }

    async fn give_up(&self, monotonic: Duration) {
        tracing::warn!(job = self.id, "the job has lasted too long: it is aborted");
        if let Some(bulk) = self.destination.bulk()
            && let Err(why) = bulk.abandon(&self.id, self.clock.now(monotonic)).await
        {
            tracing::warn!(job = self.id, why, "the job could not be aborted");
        }
    }

    /// The reports with the time that the job took.
    fn lasting(&self, mut reports: Vec<Report>, context: &Context) -> Vec<Report> {
        let duration = context.clock.monotonic().saturating_sub(self.since);
        for report in &mut reports {
            report.duration = duration;
        }
        reports
    }
}

/// What one look shows.
enum Step {
    Running,
    Unclear(String),
    Ended(Vec<Report>),
}

fn pace(lasted: Duration) -> Duration {
    (lasted / 4).clamp(PACE.0, PACE.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_looked_at_less_often_the_longer_it_lasts() {
        assert_eq!(pace(Duration::ZERO), Duration::from_millis(200));
        assert_eq!(pace(Duration::from_secs(8)), Duration::from_secs(2));
        assert_eq!(pace(Duration::from_hours(1)), Duration::from_secs(10));
    }
}
