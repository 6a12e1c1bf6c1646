//! A look at the leases: what the others hold, and taking what is this relay's to take.
//!
//! A task of its own, so that a database that does not answer holds up nothing else. It decides nothing: `balance` does.

use std::collections::{BTreeSet, HashSet};

use tokio_util::sync::CancellationToken;

use super::heartbeat::Tenure;
use super::{Context, Destinations, balance};
use crate::store::{Lease, LeaseRow, RelayId, Shard, StoreError};

/// What a look begins with.
pub(super) struct Look {
    pub(super) context: Context,
    /// The term in which leases are taken.
    pub(super) tenure: Tenure,
    /// The relays that live.
    pub(super) live: Vec<RelayId>,
    /// The shards that this relay dispatches.
    pub(super) held: HashSet<Shard>,
    pub(super) destinations: Destinations,
    /// Once cancelled, nothing more is taken.
    pub(super) drain: CancellationToken,
}

/// What came of it.
pub(super) struct Looked {
    /// To be given back.
    pub(super) release: Vec<Shard>,
    /// To be dispatched from now on.
    pub(super) acquired: Vec<Lease>,
    pub(super) tenure: Tenure,
    pub(super) destinations: Destinations,
}

/// Looks. What was taken before an error is told all the same; errors wait for the next heartbeat.
pub(super) async fn look(look: Look) -> Looked {
    let mut looked = Looked {
        release: Vec::new(),
        acquired: Vec::new(),
        tenure: look.tenure.clone(),
        destinations: look.destinations.clone(),
    };
    if let Err(error) = try_look(&look, &mut looked).await {
        tracing::warn!(%error, "could not look at the leases; trying again with the next heartbeat");
    }
    looked
}

async fn try_look(look: &Look, looked: &mut Looked) -> Result<(), StoreError> {
    let (context, ttl) = (&look.context, look.context.limits.lease_ttl);
    let mut leases = context.store.leases(ttl).await?;
    for row in &mut leases {
        // The database calls it this relay's, and it does not dispatch it: its task has ended, or it was taken by a
        // statement whose answer never came. It may be another's to take by now, and while somebody has it, a
        // destination cannot be divided otherwise.
        if row.live_owner == Some(context.relay) && !look.held.contains(&row.shard) {
            context.store.release(&lease_of(row, context.relay)).await?;
            row.live_owner = None;
        }
    }
    let plan = balance::plan(context.relay, &look.live, &leases, &shards_of(&look.destinations));
    tracing::debug!(
        live = look.live.len(),
        acquire = plan.room.min(plan.acquire.len()),
        release = plan.release.len(),
        held = look.held.len(),
        "looked at the leases"
    );
    looked.release = plan.release;
    for shard in plan.acquire.iter().filter(|shard| !look.held.contains(shard)) {
        if looked.acquired.len() == plan.room || look.drain.is_cancelled() {
            break;
        }
        looked
            .acquired
            .extend(context.store.acquire(shard, &context.relay, ttl).await?);
    }
    Ok(())
}

fn lease_of(row: &LeaseRow, owner: RelayId) -> Lease {
    Lease {
        shard: row.shard.clone(),
        owner,
        epoch: row.epoch,
    }
}

/// The shards that a configuration asks for, and that of what has no route.
fn shards_of(destinations: &Destinations) -> BTreeSet<Shard> {
    let shards = destinations.iter().flat_map(|(name, active)| {
        (0..active.shards).map(|number| Shard {
            destination: name.clone(),
            number,
            of: active.shards,
        })
    });
    shards.chain([Shard::unrouted()]).collect()
}
