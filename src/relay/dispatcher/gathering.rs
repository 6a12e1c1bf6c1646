//! When a job is worth it, and which of the deliveries that are ready it takes.
//!
//! While reading brings more at once, what is ready waits for it: a backlog comes in many reads, and is one job.

use std::collections::HashSet;
use std::time::Duration;

use super::Dispatcher;
use crate::core::decide::CancelRequest;
use crate::core::limit::breaker::Permission;
use crate::core::time::Timestamp;
use crate::destination::bulk::{Bulk, BulkWorth};
use crate::relay::Active;

/// Jobs of a shard at once; an org works on few at a time anyway.
const MOST_JOBS: usize = 8;
/// After too few deliveries were found for a job, so long nobody looks for more.
const REST: Duration = Duration::from_millis(100);
/// The same after reading went on and on and brought too few: most of the backlog is not due.
const LONG_REST: Duration = Duration::from_secs(10);
/// How many times as many reads as a full job needs are waited for.
const READS: usize = 2;

/// What is known of deliveries that may share a job.
#[derive(Debug, Default)]
pub(super) struct Gathering {
    /// Those that no job can say.
    unfit: HashSet<i64>,
    /// Since which fetch those that are ready wait for more to be read.
    since: Option<u64>,
    /// Nothing is gathered before (monotonic).
    next_look: Duration,
}

impl Gathering {
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
}

impl Dispatcher {
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
        let rest = self.gathering.since.take().map_or(REST, |_| LONG_REST);
        let hopeful = self.queue.ready().saturating_sub(self.gathering.unfit.len());
        if hopeful < worth.threshold || self.limits.soon(monotonic) == 0 {
            if rest == LONG_REST {
                self.gathering.next_look = monotonic.saturating_add(rest);
            }
            return;
        }
        let chosen = self.choose(worth);
        if chosen.len() < worth.threshold {
            let queue = &self.queue;
            self.gathering.unfit.retain(|outbox_id| queue.knows(*outbox_id));
            self.gathering.next_look = monotonic.saturating_add(rest);
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
        let jobs = self.bulk.len() + self.recorder.jobs();
        // One request is left to what cannot wait for jobs.
        let most = self.limits.concurrency().saturating_sub(1).clamp(1, MOST_JOBS);
        let may = self.limits.permission(monotonic) == Permission::All
            && jobs < most
            && self.on_wire() < self.limits.concurrency()
            && monotonic >= self.gathering.next_look;
        may.then_some(worth)
    }

    /// As long as this holds, a read is under way or begins in this turn.
    fn reading_brings_more(&mut self, worth: BulkWorth) -> bool {
        let intake = &self.intake;
        let is_reading = intake.more && intake.awaited() == 0 && intake.has_memory();
        if !is_reading || self.queue.ready() >= worth.most_rows || self.queue.room() == 0 {
            self.gathering.since = None;
            return false;
        }
        let since = *self.gathering.since.get_or_insert(intake.fetches);
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
            let apart =
                self.sender.parts.of(outbox_id).is_some() || self.gathering.unfit.contains(&outbox_id);
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
        self.gathering.unfit.extend(unfit);
        chosen
    }
}
