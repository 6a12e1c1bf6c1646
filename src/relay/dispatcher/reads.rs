//! One read of the database for a dispatcher: what it is for, and what it brings.
//!
//! The reads of a sweep stand in an order: what holds row keys comes first, so that what left it meanwhile and is owed
//! again is found as such. What follows from a read is `offers`'.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use crate::core::queue::{LeftOff, Mark, Trace};
use crate::core::row::{Op, RowId};
use crate::core::time::Timestamp;
use crate::store::{CancelAsked, FetchLimits, Fetched, Owed, OwedId, Shard, Store, StoreError, Uncertain};

/// Ids that one step of a sweep reads at most.
pub(super) const SWEEP_IDS: u32 = 5_000;
/// Ids of one row key that are read at once.
const ROW_IDS: u32 = 64;

/// What a read is for.
pub(super) enum Errand {
    /// The contents of deliveries that the queue holds.
    Load { ids: Vec<i64>, limits: FetchLimits },
    /// Deliveries that it does not hold, by their ids.
    Found {
        ids: Vec<i64>,
        limits: FetchLimits,
        /// From where on the queue has left something out.
        floor: Option<i64>,
    },
    /// The next ones of a row key.
    Row {
        left_off: LeftOff,
        limits: FetchLimits,
        floor: Option<i64>,
    },
    /// Fresh ones.
    Fetch {
        after: i64,
        limits: FetchLimits,
        floor: Option<i64>,
    },
    /// What the cursor has passed.
    Sweep {
        after: i64,
        upto: i64,
        version: u64,
        /// What was `uncertain` when the read began.
        held: Vec<i64>,
        limits: FetchLimits,
    },
}

/// What one read brought.
pub(super) enum Reading {
    Fetched(Fetched),
    Swept(Swept),
    Loaded(Loaded),
}

/// Deliveries that were read by their ids.
pub(super) struct Loaded {
    pub(super) asked: Vec<i64>,
    pub(super) owed: Vec<Owed>,
    /// See [`Fetched::behind`]; not asked for where the queue holds them.
    pub(super) behind: HashMap<i64, i64>,
    /// They are of one row key, and there may be more of it.
    pub(super) goes_on: Option<LeftOff>,
}

/// One step of a sweep.
pub(super) struct Swept {
    /// It read the ids above this one.
    pub(super) after: i64,
    pub(super) ids: Vec<OwedId>,
    pub(super) uncertain: Vec<Uncertain>,
    /// Were `uncertain`, and are owed again: a person replayed them.
    pub(super) replayed: Vec<Outline>,
    pub(super) cancelled: Vec<CancelAsked>,
    /// Which state of the `uncertain` this dispatcher had when the read began.
    pub(super) version: u64,
    /// How long it took.
    pub(super) took: Duration,
}

/// A delivery without its payload.
pub(super) struct Outline {
    pub(super) outbox_id: i64,
    pub(super) row: RowId,
    pub(super) op: Op,
    pub(super) due: Timestamp,
    pub(super) trace: Trace,
    pub(super) mark: Mark,
}

impl Outline {
    pub(super) fn of(owed: &Owed) -> Self {
        Self {
            outbox_id: owed.row.id,
            row: owed.row.row.clone(),
            op: owed.row.op,
            due: owed.due_at,
            trace: owed.trace(),
            mark: owed.mark(),
        }
    }
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
pub(super) async fn read(store: &dyn Store, shard: &Shard, errand: &Errand) -> Result<Reading, StoreError> {
    match errand {
        Errand::Load { ids, limits } => Ok(Reading::Loaded(Loaded {
            owed: store.load(shard, ids, *limits).await?,
            asked: ids.clone(),
            behind: HashMap::new(),
            goes_on: None,
        })),
        Errand::Found { ids, limits, floor } => {
            let loaded = found(store, shard, ids.clone(), *limits, *floor).await?;
            Ok(Reading::Loaded(loaded))
        }
        Errand::Row {
            left_off,
            limits,
            floor,
        } => {
            let ids = store
                .owed_of_row(shard, &left_off.row, left_off.from, ROW_IDS)
                .await?;
            let full = ids.len() >= usize::try_from(ROW_IDS).unwrap_or(usize::MAX);
            let goes_on = ids.last().filter(|_| full).map(|last| LeftOff {
                row: left_off.row.clone(),
                from: last + 1,
            });
            let loaded = found(store, shard, ids, *limits, *floor).await?;
            Ok(Reading::Loaded(Loaded { goes_on, ..loaded }))
        }
        Errand::Fetch { after, limits, floor } => {
            let mut fetched = store.fetch(shard, *after, *limits).await?;
            if floor.is_some() {
                let behind = behind(store, shard, &fetched.owed, *floor).await?;
                fetched.behind.extend(behind);
            }
            Ok(Reading::Fetched(fetched))
        }
        Errand::Sweep {
            after,
            upto,
            version,
            held,
            limits,
        } => {
            let uncertain = store.uncertain(shard).await?;
            Ok(Reading::Swept(Swept {
                after: *after,
                replayed: replayed(store, shard, held, &uncertain, *limits).await?,
                uncertain,
                ids: store.owed_ids(shard, *after, *upto, SWEEP_IDS).await?,
                cancelled: store.cancel_requests(shard).await?,
                version: *version,
                took: Duration::ZERO,
            }))
        }
    }
}

async fn found(
    store: &dyn Store,
    shard: &Shard,
    asked: Vec<i64>,
    limits: FetchLimits,
    floor: Option<i64>,
) -> Result<Loaded, StoreError> {
    let owed = store.load(shard, &asked, limits).await?;
    Ok(Loaded {
        behind: behind(store, shard, &owed, floor).await?,
        asked,
        owed,
        goes_on: None,
    })
}

/// For each of `owed` the nearest older delivery of its row key that the queue may have left out, or that is late.
async fn behind(
    store: &dyn Store,
    shard: &Shard,
    owed: &[Owed],
    floor: Option<i64>,
) -> Result<HashMap<i64, i64>, StoreError> {
    if owed.is_empty() {
        return Ok(HashMap::new());
    }
    let ids: Vec<i64> = owed.iter().map(|owed| owed.row.id).collect();
    store.behind(shard, &ids, floor).await
}

/// Those of `held` that are no longer `uncertain` but owed. No more than `limits` are in memory at once.
async fn replayed(
    store: &dyn Store,
    shard: &Shard,
    held: &[i64],
    uncertain: &[Uncertain],
    limits: FetchLimits,
) -> Result<Vec<Outline>, StoreError> {
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
        replayed.extend(owed.iter().map(Outline::of));
    }
    Ok(replayed)
}
