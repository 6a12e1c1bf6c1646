//! One step of a replay: looks at the next deliveries, and makes due those that may be.
//!
//! The deliveries and the cursor change in one transaction, so that a crash at any point leaves the job where it was
//! before the step, or after it. Two workers may try the same step; one of them finds the cursor moved, and does nothing.
//! The same transaction says from when on the rate of the job allows its next step, by the database's clock.
//!
//! A newer version can be committed and delivered after the look: what is made due again is guarded, and `record` looks
//! once more before it begins.

use std::time::Duration;

use super::filter::{Cursor, DeliveryId};
use super::replay::Replay;
use super::replay_plan::{Plan, Planned};
use super::replay_request::{KeyMode, ReplayRate, StaleRows};
use super::replay_walk::{Candidate, ReplayWalk};
use super::{replay_failure, replay_writers, walk};
use crate::core::time::Timestamp;
use crate::store::database::{Args, Database, Transaction, only, sql};
use crate::store::{Advanced, StoreError};

/// Takes the oldest replay that may go on one step further, of `limit` deliveries at most.
pub(in crate::store) async fn advance_replays(
    database: &Database,
    limit: u32,
) -> Result<Advanced, StoreError> {
    loop {
        let rows = database.read(sql!(shared "next_replay"), Args::new()).await?;
        let Some(row) = rows.first() else {
            return Ok(Advanced::default());
        };
        let (now, next_step_at) = (row.time("now")?, row.time("next_step_at")?);
        if next_step_at > now {
            return Ok(Advanced {
                looked_at: 0,
                next_in: Some(next_step_at.since(now)),
            });
        }
        let id = row.int("id")?;
        let (rows, stepped) = match Replay::read(row) {
            Ok(replay) => {
                let rows = rows_of_step(&replay, limit);
                (rows, step(database, &replay, now, rows, limit).await)
            }
            Err(error) => (limit, Err(error)),
        };
        let looked_at = match stepped {
            Ok(looked_at) => looked_at,
            // One that fails holds up no other, and no relay.
            Err(error) => {
                replay_failure::relieve(database, id, error, rows).await?;
                continue;
            }
        };
        // A step that another worker took, or that only found the end, is followed by the next one.
        if looked_at > 0 {
            return Ok(Advanced {
                looked_at,
                next_in: None,
            });
        }
    }
}

/// How many deliveries the next step of a replay looks at, where a relay takes `limit`.
fn rows_of_step(replay: &Replay, limit: u32) -> u32 {
    let fit = replay.step_rows.unwrap_or(u32::MAX);
    limit.min(fit).max(1)
}

/// What a step has found out, and will write.
struct Progress {
    replay: i64,
    from: Cursor,
    to: Cursor,
    key: KeyMode,
    stale: StaleRows,
    rate: Option<ReplayRate>,
    began_at: Timestamp,
    /// The writers that it noted, of which one at least was still open.
    noted_writers: Option<String>,
    /// How many deliveries the next step looks at, if not as many as a relay takes.
    step_rows: Option<u32>,
    requeue: Vec<Candidate>,
    left_alone: usize,
    in_flight: usize,
    skipped: usize,
    more: bool,
}

/// Returns how many deliveries were looked at; 0 if there were none, or another worker took the step.
async fn step(
    database: &Database,
    replay: &Replay,
    began_at: Timestamp,
    rows: u32,
    limit: u32,
) -> Result<u64, StoreError> {
    if let Some(noted) = &replay.noted_writers
        && replay_writers::still_open(database, noted).await?.is_empty()
    {
        replay_writers::begin_again(database, replay.id, noted).await?;
        return Ok(0);
    }
    let request = &replay.request;
    let from = Some(replay.cursor.clone());
    let mut walk = ReplayWalk::start(database, &request.selection, from, replay.last_outbox_id).await?;
    let seen = walk.step(rows).await?;
    let plan = Plan::of(database, &seen.candidates, request.stale).await?;
    let mut progress = Progress {
        replay: replay.id,
        from: replay.cursor.clone(),
        to: walk.position(),
        key: request.key,
        stale: request.stale,
        rate: request.rate,
        began_at,
        noted_writers: replay.noted_writers.clone(),
        step_rows: replay
            .step_rows
            .and_then(|rows| replay_failure::grown(rows, limit)),
        requeue: vec![],
        left_alone: 0,
        in_flight: 0,
        skipped: 0,
        more: seen.more,
    };
    // What is only looked at costs no receiver anything: the rate is that of what becomes due, a second's worth at once.
    let most = request.rate.map_or(usize::MAX, |rate| {
        usize::try_from(rate.get()).unwrap_or(usize::MAX)
    });
    let mut passed = replay.cursor.clone();
    for candidate in seen.candidates {
        let planned = plan.of_candidate(&candidate);
        if planned == Planned::Requeue && progress.requeue.len() == most {
            (progress.to, progress.more) = (passed, true);
            break;
        }
        passed = Cursor(candidate.id().clone());
        match planned {
            Planned::Requeue => progress.requeue.push(candidate),
            Planned::LeaveAlone => progress.left_alone += 1,
            Planned::InFlight => progress.in_flight += 1,
            Planned::Skip => progress.skipped += 1,
        }
    }
    let taken = database
        .write(move |transaction| Box::pin(async move { write(transaction, &progress).await }))
        .await?;
    crate::crash_point!("after_replay");
    Ok(if taken { seen.looked_at as u64 } else { 0 })
}

