//! The wake-up: tells sleeping dispatchers that there may be work.
//!
//! Only a hint. A lost one costs one poll interval, never a row: the poll is the net. Work that is committed by this
//! process rings here; a watcher rings when any process has committed, as far as the database can say so.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::reconnect::retrying;
use crate::store::{Commits, Store, StoreError};

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

/// Rings whenever somebody has committed, as far as the database can say so. Ends nothing: without it there is the poll.
pub(super) async fn watch_commits(
    store: Arc<dyn Store>,
    wakeup: Wakeup,
    every: Duration,
    stop: CancellationToken,
) -> Result<(), StoreError> {
    while let Some(opened) = retrying("watch commits", &stop, || store.commits(every)).await {
        match opened {
            Ok(Some(commits)) => {
                // Nobody listened until now.
                wakeup.ring();
                pass_on(commits, &wakeup, &stop).await;
            }
            Ok(None) => {
                tracing::info!(
                    "nobody can listen through a pooler in transaction mode: new rows are found by the poll alone"
                );
                break;
            }
            Err(error) => {
                tracing::warn!(%error, "commits cannot be watched: new rows are found by the poll alone");
                break;
            }
        }
    }
    stop.cancelled().await;
    Ok(())
}

/// Rings for each commit until `stop`, or until nothing more can be heard.
async fn pass_on(mut commits: Commits, wakeup: &Wakeup, stop: &CancellationToken) {
    loop {
        let heard = tokio::select! {
            () = stop.cancelled() => return,
            heard = commits.next() => heard,
        };
        if let Err(error) = heard {
            tracing::warn!(%error, "no longer hears of commits; listening again");
            return;
        }
        wakeup.ring();
    }
}
