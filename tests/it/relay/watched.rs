//! A store that tells what it has done, and can lose its answers: what tests wait on in place of sleeping.

mod verbs;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use aftercommit::store::{RelayId, Store};
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
    /// How many sweeps found that something is to be cancelled.
    cancels_found: watch::Sender<u32>,
    /// So many renderings cannot be kept.
    fail_renderings: AtomicU32,
    /// So many times nobody can listen for commits.
    fail_ears: AtomicU32,
    ears: watch::Sender<u32>,
    /// So many steps of replays fail before they reach the database.
    fail_replays: AtomicU32,
    failed_replays: watch::Sender<u32>,
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
            cancels_found: watch::channel(0).0,
            fail_renderings: AtomicU32::new(0),
            fail_ears: AtomicU32::new(0),
            ears: watch::channel(0).0,
            fail_replays: AtomicU32::new(0),
            failed_replays: watch::channel(0).0,
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

    /// Waits until so many more sweeps have found that something is to be cancelled, and what followed from all but the last
    /// of them is done.
    pub(super) async fn cancels_seen(&self, times: u32) {
        let before = *self.cancels_found.borrow();
        let enough = |found: &u32| *found >= before + times;
        self.cancels_found.subscribe().wait_for(enough).await.unwrap();
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

    pub(super) fn fail_replays(&self, count: u32) {
        self.fail_replays.store(count, Ordering::SeqCst);
    }

    /// Waits until so many steps of replays have failed.
    pub(super) async fn replays_failed(&self, count: u32) {
        let mut failed = self.failed_replays.subscribe();
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