/// Whether the step was still to be taken.
async fn write(transaction: &mut Transaction, progress: &Progress) -> Result<bool, StoreError> {
    let args = Args::new()
        .int(progress.replay)
        .int(progress.from.0.outbox_id)
        .text(&progress.from.0.destination)
        .int(progress.to.0.outbox_id)
        .text(&progress.to.0.destination)
        .opt_text(progress.noted_writers.as_deref());
    if transaction.execute(sql!(shared "advance_replay"), args).await? == 0 {
        return Ok(false);
    }
    let requeued = requeue(transaction, progress).await? + owe_missing(transaction, progress).await?;
    // Meanwhile somebody else may have made one due again, or cancelled it.
    let left_alone = progress.left_alone + progress.requeue.len().saturating_sub(requeued);
    let args = Args::new()
        .int(progress.replay)
        .int(count(requeued))
        .int(count(left_alone))
        .int(count(progress.in_flight))
        .int(count(progress.skipped))
        .text(progress.next_state())
        .time(progress.began_at.plus(progress.pause_after(requeued)))
        .int(progress.step_rows.map(i64::from));
    transaction.execute(sql!(shared "count_replay"), args).await?;
    crate::crash_point!("in_replay");
    Ok(true)
}

impl Progress {
    /// Whether it has come to the end of what there is, and waits for what can still come into sight.
    fn rests(&self) -> bool {
        !self.more && self.noted_writers.is_some()
    }

    fn next_state(&self) -> &'static str {
        if self.more || self.rests() {
            "running"
        } else {
            "done"
        }
    }

    /// How long after the beginning of this step, which made so many due, the next one may begin.
    fn pause_after(&self, requeued: usize) -> Duration {
        let rest = if self.rests() {
            replay_writers::REST
        } else {
            Duration::ZERO
        };
        let Some(rate) = self.rate else {
            return rest;
        };
        let requeued = u64::try_from(requeued).unwrap_or(u64::MAX);
        rest.max(Duration::from_micros(
            requeued.saturating_mul(1_000_000) / u64::from(rate.get()),
        ))
    }
}

/// Makes due again what had ended. Returns how many.
async fn requeue(transaction: &mut Transaction, progress: &Progress) -> Result<usize, StoreError> {
    let ended = progress.requeue.iter().filter_map(|candidate| match candidate {
        Candidate::Known(delivery) => Some((delivery.id.clone(), delivery.state.as_str())),
        Candidate::Missing(_) => None,
    });
    let (ids, states): (Vec<DeliveryId>, Vec<&str>) = ended.unzip();
    if ids.is_empty() {
        return Ok(0);
    }
    let args = choices(progress).batch(walk::batch(&ids).texts("state", states));
    only(transaction.rows(sql!("requeue"), args).await?)?.int("requeued")
}

/// Makes due what its destination never had. Returns how many.
async fn owe_missing(transaction: &mut Transaction, progress: &Progress) -> Result<usize, StoreError> {
    let missing = progress.requeue.iter().filter_map(|candidate| match candidate {
        Candidate::Missing(row) => Some(row.id.clone()),
        Candidate::Known(_) => None,
    });
    let ids: Vec<DeliveryId> = missing.collect();
    if ids.is_empty() {
        return Ok(0);
    }
    let args = choices(progress).batch(walk::batch(&ids));
    let rows = transaction.rows(sql!("owe_missing"), args).await?;
    let owed: Vec<DeliveryId> = rows.iter().map(walk::id).collect::<Result<_, _>>()?;
    let args = Args::new().batch(walk::batch(&owed));
    let ended = transaction.execute(sql!("ended_meanwhile"), args).await?;
    Ok(owed
        .len()
        .saturating_sub(usize::try_from(ended).unwrap_or(usize::MAX)))
}

/// Whether the key is to be new, and whether versions are guarded.
fn choices(progress: &Progress) -> Args {
    Args::new()
        .int(i64::from(progress.key == KeyMode::New))
        .int(i64::from(progress.stale == StaleRows::Skip))
}

fn count(deliveries: usize) -> i64 {
    i64::try_from(deliveries).unwrap_or(i64::MAX)
}
