//! Takeover: attempts that an earlier owner put on record and never settled are settled as unknown.
//!
//! They count like any attempt, so that a row that kills its relay each time ends in the end, and `uncertain_policy`
//! decides what follows. Whether their requests were sent nobody knows; that is what the outcome says. Of a job the
//! receiver can be asked: see `jobs`.

mod jobs;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::dispatcher::{Exit, Stop};
use super::reconnect::retrying;
use super::{Active, Context};
use crate::core::decide::{Standing, Transition, decide};
use crate::core::limit::breaker::Kind;
use crate::core::outcome::{Outcome, Report};
use crate::core::time::Timestamp;
use crate::store::{
    EndedAttempt, Lease, Orphan, OrphanEntry, Record, Settlement, SettlementKind, StoreError,
};

/// Settles what earlier owners of the lease left behind. Returns the database's clock, or why the shard is not dispatched.
pub(super) async fn take_over(
    context: &Context,
    lease: &Lease,
    active: &Active,
    stop: &Stop,
    chance: &mut fastrand::Rng,
) -> Result<Result<Timestamp, Exit>, StoreError> {
    let orphans = retrying("take over", &stop.abort, || context.store.orphans(lease)).await;
    let Some(orphans) = orphans.transpose()? else {
        return Ok(Err(Exit::GraceOver));
    };
    let known = jobs::see_to(context, lease, active, &orphans, stop).await;
    let Some(mut known) = known.transpose()? else {
        let aborted = stop.abort.is_cancelled();
        return Ok(Err(if aborted { Exit::GraceOver } else { Exit::Drained }));
    };
    let settle: Vec<Settlement> = left_behind(&orphans)
        .map(|(orphan, entry)| {
            let told = known
                .remove(&entry.entry.outbox_id)
                .filter(|_| orphan.job.is_some());
            let report =
                told.unwrap_or_else(|| Report::unknown("the relay ended before the outcome was on record"));
            settlement(orphan, entry, report, active, chance.f64())
        })
        .collect();
    if !settle.is_empty() {
        let (destination, shard) = (&lease.shard.destination, lease.shard.number);
        tracing::warn!(%destination, shard, attempts = settle.len(), "attempts without an outcome were left behind");
    }
    let finished = orphans.iter().map(|orphan| orphan.dispatch).collect();
    let record = Arc::new(Record {
        lease: lease.clone(),
        begin: None,
        settle,
        finished,
    });
    crate::crash_point!("before_takeover");
    let recorded = retrying("take over", &stop.abort, || context.store.record(record.clone())).await;
    crate::crash_point!("after_takeover");
    Ok(match recorded.transpose()? {
        None => Err(Exit::GraceOver),
        Some(recorded) if recorded.leased => {
            let counts = context.metrics.shard(&lease.shard.destination);
            counts.settled(&record.settle, &recorded);
            Ok(recorded.now)
        }
        Some(_) => Err(Exit::LeaseLost),
    })
}

/// Every delivery once. One that was put back before it was sent, and begun anew, stands in both dispatches: the last is
/// the one that can have been sent.
fn left_behind(orphans: &[Orphan]) -> impl Iterator<Item = (&Orphan, &OrphanEntry)> {
    let mut left: BTreeMap<i64, (&Orphan, &OrphanEntry)> = BTreeMap::new();
    for orphan in orphans {
        for owed in &orphan.owed {
            let last = left.entry(owed.entry.outbox_id).or_insert((orphan, owed));
            if (last.0.at, last.0.dispatch.sequence) < (orphan.at, orphan.dispatch.sequence) {
                *last = (orphan, owed);
            }
        }
    }
    left.into_values()
}

fn settlement(
    orphan: &Orphan,
    orphaned: &OrphanEntry,
    report: Report,
    active: &Active,
    jitter: f64,
) -> Settlement {
    let entry = orphaned.entry;
    let arrived = (report.outcome == Outcome::Unknown).then_some(orphan.at);
    let unknown_since = orphaned.unknown_since.or(arrived);
    let standing = Standing {
        attempts: entry.attempt,
        excused: orphaned.excused,
        owed_at: orphaned.owed_at,
        unknown_since,
        cancel: orphaned.cancel,
        // What an earlier owner sent it for is not on record.
        sent_as: Kind::Regular,
    };
    let kind = match decide(&report.outcome, &standing, orphan.now, &active.policy, jitter).transition {
        Transition::End(reason) => SettlementKind::End(reason),
        Transition::Retry { after, counts } => SettlementKind::Retry {
            after,
            counts,
            unknown_since,
        },
    };
    Settlement {
        outbox_id: entry.outbox_id,
        key_epoch: entry.key_epoch,
        attempts_before: entry.attempt - 1,
        attempt: Some(EndedAttempt {
            number: entry.attempt,
            started_at: orphan.at,
            rendering: orphaned.rendering.unwrap_or(orphan.rendering),
            key: None,
            report,
        }),
        kind,
    }
}
