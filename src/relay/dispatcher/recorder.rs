//! Group commit: collects what is to be recorded while a record is in progress, and accounts for dispatches.
//!
//! Everything here is in memory and in order; the store's `record` is the only thing that commits. A record is
//! repeated until it is known to have committed, so what is collected is written exactly once in effect.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use super::prepare::Prepared;
use super::sender::Way;
use crate::relay::Sequence;
use crate::store::{Begin, DispatchId, Entry, Lease, Record, RelayId, Settlement};

/// The most deliveries that are put on record ahead of the wire.
const MAX_AHEAD: usize = 1_024;

/// How long a record grows while the wire has enough to do.
const PATIENCE: Duration = Duration::from_millis(20);

/// A wire that has fewer deliveries ahead of it never waits for a record to grow.
const BUSY: usize = 128;

/// What waits for the next record, and the record in progress.
pub(super) struct Recorder {
    relay: RelayId,
    lease: Lease,
    sequence: Sequence,
    begin: Vec<Prepared>,
    /// Deliveries that are to share a job: each a record of its own.
    jobs: VecDeque<Vec<Prepared>>,
    settle: Vec<Settlement>,
    finished: Vec<DispatchId>,
    /// How many entries of each dispatch are not settled yet.
    open: HashMap<i64, usize>,
    in_progress: Option<InProgress>,
    /// How many deliveries came back when the record in progress began.
    returned_before: usize,
    ahead: usize,
    /// When the last record was begun (monotonic).
    started: Duration,
}

/// A record that is being written.
pub(super) struct InProgress {
    pub(super) record: Arc<Record>,
    pub(super) begin: Vec<Prepared>,
    /// How what it begins travels.
    pub(super) way: Way,
}

impl Recorder {
    pub(super) fn new(relay: RelayId, lease: Lease, sequence: Sequence) -> Self {
        Self {
            relay,
            lease,
            sequence,
            begin: Vec::new(),
            jobs: VecDeque::new(),
            settle: Vec::new(),
            finished: Vec::new(),
            open: HashMap::new(),
            in_progress: None,
            returned_before: 0,
            ahead: 0,
            started: Duration::ZERO,
        }
    }

    /// How many more deliveries than fit the wire should be on record: as many as come back while a record is written.
    /// A receiver that is slower than a commit needs none, so a crash leaves few unknown outcomes behind.
    pub(super) fn ahead(&self) -> usize {
        self.ahead
    }

    /// Deliveries on their way onto the record, but for those of jobs.
    pub(super) fn beginning(&self) -> usize {
        self.begin.len() + self.beginning_now(Way::Request)
    }

    /// Deliveries of jobs on their way onto the record.
    pub(super) fn beginning_by_jobs(&self) -> usize {
        self.jobs.iter().map(Vec::len).sum::<usize>() + self.beginning_now(Way::Job)
    }

    /// Jobs on their way onto the record.
    pub(super) fn jobs(&self) -> usize {
        self.jobs.len() + usize::from(self.beginning_now(Way::Job) > 0)
    }

    fn beginning_now(&self, way: Way) -> usize {
        let record = self.in_progress.as_ref().filter(|record| record.way == way);
        record.map_or(0, |record| record.begin.len())
    }

    pub(super) fn has_work(&self) -> bool {
        self.in_progress.is_some() || self.is_due()
    }

    fn is_due(&self) -> bool {
        !(self.begin.is_empty() && self.jobs.is_empty() && self.settle.is_empty() && self.finished.is_empty())
    }

    /// Puts an attempt on the next record; it is sent once that is committed.
    pub(super) fn begin(&mut self, prepared: Prepared) {
        self.begin.push(prepared);
    }

    /// Puts the attempts of one job on a record; it is made once that is committed.
    pub(super) fn begin_job(&mut self, rows: Vec<Prepared>) {
        self.jobs.extend(Some(rows).filter(|rows| !rows.is_empty()));
    }

    /// Puts a settlement on the next record; `sequence` is the dispatch of its attempt.
    pub(super) fn settle(&mut self, settlement: Settlement, sequence: Option<i64>) {
        self.settle.push(settlement);
        if let Some(sequence) = sequence {
            self.unsent(sequence);
        }
    }

    /// An entry of a dispatch needs no settlement (any more). The last one finishes the dispatch.
    pub(super) fn unsent(&mut self, sequence: i64) {
        let Some(open) = self.open.get_mut(&sequence) else {
            return;
        };
        *open -= 1;
        if *open == 0 {
            self.open.remove(&sequence);
            self.finished.push(DispatchId {
                relay: self.relay,
                sequence,
            });
        }
    }

