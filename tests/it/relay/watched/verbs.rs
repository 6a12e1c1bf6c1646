//! Each verb of the store, passed on and taken note of.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use aftercommit::core::row::RowId;
use aftercommit::store::{
    Advanced, Beat, CancelAsked, Commits, DispatchId, Failing, FetchLimits, Fetched, Lease, LeaseRow,
    NotedUsage, Orphan, Owed, OwedId, Record, Recorded, RelayId, Shard, Store, StoreError, Tally, Uncertain,
};

use super::{Watched, strikes};

fn away() -> StoreError {
    StoreError::Unavailable("the test says so".to_owned())
}

#[async_trait::async_trait]
impl Store for Watched {
    async fn beat(&self, relay: &RelayId, lease_ttl: Duration) -> Result<Beat, StoreError> {
        if strikes(&self.fail_beats) {
            self.failed_beats.send_modify(|failed| *failed += 1);
            return Err(away());
        }
        let beat = self.inner.beat(relay, lease_ttl).await;
        if beat.is_ok() {
            self.beats
                .send_modify(|beats| *beats.entry(*relay).or_default() += 1);
            self.changed();
        }
        beat
    }

    async fn leases(&self, lease_ttl: Duration) -> Result<Vec<LeaseRow>, StoreError> {
        self.inner.leases(lease_ttl).await
    }

