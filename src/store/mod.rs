//! What the relay keeps in the database, in domain verbs.
//!
//! [`Store`] is the contract; `SqlStore` keeps it on PostgreSQL and on SQLite, and one conformance suite runs on both.
//! Nothing above this floor speaks SQL, and nothing here decides what becomes of a delivery: `core::decide` does.

pub mod admin;
mod apply;
mod checkpoint;
pub mod database;
pub mod error;
mod failing;
mod fetch;
mod jobs;
mod leases;
mod migrate;
mod order;
mod orphans;
mod outbox;
mod pauses;
mod record;
mod rendering;
pub mod requests;
mod settings;
pub mod sources;
mod sql_store;
mod tally;
mod timestamp;
pub(crate) mod topic;
pub mod types;
mod unrouted;
mod usage;

use admin::advance_replays;
pub use apply::{Applied, Backfill, Plan, Route};
pub use checkpoint::Checkpoint;
pub use database::{Commits, Connections, Database, DatabaseOptions, MissingFile, Pooler};
pub use error::{Objection, StoreError};
pub use migrate::SCHEMA_VERSION;
pub use outbox::{Admission, Enqueued, Outbox, OutboxConnection};
pub use sql_store::SqlStore;
pub use tally::Tally;
pub use types::{
    Advanced, Beat, Begin, CancelAsked, DispatchId, EndedAttempt, Entry, Failing, FetchLimits, Fetched,
    Lease, LeaseRow, NotedUsage, Orphan, OrphanEntry, Owed, OwedId, Record, Recorded, RelayId, Settlement,
    SettlementKind, Shard, Uncertain,
};

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crate::core::row::RowId;

/// What a relay needs of the database.
///
/// Promises, for every implementation:
/// - Each verb is one transaction, or one statement; it happened wholly or not at all.
/// - Each verb but [`Store::add_tallies`] may be repeated after an error, though the first try may have committed: the
///   repetition changes nothing that the first try changed, and returns what it would have returned.
/// - No future may be dropped half way: callers await to the end, and time-outs are the server's.
/// - Times are the database's clock.
#[async_trait::async_trait]
pub trait Store: Send + Sync {
    /// Says that the relay lives, registers it if need be, and forgets relays that have been silent for a day.
    async fn beat(&self, relay: &RelayId, lease_ttl: Duration) -> Result<Beat, StoreError>;

    /// Every lease row, with whether its owner has been heard of within `lease_ttl`.
    async fn leases(&self, lease_ttl: Duration) -> Result<Vec<types::LeaseRow>, StoreError>;

    /// Takes the lease of `shard` if nobody holds it, or its owner has been silent for `lease_ttl`; but not while
    /// somebody holds a lease from when the destination was divided into another number of shards.
    ///
    /// No two relays ever hold the same shard under one epoch: the epoch grows with each change of hands. A relay that
    /// holds the lease already gets it again, under a new epoch.
    async fn acquire(
        &self,
        shard: &Shard,
        relay: &RelayId,
        lease_ttl: Duration,
    ) -> Result<Option<Lease>, StoreError>;

    /// Gives the lease back. Nothing happens if it is no longer held under this epoch.
    async fn release(&self, lease: &Lease) -> Result<(), StoreError>;

    /// Says goodbye: forgets the relay's heartbeat, so that others need not wait for it to expire.
    async fn leave(&self, relay: &RelayId) -> Result<(), StoreError>;

    /// What was in flight under earlier epochs of this lease and never settled, in ascending order of outbox id.
    ///
    /// Only entries that still match what is owed (same attempt, same key epoch) come back as deliveries; dispatches
    /// without any such entry come back too, so that they can be finished.
    async fn orphans(&self, lease: &Lease) -> Result<Vec<Orphan>, StoreError>;

    /// Owed deliveries of the shard with an outbox id above `after`, in ascending order, due or not.
    ///
    /// Costs the same however long the backlog is.
    async fn fetch(&self, shard: &Shard, after: i64, limits: FetchLimits) -> Result<Fetched, StoreError>;

    /// Owed deliveries of the shard in `after < id <= upto`, ascending, at most `limit`, due or not.
    async fn owed_ids(
        &self,
        shard: &Shard,
        after: i64,
        upto: i64,
        limit: u32,
    ) -> Result<Vec<OwedId>, StoreError>;

