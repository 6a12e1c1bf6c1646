//! Jobs that an earlier owner left at the receiver: each is seen to its end, and its results tell what its rows met.
//!
//! Nothing of the shard is sent meanwhile, so no newer version of a row goes past a job that may still hold an older one.

use std::collections::HashMap;
use std::sync::Arc;

use crate::core::outcome::Report;
use crate::core::row::OutboxRow;
use crate::destination::bulk::Awaited;
use crate::destination::{Destination, Rendering};
use crate::relay::database_clock::DatabaseClock;
use crate::relay::dispatcher::Stop;
use crate::relay::job::RunningJob;
use crate::relay::reconnect::retrying;
use crate::relay::{Active, Context};
use crate::store::{FetchLimits, Lease, Orphan, Owed, StoreError};

/// Bytes that a file of results may have, though only some of the job's rows are this shard's, or owed still.
const MOST_RESULTS: usize = 64 * 1024 * 1024;

/// What is known of the deliveries of jobs, by outbox id.
pub(super) type Known = HashMap<i64, Report>;

/// Sees to every job that is left. `None` if it was asked to stop before: the jobs are still on record.
pub(super) async fn see_to(
    context: &Context,
    lease: &Lease,
    active: &Active,
    orphans: &[Orphan],
    stop: &Stop,
) -> Option<Result<Known, StoreError>> {
    let mut known = Known::new();
    for orphan in orphans.iter().filter(|orphan| !orphan.owed.is_empty()) {
        let Some(job) = &orphan.job else { continue };
        let (destination, shard) = (&lease.shard.destination, lease.shard.number);
        tracing::info!(%destination, shard, job, rows = orphan.owed.len(), "a job was left behind: waiting for its end");
        let left = retrying("read a job", &stop.abort, || {
            left_behind(context, lease, active, orphan, job)
        })
        .await?;
        let (ids, mut running) = match left {
            Ok(Some(left)) => left,
            Ok(None) => continue,
            Err(error) => return Some(Err(error)),
        };
        let reports = running.see(context, &stop.drain).await?;
        crate::crash_point!("before_job_taken_over");
        known.extend(ids.into_iter().zip(reports));
    }
    Some(Ok(known))
}

/// The job as it can be asked for, and its deliveries; none if this version or configuration cannot ask.
async fn left_behind(
    context: &Context,
    lease: &Lease,
    active: &Active,
    orphan: &Orphan,
    job: &str,
) -> Result<Option<(Vec<i64>, RunningJob)>, StoreError> {
    let Some(destination) = recorded(context, active, orphan.rendering).await? else {
        tracing::error!(destination = %lease.shard.destination, job, "cannot ask for a job that another version made");
        return Ok(None);
    };
    let Some(bulk) = destination.bulk() else {
        return Ok(None);
    };
    let clock = DatabaseClock {
        read: orphan.now,
        at: context.clock.monotonic(),
    };
    let (mut ids, mut awaited) = (vec![], Awaited::default());
    let mut left: Vec<i64> = orphan.owed.iter().map(|owed| owed.entry.outbox_id).collect();
    while !left.is_empty() {
        let owed = context.store.load(&lease.shard, &left, limits(context)).await?;
        let Some(last) = owed.last().map(|last| last.row.id) else {
            break;
        };
        left.retain(|outbox_id| *outbox_id > last);
        let named: Vec<&Owed> = owed
            .iter()
            .filter(|owed| bulk.name(&owed.row).is_some())
            .collect();
        let rows: Vec<&OutboxRow> = named.iter().map(|owed| &owed.row).collect();
        ids.extend(rows.iter().map(|row| row.id));
        awaited.extend(bulk.data(&rows).awaited);
    }
    awaited.most_bytes = awaited.most_bytes.max(MOST_RESULTS);
    // What it has lasted already counts.
    let lasted = orphan.now.since(orphan.at);
    let until = clock.at.saturating_add(bulk.job_timeout().saturating_sub(lasted));
    let running = RunningJob {
        id: job.to_owned(),
        awaited,
        clock,
        since: clock.at,
        until,
        destination: Arc::clone(&destination),
    };
    Ok(Some((ids, running)))
}

/// The destination under the rendering with this id.
async fn recorded(
    context: &Context,
    active: &Active,
    rendering: i64,
) -> Result<Option<Arc<dyn Destination>>, StoreError> {
    let Some(spec) = context.store.renderings().await?.remove(&rendering) else {
        return Ok(None);
    };
    Ok(active.destination.under(&Rendering(spec)).ok().map(Arc::from))
}

fn limits(context: &Context) -> FetchLimits {
    FetchLimits {
        rows: context.limits.fetch_rows,
        bytes: context.limits.fetch_bytes.into(),
    }
}
