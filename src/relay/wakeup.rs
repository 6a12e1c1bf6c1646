//! The wake-up: tells sleeping dispatchers that there may be work.
//!
//! Only a hint. A lost one costs one poll interval, never a row: the poll is the net. Work that is committed by this
//! process rings here; on SQLite a watcher rings when any process has committed.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::reconnect::retrying;
use crate::store::{Store, StoreError};

/// Rings for every dispatcher at once. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Wakeup(watch::Sender<u64>);

impl Wakeup {
    /// A bell that has not rung.
    pub fn new() -> Self {
        Self(watch::channel(0).0)
    }

    /// There may be work.
    pub fn ring(&self) {
        self.0.send_modify(|rings| *rings = rings.wrapping_add(1));
    }

    /// An ear that hears every ring from now on.
    pub fn listen(&self) -> watch::Receiver<u64> {
        self.0.subscribe()
    }
}

impl Default for Wakeup {
    fn default() -> Self {
        Self::new()
    }
}

/// Rings whenever the database says cheaply that somebody committed; returns at once where it cannot say so.
pub(super) async fn watch_commits(
    store: Arc<dyn Store>,
    wakeup: Wakeup,
    every: Duration,
    stop: CancellationToken,
) -> Result<(), StoreError> {
    let Some(first) = retrying("watch commits", &stop, || store.change_mark()).await else {
        return Ok(());
    };
    let mut last = first?;
    while last.is_some() {
        tokio::select! {
            () = stop.cancelled() => break,
            () = tokio::time::sleep(every) => {}
        }
        // An error here is the dispatchers' to report: they poll the same database.
        if let Ok(mark) = store.change_mark().await
            && mark != last
        {
            last = mark;
            wakeup.ring();
        }
    }
    stop.cancelled().await;
    Ok(())
}
