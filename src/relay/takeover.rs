//! Takeover: attempts that an earlier owner put on record and never settled are settled as unknown.
//!
//! They count like any attempt, so that a row that kills its relay each time ends in the end, and `uncertain_policy`
//! decides what follows. Whether their requests were sent nobody knows; that is what the outcome says.

use std::collections::BTreeMap;

use super::{Active, Context};
use crate::core::decide::{Standing, Transition, decide};
use crate::core::outcome::Report;
use crate::core::time::Timestamp;
use crate::store::{
    EndedAttempt, Lease, Orphan, OrphanEntry, Record, Settlement, SettlementKind, StoreError,
};

/// Settles what earlier owners of the lease left behind. Returns the database's clock; `None` if the lease is lost.
pub(super) async fn take_over(
    context: &Context,
    lease: &Lease,
    active: &Active,
    chance: &mut fastrand::Rng,
) -> Result<Option<Timestamp>, StoreError> {
    let orphans = context.store.orphans(lease).await?;
    let settle: Vec<Settlement> = left_behind(&orphans)
        .map(|(orphan, entry)| settlement(orphan, entry, active, chance.f64()))
        .collect();
    if !settle.is_empty() {
        let (destination, shard) = (&lease.shard.destination, lease.shard.number);
        tracing::warn!(%destination, shard, attempts = settle.len(), "attempts without an outcome were left behind");
    }
    let finished = orphans.iter().map(|orphan| orphan.dispatch).collect();
    let record = Record {
        lease: lease.clone(),
        begin: None,
        settle,
        finished,
    };
    crate::crash_point!("before_takeover");
    let recorded = context.store.record(record.into()).await?;
    crate::crash_point!("after_takeover");
    Ok(recorded.leased.then_some(recorded.now))
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

fn settlement(orphan: &Orphan, orphaned: &OrphanEntry, active: &Active, jitter: f64) -> Settlement {
    let entry = orphaned.entry;
    let unknown_since = Some(orphaned.unknown_since.unwrap_or(orphan.at));
    let report = Report::unknown("the relay ended before the outcome was on record");
    let standing = Standing {
        attempts: entry.attempt,
        excused: orphaned.excused,
        owed_at: orphaned.owed_at,
        unknown_since,
        cancel: orphaned.cancel,
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