    async fn acquire(
        &self,
        shard: &Shard,
        relay: &RelayId,
        ttl: Duration,
    ) -> Result<Option<Lease>, StoreError> {
        let lease = self.inner.acquire(shard, relay, ttl).await;
        self.changed();
        lease
    }

    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        let released = self.inner.release(lease).await;
        self.changed();
        released
    }

    async fn leave(&self, relay: &RelayId) -> Result<(), StoreError> {
        self.inner.leave(relay).await
    }

    async fn orphans(&self, lease: &Lease) -> Result<Vec<Orphan>, StoreError> {
        self.inner.orphans(lease).await
    }

    async fn fetch(&self, shard: &Shard, after: i64, limits: FetchLimits) -> Result<Fetched, StoreError> {
        let fetched = self.inner.fetch(shard, after, limits).await;
        let destination = shard.destination.clone();
        let mut count = 0;
        self.fetches.send_modify(|so_far| {
            let asked = so_far.entry(destination.clone()).or_default();
            *asked += 1;
            count = *asked;
        });
        if fetched.as_ref().is_ok_and(|fetched| !fetched.owed.is_empty()) {
            self.finds.send_modify(|finds| {
                finds.insert(destination, count);
            });
        }
        let paused = fetched.as_ref().is_ok_and(|fetched| fetched.paused);
        self.paused.send_replace(paused);
        let owed = fetched.iter().flat_map(|fetched| &fetched.owed);
        self.payloads.lock().unwrap().hand_out(owed);
        fetched
    }

    async fn owed_ids(
        &self,
        shard: &Shard,
        after: i64,
        upto: i64,
        limit: u32,
    ) -> Result<Vec<OwedId>, StoreError> {
        let ids = self.inner.owed_ids(shard, after, upto, limit).await;
        if self.sweeps_blind.load(Ordering::SeqCst) {
            return Ok(vec![]);
        }
        ids
    }

    async fn behind(
        &self,
        shard: &Shard,
        ids: &[i64],
        floor: Option<i64>,
    ) -> Result<HashMap<i64, i64>, StoreError> {
        self.inner.behind(shard, ids, floor).await
    }

    async fn owed_of_row(
        &self,
        shard: &Shard,
        row: &RowId,
        from: i64,
        limit: u32,
    ) -> Result<Vec<i64>, StoreError> {
        self.inner.owed_of_row(shard, row, from, limit).await
    }

    async fn load(&self, shard: &Shard, ids: &[i64], limits: FetchLimits) -> Result<Vec<Owed>, StoreError> {
        let loaded = self.inner.load(shard, ids, limits).await;
        self.payloads.lock().unwrap().hand_out(loaded.iter().flatten());
        loaded
    }

    async fn uncertain(&self, shard: &Shard) -> Result<Vec<Uncertain>, StoreError> {
        self.inner.uncertain(shard).await
    }

    async fn record(&self, record: Arc<Record>) -> Result<Recorded, StoreError> {
        if strikes(&self.fail_records) {
            self.failed_records.send_modify(|failed| *failed += 1);
            return Err(away());
        }
        let begun = record.begin.as_ref().map_or(0, |begin| begin.entries.len());
        let recorded = self.inner.record(record).await;
        self.begun.fetch_add(begun, Ordering::SeqCst);
        self.changed();
        if recorded.is_ok() && strikes(&self.lose_answers) {
            return Err(away());
        }
        self.records.send_modify(|records| *records += 1);
        recorded
    }

    async fn note_job(&self, lease: &Lease, dispatch: DispatchId, job: &str) -> Result<bool, StoreError> {
        let noted = self.inner.note_job(lease, dispatch, job).await;
        self.changed();
        noted
    }

    async fn keep_rendering(&self, spec: &str) -> Result<i64, StoreError> {
        if strikes(&self.fail_renderings) {
            return Err(away());
        }
        let kept = self.inner.keep_rendering(spec).await;
        self.renderings.send_modify(|renderings| *renderings += 1);
        kept
    }

    async fn renderings(&self) -> Result<HashMap<i64, String>, StoreError> {
        self.inner.renderings().await
    }

    async fn cancel_requests(&self, shard: &Shard) -> Result<Vec<CancelAsked>, StoreError> {
        let asked = self.inner.cancel_requests(shard).await?;
        if !asked.is_empty() {
            self.cancels_found.send_modify(|found| *found += 1);
        }
        Ok(asked)
    }

    async fn pause(&self, destination: &str, actor: &str, reason: &str) -> Result<(), StoreError> {
        let paused = self.inner.pause(destination, actor, reason).await;
        self.changed();
        paused
    }

    async fn note_failing(&self, lease: &Lease, failing: Option<&Failing>) -> Result<(), StoreError> {
        let noted = self.inner.note_failing(lease, failing).await;
        self.changed();
        noted
    }

    async fn failing(&self, shard: &Shard) -> Result<Option<Failing>, StoreError> {
        self.inner.failing(shard).await
    }

    async fn note_usage(&self, destination: &str, noted: &NotedUsage) -> Result<(), StoreError> {
        let noted = self.inner.note_usage(destination, noted).await;
        self.changed();
        noted
    }

    async fn add_tallies(&self, tallies: &[Tally]) -> Result<(), StoreError> {
        self.inner.add_tallies(tallies).await
    }

    async fn forget_tallies(&self) -> Result<(), StoreError> {
        self.inner.forget_tallies().await
    }

    async fn route_unrouted(&self, limit: u32) -> Result<u64, StoreError> {
        let routed = self.inner.route_unrouted(limit).await;
        self.changed();
        routed
    }

    async fn advance_replays(&self, limit: u32) -> Result<Advanced, StoreError> {
        if strikes(&self.fail_replays) {
            self.failed_replays.send_modify(|failed| *failed += 1);
            return Err(away());
        }
        let advanced = self.inner.advance_replays(limit).await;
        self.changed();
        advanced
    }

    async fn namespace(&self) -> Result<String, StoreError> {
        self.inner.namespace().await
    }

    async fn commits(&self, every: Duration) -> Result<Option<Commits>, StoreError> {
        if strikes(&self.fail_ears) {
            return Err(away());
        }
        // A relay that looks by itself once an hour has its ear open all the same.
        let commits = self.inner.commits(every.min(Duration::from_millis(20))).await;
        self.ears.send_modify(|ears| *ears += 1);
        commits
    }
}
