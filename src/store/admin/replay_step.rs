//! One step of a replay: looks at the next deliveries, and makes due again those that may be.
//!
//! The deliveries and the cursor change in one transaction, so that a crash at any point leaves the job where it was
//! before the step, or after it. Two workers may try the same step; one of them finds the cursor moved, and does nothing.
//!
//! A newer version can be committed and delivered after the look: what is made due again is guarded, and `record` looks
//! once more before it begins.

use std::collections::HashSet;

use super::deliveries::Delivery;
use super::filter::{Cursor, DeliveryId};
use super::replay_request::{KeyMode, StaleRows};
use super::replays::Replay;
use super::walk::{self, Direction, Walk};
use crate::core::delivery::State;
use crate::core::row::TopicKind;
use crate::store::StoreError;
use crate::store::database::{Args, Database, Transaction, only, sql};

/// Takes the oldest replay that runs one step further, of `limit` deliveries at most. Returns how many it looked at; 0 if
/// none runs.
pub(in crate::store) async fn advance_replays(database: &Database, limit: u32) -> Result<u64, StoreError> {
    loop {
        let rows = database.read(sql!(shared "next_replay"), Args::new()).await?;
        let Some(row) = rows.first() else { return Ok(0) };
        let replay = Replay::read(row)?;
        let looked_at = step(database, &replay, limit.max(1)).await?;
        // A step that another worker took, or that only found the end, is followed by the next one.
        if looked_at > 0 {
            return Ok(looked_at);
        }
    }
}

/// What a replay does with a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Planned {
    /// Make it due again.
    Requeue,
    /// It is owed already.
    LeaveAlone,
    /// A newer version has overtaken it.
    Skip,
}

/// What a replay does with the deliveries of one step.
pub(super) struct Plan {
    overtaken: HashSet<DeliveryId>,
    stale: StaleRows,
}

impl Plan {
    pub(super) async fn of(
        database: &Database,
        deliveries: &[Delivery],
        stale: StaleRows,
    ) -> Result<Self, StoreError> {
        let mut overtaken = HashSet::new();
        let versions: Vec<DeliveryId> = deliveries
            .iter()
            .filter(|delivery| delivery.op.kind() == TopicKind::State && delivery.state != State::Pending)
            .map(|delivery| delivery.id.clone())
            .collect();
        if stale == StaleRows::Skip && !versions.is_empty() {
            let args = Args::new().batch(walk::batch(&versions));
            for row in database.read(sql!("overtaken"), args).await? {
                overtaken.insert(DeliveryId {
                    outbox_id: row.int("outbox_id")?,
                    destination: row.text("destination")?.to_owned(),
                });
            }
        }
        Ok(Self { overtaken, stale })
    }

    pub(super) fn of_delivery(&self, delivery: &Delivery) -> Planned {
        let is_stale = delivery.state == State::Superseded || self.overtaken.contains(&delivery.id);
        match (delivery.state, self.stale) {
            (State::Pending, _) => Planned::LeaveAlone,
            (_, StaleRows::Skip) if is_stale => Planned::Skip,
            _ => Planned::Requeue,
        }
    }
}

/// What a step has found out, and will write.
struct Progress {
    replay: i64,
    from: Cursor,
    to: Cursor,
    key: KeyMode,
    stale: StaleRows,
    requeue: Vec<Delivery>,
    left_alone: usize,
    skipped: usize,
    more: bool,
}

/// Returns how many deliveries were looked at; 0 if there were none, or another worker took the step.
async fn step(database: &Database, replay: &Replay, limit: u32) -> Result<u64, StoreError> {
    let request = &replay.request;
    let from = Some(replay.cursor.clone());
    let mut walk = Walk::start(database, &request.selection, Direction::Up, from).await?;
    walk.end_at(replay.last_outbox_id);
    let step = walk.step(limit).await?;
    let plan = Plan::of(database, &step.deliveries, request.stale).await?;
    let mut progress = Progress {
        replay: replay.id,
        from: replay.cursor.clone(),
        to: walk.position(),
        key: request.key,
        stale: request.stale,
        requeue: vec![],
        left_alone: 0,
        skipped: 0,
        more: step.more,
    };
    for delivery in step.deliveries {
        match plan.of_delivery(&delivery) {
            Planned::Requeue => progress.requeue.push(delivery),
            Planned::LeaveAlone => progress.left_alone += 1,
            Planned::Skip => progress.skipped += 1,
        }
    }
    let taken = database
        .write(move |transaction| Box::pin(async move { write(transaction, &progress).await }))
        .await?;
    crate::crash_point!("after_replay");
    Ok(if taken { step.looked_at as u64 } else { 0 })
}

/// Whether the step was still to be taken.
async fn write(transaction: &mut Transaction, progress: &Progress) -> Result<bool, StoreError> {
    let args = Args::new()
        .int(progress.replay)
        .int(progress.from.0.outbox_id)
        .text(&progress.from.0.destination)
        .int(progress.to.0.outbox_id)
        .text(&progress.to.0.destination);
    if transaction.execute(sql!(shared "advance_replay"), args).await? == 0 {
        return Ok(false);
    }
    let requeued = requeue(transaction, progress).await?;
    // Meanwhile somebody else may have made one due again, or cancelled it.
    let left_alone = progress.left_alone + progress.requeue.len().saturating_sub(requeued);
    let args = Args::new()
        .int(progress.replay)
        .int(count(requeued))
        .int(count(left_alone))
        .int(count(progress.skipped))
        .text(if progress.more { "running" } else { "done" });
    transaction.execute(sql!(shared "count_replay"), args).await?;
    crate::crash_point!("in_replay");
    Ok(true)
}

async fn requeue(transaction: &mut Transaction, progress: &Progress) -> Result<usize, StoreError> {
    let ids: Vec<DeliveryId> = progress
        .requeue
        .iter()
        .map(|delivery| delivery.id.clone())
        .collect();
    let states = progress.requeue.iter().map(|delivery| delivery.state.as_str());
    let args = Args::new()
        .int(i64::from(progress.key == KeyMode::New))
        .int(i64::from(progress.stale == StaleRows::Skip))
        .batch(walk::batch(&ids).texts("state", states));
    only(transaction.rows(sql!("requeue"), args).await?)?.int("requeued")
}

fn count(deliveries: usize) -> i64 {
    i64::try_from(deliveries).unwrap_or(i64::MAX)
}
