//! [`SqlStore`]: the store on PostgreSQL and on SQLite.
//!
//! A table of contents. What each verb does stands in the file of its theme; what it says to the database, in `sql`.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::admin::Actor;
use super::database::Database;
use super::{
    Advanced, Beat, CancelAsked, Commits, DispatchId, Failing, FetchLimits, Fetched, Lease, LeaseRow,
    NotedUsage, Orphan, Owed, OwedId, Record, Recorded, RelayId, Shard, Store, StoreError, Tally, Uncertain,
    advance_replays, failing, fetch, jobs, leases, order, orphans, pauses, record, rendering, settings,
    tally, unrouted, usage,
};
use crate::core::row::RowId;

/// The store on PostgreSQL and on SQLite. Cheap to clone.
#[derive(Debug, Clone)]
pub struct SqlStore {
    pub(super) database: Database,
}

impl SqlStore {
    /// The store in this database.
    pub fn new(database: Database) -> Self {
        Self { database }
    }

    /// Where it is kept.
    pub fn database(&self) -> &Database {
        &self.database
    }
}

#[async_trait]
impl Store for SqlStore {
    async fn beat(&self, relay: &RelayId, lease_ttl: Duration) -> Result<Beat, StoreError> {
        leases::beat(&self.database, *relay, lease_ttl).await
    }

    async fn leases(&self, lease_ttl: Duration) -> Result<Vec<LeaseRow>, StoreError> {
        leases::all(&self.database, lease_ttl).await
    }

    async fn acquire(
        &self,
        shard: &Shard,
        relay: &RelayId,
        lease_ttl: Duration,
    ) -> Result<Option<Lease>, StoreError> {
        leases::acquire(&self.database, shard, *relay, lease_ttl).await
    }

    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        leases::release(&self.database, lease).await
    }

    async fn leave(&self, relay: &RelayId) -> Result<(), StoreError> {
        leases::leave(&self.database, *relay).await
    }

    async fn orphans(&self, lease: &Lease) -> Result<Vec<Orphan>, StoreError> {
        orphans::orphans(&self.database, lease).await
    }

    async fn fetch(&self, shard: &Shard, after: i64, limits: FetchLimits) -> Result<Fetched, StoreError> {
        fetch::fetch(&self.database, shard, after, limits).await
    }

    async fn owed_ids(
        &self,
        shard: &Shard,
        after: i64,
        upto: i64,
        limit: u32,
    ) -> Result<Vec<OwedId>, StoreError> {
        fetch::owed_ids(&self.database, shard, after, upto, limit).await
    }

    async fn behind(
        &self,
        shard: &Shard,
        ids: &[i64],
        floor: Option<i64>,
    ) -> Result<HashMap<i64, i64>, StoreError> {
        order::behind(&self.database, shard, ids, floor).await
    }

    async fn owed_of_row(
        &self,
        shard: &Shard,
        row: &RowId,
        from: i64,
        limit: u32,
    ) -> Result<Vec<i64>, StoreError> {
        order::owed_of_row(&self.database, shard, row, from, limit).await
    }

    async fn load(&self, shard: &Shard, ids: &[i64], limits: FetchLimits) -> Result<Vec<Owed>, StoreError> {
        fetch::load(&self.database, shard, ids, limits).await
    }

    async fn uncertain(&self, shard: &Shard) -> Result<Vec<Uncertain>, StoreError> {
        orphans::uncertain(&self.database, shard).await
    }

    async fn record(&self, record: Arc<Record>) -> Result<Recorded, StoreError> {
        record::record(&self.database, &record).await
    }

    async fn note_job(&self, lease: &Lease, dispatch: DispatchId, job: &str) -> Result<bool, StoreError> {
        jobs::note(&self.database, lease, dispatch, job).await
    }

    async fn keep_rendering(&self, spec: &str) -> Result<i64, StoreError> {
        rendering::keep(&self.database, spec).await
    }

    async fn renderings(&self) -> Result<HashMap<i64, String>, StoreError> {
        rendering::all(&self.database).await
    }

    async fn cancel_requests(&self, shard: &Shard) -> Result<Vec<CancelAsked>, StoreError> {
        fetch::cancel_requests(&self.database, shard).await
    }

    async fn pause(&self, destination: &str, actor: &str, reason: &str) -> Result<(), StoreError> {
        pauses::pause(&self.database, destination, &Actor::new(actor, "relay"), reason).await
    }

    async fn note_failing(&self, lease: &Lease, failing: Option<&Failing>) -> Result<(), StoreError> {
        failing::note(&self.database, lease, failing).await
    }

    async fn failing(&self, shard: &Shard) -> Result<Option<Failing>, StoreError> {
        failing::of(&self.database, shard).await
    }

    async fn note_usage(&self, destination: &str, noted: &NotedUsage) -> Result<(), StoreError> {
        usage::note(&self.database, destination, noted).await
    }

    async fn add_tallies(&self, tallies: &[Tally]) -> Result<(), StoreError> {
        tally::add(&self.database, tallies).await
    }

    async fn forget_tallies(&self) -> Result<(), StoreError> {
        tally::forget(&self.database).await
    }

    async fn route_unrouted(&self, limit: u32) -> Result<u64, StoreError> {
        unrouted::route(&self.database, limit).await
    }

    async fn advance_replays(&self, limit: u32) -> Result<Advanced, StoreError> {
        advance_replays(&self.database, limit).await
    }

    async fn namespace(&self) -> Result<String, StoreError> {
        settings::namespace(&self.database).await
    }

    async fn commits(&self, every: Duration) -> Result<Option<Commits>, StoreError> {
        self.database.commits(every).await
    }
}
