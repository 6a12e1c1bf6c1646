//! Housekeeping: what one relay does for all of them.
//!
//! It comes with the lease of the shard of what has no route, so there is one housekeeper however many relays run.
//! Each chore is a short transaction of its own and safe beside anything, even beside another housekeeper.

use std::time::Duration;

use super::dispatcher::{Exit, Stop};
use super::reconnect::retrying;
use super::{Context, Wakeup};
use crate::store::StoreError;

/// Rows that one step moves at most.
const STEP_ROWS: u32 = 1_000;
/// How often there is a look whether something is to be done.
const EVERY: Duration = Duration::from_secs(1);

/// Keeps house until it is asked to stop.
pub(super) async fn keep_house(context: Context, stop: Stop) -> Result<Exit, StoreError> {
    let mut bell = context.wakeup.listen();
    while !stop.drain.is_cancelled() {
        if do_chores(&context, &context.wakeup, &stop).await? {
            continue;
        }
        tokio::select! {
            () = stop.drain.cancelled() => {}
            _ = bell.changed() => {}
            () = tokio::time::sleep(EVERY) => {}
        }
    }
    Ok(Exit::Drained)
}

/// One round of chores. Whether there may be more to do.
async fn do_chores(context: &Context, wakeup: &Wakeup, stop: &Stop) -> Result<bool, StoreError> {
    let store = &context.store;
    crate::crash_point!("before_routing");
    let Some(routed) = retrying("route", &stop.abort, || store.route_unrouted(STEP_ROWS)).await else {
        return Ok(false);
    };
    crate::crash_point!("after_routing");
    let Some(replayed) = retrying("replay", &stop.abort, || store.advance_replays(STEP_ROWS)).await else {
        return Ok(false);
    };
    let moved = routed? + replayed?;
    if moved > 0 {
        wakeup.ring();
    }
    Ok(moved > 0)
}
