//! A store that tells what it has done, and can lose its answers: what tests wait on in place of sleeping.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aftercommit::core::row::RowId;
use aftercommit::store::{
    Advanced, Beat, CancelAsked, Commits, DispatchId, Failing, FetchLimits, Fetched, Lease, LeaseRow,
    NotedUsage, Orphan, Owed, OwedId, Record, Recorded, RelayId, Shard, Store, StoreError, Tally, Uncertain,
};
use tokio::sync::watch;

use super::payloads::Payloads;

/// Passes every verb on, and counts what was recorded.
pub(super) struct Watched {
    inner: Arc<dyn Store>,
    changes: watch::Sender<u64>,
    /// So many records commit, and then their answer is lost.
    lose_answers: AtomicU32,
    /// So many records fail before they reach the database.
    fail_records: AtomicU32,
    /// How often the heart of each relay has beaten.
    beats: watch::Sender<HashMap<RelayId, u32>>,
    /// So many heartbeats fail.
    fail_beats: AtomicU32,
    failed_beats: watch::Sender<u32>,
    failed_records: watch::Sender<u32>,
    records: watch::Sender<u32>,
    renderings: watch::Sender<u32>,
    /// Whether the last fetch met a pause.
    paused: watch::Sender<bool>,
    /// So many renderings cannot be kept.
    fail_renderings: AtomicU32,
    /// So many times nobody can listen for commits.
    fail_ears: AtomicU32,
    ears: watch::Sender<u32>,
    /// As long as it is set, a sweep finds nothing.
    sweeps_blind: AtomicBool,
    /// Attempts that were put on record.
    begun: AtomicUsize,
    /// How often each destination was asked for what is fresh.
    fetches: watch::Sender<HashMap<Arc<str>, u64>>,
    /// Which of these found something last.
    finds: watch::Sender<HashMap<Arc<str>, u64>>,
    payloads: Mutex<Payloads>,
}

impl Watched {
    pub(super) fn over(inner: Arc<dyn Store>) -> Arc<Self> {
        Arc::new(Self {
            inner,
            changes: watch::channel(0).0,
            lose_answers: AtomicU32::new(0),
            fail_records: AtomicU32::new(0),
            beats: watch::channel(HashMap::new()).0,
            fail_beats: AtomicU32::new(0),
            failed_beats: watch::channel(0).0,
            failed_records: watch::channel(0).0,
            records: watch::channel(0).0,
            renderings: watch::channel(0).0,
            paused: watch::channel(false).0,
            fail_renderings: AtomicU32::new(0),
            fail_ears: AtomicU32::new(0),
            ears: watch::channel(0).0,
            sweeps_blind: AtomicBool::new(false),
            begun: AtomicUsize::new(0),
            fetches: watch::channel(HashMap::new()).0,
            finds: watch::channel(HashMap::new()).0,
            payloads: Mutex::default(),
        })
    }

    /// Waits until the heart of `relay` has beaten so often more, and what followed from all but the last beat is done.
    pub(super) async fn beaten(&self, relay: RelayId, times: u32) {
        let mut beats = self.beats.subscribe();
        let count = |beats: &HashMap<RelayId, u32>| beats.get(&relay).copied().unwrap_or_default();
        let until = count(&beats.borrow()) + times;
        beats.wait_for(|beats| count(beats) >= until).await.unwrap();
    }

    /// Hears of every heartbeat, record, lease and chore that has been done from now on.
    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    pub(super) fn lose_answers(&self, count: u32) {
        self.lose_answers.store(count, Ordering::SeqCst);
    }

    pub(super) fn fail_records(&self, count: u32) {
        self.fail_records.store(count, Ordering::SeqCst);
    }

    pub(super) fn fail_beats(&self, count: u32) {
        self.fail_beats.store(count, Ordering::SeqCst);
    }

    pub(super) fn fail_renderings(&self, count: u32) {
        self.fail_renderings.store(count, Ordering::SeqCst);
    }

    /// Hears of every record that is answered from now on.
    pub(super) fn answers(&self) -> watch::Receiver<u32> {
        self.records.subscribe()
    }

    /// Waits until so many renderings have been kept.
    pub(super) async fn renderings_kept(&self, count: u32) {
        self.renderings
            .subscribe()
            .wait_for(|kept| *kept >= count)
            .await
            .unwrap();
    }

    /// Waits until a fetch has met a pause.
    pub(super) async fn pause_seen(&self) {
        self.paused.subscribe().wait_for(|paused| *paused).await.unwrap();
    }

    /// Until `see_sweeps`, only what is fresh is found.
    pub(super) fn blind_sweeps(&self) {
        self.sweeps_blind.store(true, Ordering::SeqCst);
    }

    pub(super) fn see_sweeps(&self) {
        self.sweeps_blind.store(false, Ordering::SeqCst);
    }

    /// The most bytes of payload that were held at once.
    pub(super) fn most_bytes(&self) -> usize {
        self.payloads.lock().unwrap().most
    }

    /// How many deliveries were read with their payload, those that were read again included.
    pub(super) fn read(&self) -> usize {
        self.payloads.lock().unwrap().count
    }

    /// Waits until so many heartbeats have failed.
    pub(super) async fn beats_failed(&self, count: u32) {
        let mut failed = self.failed_beats.subscribe();
        failed.wait_for(|failed| *failed >= count).await.unwrap();
    }

    pub(super) fn fail_ears(&self, count: u32) {
        self.fail_ears.store(count, Ordering::SeqCst);
    }

    /// Waits until the relay has begun to listen for commits so many times.
    pub(super) async fn ears_opened(&self, count: u32) {
        self.ears
            .subscribe()
            .wait_for(|ears| *ears >= count)
            .await
            .unwrap();
    }

    /// Waits until so many records have failed.
    pub(super) async fn records_failed(&self, count: u32) {
        let mut failed = self.failed_records.subscribe();
        failed.wait_for(|failed| *failed >= count).await.unwrap();
    }

    /// How many attempts were put on record.
    pub(super) fn begun(&self) -> usize {
        self.begun.load(Ordering::SeqCst)
    }

    /// How often the destination was asked for what is fresh.
    pub(super) fn fetches(&self, destination: &str) -> u64 {
        self.fetches.borrow().get(destination).copied().unwrap_or(0)
    }

    /// Which of these times something was found last.
    pub(super) fn found_at(&self, destination: &str) -> u64 {
        self.finds.borrow().get(destination).copied().unwrap_or(0)
    }

    /// Waits until it was asked so often.
    pub(super) async fn fetched(&self, destination: &str, wanted: u64) {
        let enough =
            |fetches: &HashMap<Arc<str>, u64>| fetches.get(destination).is_some_and(|count| *count >= wanted);
        self.fetches.subscribe().wait_for(enough).await.unwrap();
    }

    fn changed(&self) {
        self.changes.send_modify(|changes| *changes += 1);
    }
}

/// Whether a fault that is counted in `left` strikes now.
fn strikes(left: &AtomicU32) -> bool {
    left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1))
        .is_ok()
}

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
        self.inner.cancel_requests(shard).await
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