    /// For each of `ids` that has one: the nearest older delivery of the same row that is owed to the destination or to none
    /// yet, both by outbox id. It is looked for from the outbox id `floor` on; below that, or without a floor, only the version
    /// just before is.
    async fn behind(
        &self,
        shard: &Shard,
        ids: &[i64],
        floor: Option<i64>,
    ) -> Result<HashMap<i64, i64>, StoreError>;

    /// Ids of the owed deliveries of one row of the shard, from the outbox id `from` on, ascending, at most `limit`.
    async fn owed_of_row(
        &self,
        shard: &Shard,
        row: &RowId,
        from: i64,
        limit: u32,
    ) -> Result<Vec<i64>, StoreError>;

    /// The owed deliveries of `ids`, whole; those that are no longer owed are left out. Ascending.
    ///
    /// Where `limits` cut it short, nothing is said of ids above the last that came.
    async fn load(&self, shard: &Shard, ids: &[i64], limits: FetchLimits) -> Result<Vec<Owed>, StoreError>;

    /// Deliveries of the shard that are `uncertain`: they hold their row key.
    async fn uncertain(&self, shard: &Shard) -> Result<Vec<Uncertain>, StoreError>;

    /// Puts attempts on record before they are sent, and outcomes once they are known, in one transaction.
    ///
    /// Beginning, retrying and ending without success need the lease; a success is a fact and needs none. See
    /// [`Recorded`] for what was refused.
    async fn record(&self, record: Arc<Record>) -> Result<Recorded, StoreError>;

    /// Notes by which job the entries of a dispatch travel, before any data of the job is sent. `false`, and nothing is
    /// noted, without the lease or the dispatch: then the data must not be sent.
    async fn note_job(&self, lease: &Lease, dispatch: DispatchId, job: &str) -> Result<bool, StoreError>;

    /// The id under which a rendering is kept; the same text always has the same id.
    async fn keep_rendering(&self, spec: &str) -> Result<i64, StoreError>;

    /// The text of every rendering, by id. There are few: one for each configuration that ever sent.
    async fn renderings(&self) -> Result<HashMap<i64, String>, StoreError>;

    /// Owed deliveries of the shard that an operator asked to cancel. Ascending; seldom any.
    async fn cancel_requests(&self, shard: &Shard) -> Result<Vec<CancelAsked>, StoreError>;

    /// Pauses the destination on the relay's own account (410, revoked token), with an audit row.
    async fn pause(&self, destination: &str, actor: &str, reason: &str) -> Result<(), StoreError>;

    /// Notes that the shard fails, or with `None` that it works again. Nothing happens without the lease.
    async fn note_failing(&self, lease: &Lease, failing: Option<&Failing>) -> Result<(), StoreError>;

    /// What was noted last of the shard, by whoever had its lease.
    async fn failing(&self, shard: &Shard) -> Result<Option<Failing>, StoreError>;

    /// Notes what the receiver of a destination said of its daily limit; what it said before that changes nothing.
    async fn note_usage(&self, destination: &str, noted: &NotedUsage) -> Result<(), StoreError>;

    /// Adds what a relay has done to the current minute, for charts. The one verb that counts twice if it is repeated: after
    /// an error its caller lets it be.
    async fn add_tallies(&self, tallies: &[Tally]) -> Result<(), StoreError>;

    /// Forgets what was done more than two days ago.
    async fn forget_tallies(&self) -> Result<(), StoreError>;

    /// Moves owed rows of the destination `''` whose topic has a route by now to their routes, at most `limit` at once.
    /// Returns how many rows were moved.
    async fn route_unrouted(&self, limit: u32) -> Result<u64, StoreError>;

    /// Takes the oldest replay whose rate allows it one step of at most `limit` deliveries further.
    async fn advance_replays(&self, limit: u32) -> Result<Advanced, StoreError>;

    /// The name that goes into every key.
    async fn namespace(&self) -> Result<String, StoreError>;

    /// Begins to hear of commits, this program's own included. `every` is how often the database is asked where it does
    /// not speak by itself (SQLite). `None` where it cannot be done: behind a pooler in transaction mode.
    async fn commits(&self, every: Duration) -> Result<Option<Commits>, StoreError>;
}
