//! A record as a story writes it down.

use std::sync::Arc;
use std::time::Duration;

use aftercommit::core::decide::Counts;
use aftercommit::core::delivery::Reason;
use aftercommit::core::outcome::{Outcome, Refusal, Report};
use aftercommit::core::secrets::Secrets;
use aftercommit::core::time::Timestamp;
use aftercommit::store::{
    Begin, DispatchId, EndedAttempt, Entry, Lease, Record, Recorded, RelayId, Settlement, SettlementKind,
    SqlStore, Store as _, StoreError,
};

/// The rendering of every attempt.
pub(super) const RENDERING: i64 = 77;

/// A record in the making. Deliveries are named by outbox id and the number of the attempt, from 1.
#[derive(Clone)]
pub(super) struct Draft {
    record: Record,
    key_epoch: u32,
}

pub(super) fn under(lease: &Lease) -> Draft {
    Draft {
        record: Record {
            lease: lease.clone(),
            begin: None,
            settle: vec![],
            finished: vec![],
        },
        key_epoch: 0,
    }
}

impl Draft {
    /// What follows is about this key epoch.
    pub(super) fn key_epoch(mut self, key_epoch: u32) -> Self {
        self.key_epoch = key_epoch;
        self
    }

    /// Begins attempts, as the dispatch of this number.
    pub(super) fn begin(mut self, sequence: i64, attempts: &[(i64, u32)]) -> Self {
        let entry = |&(outbox_id, attempt): &(i64, u32)| Entry {
            outbox_id,
            attempt,
            key_epoch: self.key_epoch,
        };
        self.record.begin = Some(Begin {
            dispatch: dispatch(self.record.lease.owner, sequence),
            rendering: RENDERING,
            entries: attempts.iter().map(entry).collect(),
        });
        self
    }

    pub(super) fn success(self, outbox_id: i64, attempt: u32) -> Self {
        self.settle(
            outbox_id,
            Some((attempt, Outcome::Accepted)),
            attempt - 1,
            SettlementKind::End(Reason::Accepted),
        )
    }

    pub(super) fn refused(self, outbox_id: i64, attempt: u32) -> Self {
        let outcome = Outcome::Refused(Refusal::Final);
        self.settle(
            outbox_id,
            Some((attempt, outcome)),
            attempt - 1,
            SettlementKind::End(Reason::Refused),
        )
    }

    pub(super) fn uncertain(self, outbox_id: i64, attempt: u32) -> Self {
        let kind = SettlementKind::End(Reason::OutcomeUnknown);
        self.settle(outbox_id, Some((attempt, Outcome::Unknown)), attempt - 1, kind)
    }

    /// A success whose answer reads so.
    pub(super) fn answered(self, outbox_id: i64, attempt: u32, excerpt: &str) -> Self {
        let mut draft = self.success(outbox_id, attempt);
        for settlement in &mut draft.record.settle {
            if let Some(ended) = &mut settlement.attempt {
                ended.report.excerpt = Some(Secrets::none().excerpt(excerpt.as_bytes(), 1_000));
                ended.report.detail = Some(excerpt.to_owned());
            }
        }
        draft
    }

    /// An end without an attempt, of a delivery with so many attempts on record.
    pub(super) fn end(self, outbox_id: i64, attempts: u32, reason: Reason) -> Self {
        self.settle(outbox_id, None, attempts, SettlementKind::End(reason))
    }

    pub(super) fn retry(self, outbox_id: i64, attempt: u32) -> Self {
        let kind = retry(Counts::Yes, None);
        self.settle(
            outbox_id,
            Some((attempt, Outcome::Unreachable)),
            attempt - 1,
            kind,
        )
    }

    pub(super) fn throttled(self, outbox_id: i64, attempt: u32) -> Self {
        let outcome = Outcome::Throttled {
            scope: aftercommit::core::outcome::Scope::Row,
            retry_after: None,
        };
        self.settle(
            outbox_id,
            Some((attempt, outcome)),
            attempt - 1,
            retry(Counts::Excused, None),
        )
    }

    pub(super) fn unknown(self, outbox_id: i64, attempt: u32, since: Timestamp) -> Self {
        let kind = retry(Counts::Yes, Some(since));
        self.settle(outbox_id, Some((attempt, Outcome::Unknown)), attempt - 1, kind)
    }

    pub(super) fn supersede_uncertain(self, outbox_id: i64) -> Self {
        self.settle(outbox_id, None, 0, SettlementKind::SupersedeUncertain)
    }

    pub(super) fn finish(mut self, sequence: i64) -> Self {
        let relay = self.record.lease.owner;
        self.record.finished.push(dispatch(relay, sequence));
        self
    }

    pub(super) fn finish_dispatch(mut self, dispatch: DispatchId) -> Self {
        self.record.finished.push(dispatch);
        self
    }

    /// Commits it.
    pub(super) async fn commit(self, store: &SqlStore) -> Recorded {
        self.try_commit(store).await.unwrap()
    }

    pub(super) async fn try_commit(self, store: &SqlStore) -> Result<Recorded, StoreError> {
        store.record(Arc::new(self.record)).await
    }

    fn settle(
        mut self,
        outbox_id: i64,
        attempt: Option<(u32, Outcome)>,
        attempts_before: u32,
        kind: SettlementKind,
    ) -> Self {
        self.record.settle.push(Settlement {
            outbox_id,
            key_epoch: self.key_epoch,
            attempts_before,
            attempt: attempt.map(|(number, outcome)| ended(number, outcome)),
            kind,
        });
        self
    }
}

pub(super) fn dispatch(relay: RelayId, sequence: i64) -> DispatchId {
    DispatchId { relay, sequence }
}

fn retry(counts: Counts, unknown_since: Option<Timestamp>) -> SettlementKind {
    SettlementKind::Retry {
        after: Duration::from_mins(1),
        counts,
        unknown_since,
    }
}

fn ended(number: u32, outcome: Outcome) -> EndedAttempt {
    EndedAttempt {
        number,
        started_at: Timestamp::from_micros(1_700_000_000_000_000),
        rendering: RENDERING,
        key: Some("ac1-0123456789abcdef0123456789abcdef".to_owned()),
        report: Report {
            outcome,
            http_status: Some(200),
            detail: Some("a detail".to_owned()),
            excerpt: Some(Secrets::none().excerpt(b"an excerpt", 100)),
            body_digest: Some([7; 32]),
            duration: Duration::from_millis(12),
        },
    }
}