    /// Everything that waits to be begun.
    pub(super) fn unbegun(&mut self) -> Vec<Prepared> {
        let mut begin = std::mem::take(&mut self.begin);
        begin.extend(self.jobs.drain(..).flatten());
        begin
    }

    /// Until when the next record grows, though it could be begun. Each record has a cost of its own, as much as that of
    /// twenty deliveries, and the wire does not need it while `waiting` deliveries are on record and not sent.
    pub(super) fn grows_until(&self, waiting: usize) -> Option<Duration> {
        let is_needed = self.ahead < BUSY || waiting <= self.ahead / 2;
        (self.in_progress.is_none() && self.is_due() && !is_needed).then(|| self.started + PATIENCE)
    }

    /// The next record, if there is something to record and none in progress.
    pub(super) fn start(
        &mut self,
        rendering: i64,
        returned: usize,
        monotonic: Duration,
    ) -> Option<Arc<Record>> {
        if self.in_progress.is_some() || !self.is_due() {
            return None;
        }
        self.started = monotonic;
        // A dispatch has either deliveries of one job, or none of any.
        let (mut begin, way) = match self.jobs.pop_front() {
            Some(rows) => (rows, Way::Job),
            None => (std::mem::take(&mut self.begin), Way::Request),
        };
        let sequence = self.sequence.next();
        let dispatch = DispatchId {
            relay: self.relay,
            sequence,
        };
        for prepared in &mut begin {
            prepared.sequence = sequence;
        }
        if !begin.is_empty() {
            self.open.insert(sequence, begin.len());
        }
        let entries: Vec<Entry> = begin.iter().map(Prepared::entry).collect();
        let record = Arc::new(Record {
            lease: self.lease.clone(),
            begin: (!entries.is_empty()).then_some(Begin {
                dispatch,
                rendering,
                entries,
            }),
            settle: std::mem::take(&mut self.settle),
            finished: std::mem::take(&mut self.finished),
        });
        self.returned_before = returned;
        self.in_progress = Some(InProgress {
            record: record.clone(),
            begin,
            way,
        });
        Some(record)
    }

    /// The record in progress is committed.
    pub(super) fn done(&mut self, returned: usize) -> Option<InProgress> {
        // It grows at once and shrinks by quarters: records of few and of many deliveries follow one another, and one of
        // few must not leave the wire idle during the next.
        let came_back = returned.saturating_sub(self.returned_before);
        self.ahead = (came_back * 6).max(self.ahead - self.ahead / 4).min(MAX_AHEAD);
        self.in_progress.take()
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::core::delivery::Reason;
    use crate::core::queue::Mark;
    use crate::relay::dispatcher::outcomes::without_attempt;
    use crate::store::{SettlementKind, Shard};

    const START: Duration = Duration::from_secs(7);

    /// One whose last record saw so many deliveries come back, with one thing to record.
    fn recorder(came_back: usize) -> Recorder {
        let relay = RelayId(Uuid::nil());
        let shard = Shard::unrouted();
        let lease = Lease {
            shard,
            owner: relay,
            epoch: 1,
        };
        let mut recorder = Recorder::new(relay, lease, Sequence::default());
        recorder.settle(settlement(), None);
        assert!(recorder.start(1, 0, START).is_some());
        assert!(recorder.done(came_back).is_some());
        recorder.settle(settlement(), None);
        recorder
    }

    fn settlement() -> Settlement {
        let mark = Mark {
            attempts: 0,
            key_epoch: 0,
        };
        without_attempt(1, mark, SettlementKind::End(Reason::Operator))
    }

    #[test]
    fn a_record_grows_while_the_wire_has_enough_and_for_no_longer_than_its_patience() {
        let recorder = recorder(50);
        assert_eq!(recorder.ahead(), 300);
        assert_eq!(recorder.grows_until(151), Some(START + PATIENCE));
        assert_eq!(recorder.grows_until(150), None);
    }

    #[test]
    fn where_little_comes_back_or_nothing_is_to_be_recorded_no_record_waits() {
        assert_eq!(recorder(20).grows_until(1_000), None);
        let mut busy = recorder(50);
        assert!(busy.start(1, 50, START).is_some());
        assert_eq!(busy.grows_until(1_000), None);
        busy.done(100);
        assert_eq!(busy.grows_until(1_000), None);
    }
}
