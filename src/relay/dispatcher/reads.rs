//! One read of the database for a dispatcher: what it is for, and what it brings.
//!
//! The reads of a sweep stand in an order: what holds row keys comes first, so that what left it meanwhile and is owed
//! again is found as such. What follows from a read is `intake`'s.

use std::collections::HashSet;
use std::time::Duration;

use crate::store::{FetchLimits, Fetched, Owed, Shard, Store, StoreError, Uncertain};

/// Ids that one step of a sweep reads at most.
pub(super) const SWEEP_IDS: u32 = 5_000;

/// What a read is for.
pub(super) enum Job {
    Load(Vec<i64>),
    Fetch {
        after: i64,
        limits: FetchLimits,
    },
    Sweep {
        after: i64,
        upto: i64,
        version: u64,
        /// What was `uncertain` when the read began.
        held: Vec<i64>,
    },
}

/// What one read brought.
pub(super) enum Reading {
    Fetched(Fetched),
    Swept(Swept),
    Loaded { asked: Vec<i64>, owed: Vec<Owed> },
}

/// One step of a sweep.
pub(super) struct Swept {
    pub(super) ids: Vec<i64>,
    pub(super) uncertain: Vec<Uncertain>,
    /// Were `uncertain`, and are owed again: a person replayed them.
    pub(super) replayed: Vec<Owed>,
    pub(super) cancelled: Vec<i64>,
    /// Which state of the `uncertain` this dispatcher had when the read began.
    pub(super) version: u64,
    /// How long it took.
    pub(super) took: Duration,
}

impl Reading {
    pub(super) fn taking(mut self, time: Duration) -> Self {
        if let Self::Swept(swept) = &mut self {
            swept.took = time;
        }
        self
    }
}

/// Reads it.
pub(super) async fn read(
    store: &dyn Store,
    shard: &Shard,
    job: &Job,
    limits: FetchLimits,
) -> Result<Reading, StoreError> {
    match job {
        Job::Load(ids) => {
            let owed = store.load(shard, ids, limits).await?;
            Ok(Reading::Loaded {
                asked: ids.clone(),
                owed,
            })
        }
        Job::Fetch { after, limits } => Ok(Reading::Fetched(store.fetch(shard, *after, *limits).await?)),
        Job::Sweep {
            after,
            upto,
            version,
            held,
        } => {
            let uncertain = store.uncertain(shard).await?;
            Ok(Reading::Swept(Swept {
                replayed: replayed(store, shard, held, &uncertain, limits).await?,
                uncertain,
                ids: store.owed_ids(shard, *after, *upto, SWEEP_IDS).await?,
                cancelled: store.cancel_requests(shard).await?,
                version: *version,
                took: Duration::ZERO,
            }))
        }
    }
}

/// Those of `held` that are no longer `uncertain` but owed.
async fn replayed(
    store: &dyn Store,
    shard: &Shard,
    held: &[i64],
    uncertain: &[Uncertain],
    limits: FetchLimits,
) -> Result<Vec<Owed>, StoreError> {
    let uncertain: HashSet<i64> = uncertain.iter().map(|one| one.outbox_id).collect();
    let mut left: Vec<i64> = held
        .iter()
        .copied()
        .filter(|id| !uncertain.contains(id))
        .collect();
    let mut replayed = Vec::new();
    while !left.is_empty() {
        let owed = store.load(shard, &left, limits).await?;
        let Some(last) = owed.last().map(|last| last.row.id) else {
            break;
        };
        // The limits may have cut it there.
        left.retain(|id| *id > last);
        replayed.extend(owed);
    }
    Ok(replayed)
}
