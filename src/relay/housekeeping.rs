//! Housekeeping: what one relay does for all of them.
//!
//! It comes with the lease of the shard of what has no route, so there is one housekeeper however many relays run.
//! Each chore is a short transaction of its own and safe beside anything, even beside another housekeeper.

use std::time::Duration;

use super::dispatcher::{Exit, Stop};
use super::reconnect::retrying;
use super::{Context, pace};
use crate::store::{Advanced, StoreError};

/// Rows without a route that one step moves at most.
const STEP_ROWS: u32 = 1_000;
/// Deliveries that one step of a replay looks at.
pub const REPLAY_STEP: u32 = 2_000;
/// How often there is a look whether something is to be done.
const EVERY: Duration = Duration::from_secs(1);
/// How often the charts forget what is too old for them.
const FORGET: Duration = Duration::from_mins(10);

/// Keeps house until it is asked to stop. No chore waits for another: one that fails holds up itself alone.
pub(super) async fn keep_house(context: Context, stop: Stop) -> Result<Exit, StoreError> {
    tokio::try_join!(
        keep_replaying(&context, &stop),
        keep_routing(&context, &stop),
        keep_forgetting(&context, &stop)
    )?;
    Ok(Exit::Drained)
}

async fn keep_replaying(context: &Context, stop: &Stop) -> Result<(), StoreError> {
    while !stop.drain.is_cancelled() {
        let started = context.clock.monotonic();
        let advanced = replay(context, stop).await?;
        if advanced.looked_at > 0 {
            context.wakeup.ring();
            let took = context.clock.monotonic().saturating_sub(started);
            rest(stop, pace::after_replay_step(took)).await;
        } else {
            // A replay whose rate makes it wait goes on when its time has come.
            rest(stop, EVERY.min(advanced.next_in.unwrap_or(EVERY))).await;
        }
    }
    Ok(())
}

async fn keep_routing(context: &Context, stop: &Stop) -> Result<(), StoreError> {
    while !stop.drain.is_cancelled() {
        let started = context.clock.monotonic();
        if route(context, stop).await? > 0 {
            context.wakeup.ring();
        } else {
            let took = context.clock.monotonic().saturating_sub(started);
            // Rows without a route are walked by each look, however many there are.
            rest(stop, EVERY.max(pace::after_look(took))).await;
        }
    }
    Ok(())
}

async fn keep_forgetting(context: &Context, stop: &Stop) -> Result<(), StoreError> {
    while !stop.drain.is_cancelled() {
        forget(context, stop).await?;
        rest(stop, FORGET).await;
    }
    Ok(())
}

/// Lets so much time go by, unless it is asked to stop.
async fn rest(stop: &Stop, time: Duration) {
    tokio::select! {
        () = stop.drain.cancelled() => {}
        () = tokio::time::sleep(time) => {}
    }
}

/// Moves rows that had no route to the routes that their topics have by now.
async fn route(context: &Context, stop: &Stop) -> Result<u64, StoreError> {
    let next = || context.store.route_unrouted(STEP_ROWS);
    crate::crash_point!("before_routing");
    let routed = retrying("route", &stop.abort, next).await;
    crate::crash_point!("after_routing");
    routed.unwrap_or(Ok(0))
}

/// Forgets what is too old for the charts.
async fn forget(context: &Context, stop: &Stop) -> Result<(), StoreError> {
    let forget = || context.store.forget_tallies();
    retrying("forget", &stop.abort, forget).await.unwrap_or(Ok(()))
}

/// Takes the oldest replay that may go on a step further.
async fn replay(context: &Context, stop: &Stop) -> Result<Advanced, StoreError> {
    let next = || context.store.advance_replays(REPLAY_STEP);
    let advanced = retrying("replay", &stop.abort, next).await;
    advanced.unwrap_or(Ok(Advanced::default()))
}
