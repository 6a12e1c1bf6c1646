//! What the database says, for `/metrics`: read seldom, however often somebody asks.
//!
//! Reading walks through everything that is owed. So one look at a time, and the next one only after twenty times as long as
//! the last one took: at most a twentieth of one connection's time. A look runs in a task of its own, so that a scrape need
//! not wait for a database that does not answer.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::task::TaskTracker;

use super::process::Process;
use crate::store::admin::{AdminStore, Gauges};

/// Between two looks at least.
const EVERY: Duration = Duration::from_secs(5);
/// So many times as long as a look took nobody looks again.
const SHARE: u32 = 20;
/// So long after a look was due, what the one before it found says nothing any more.
const STALE: Duration = Duration::from_secs(30);

/// Looks for whoever asks, and remembers. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct GaugeReader {
    store: AdminStore,
    process: Process,
    tasks: TaskTracker,
    /// How long a look is waited for.
    patience: Duration,
    last: watch::Sender<Last>,
}

/// The last look.
#[derive(Debug, Clone, Default)]
struct Last {
    looking: bool,
    /// Not before this (monotonic) is there another one.
    next: Duration,
    /// None if the database did not answer.
    found: Option<Arc<Gauges>>,
}

impl GaugeReader {
    /// Nothing is read yet. Looks run on `tasks`, and are waited for so long.
    pub(super) fn new(store: AdminStore, process: Process, tasks: TaskTracker, patience: Duration) -> Self {
        Self {
            store,
            process,
            tasks,
            patience,
            last: watch::channel(Last::default()).0,
        }
    }

    /// What the database says, or said a few seconds ago; none if it does not answer.
    pub(super) async fn read(&self) -> Option<Arc<Gauges>> {
        let now = self.process.clock.monotonic();
        let starts = self.last.send_if_modified(|last| {
            let due = !last.looking && now >= last.next;
            last.looking |= due;
            due
        });
        if starts {
            self.tasks.spawn(self.clone().look());
        }
        let mut last = self.last.subscribe();
        // What it says is looked at below, whether it came in time or not.
        let _ = tokio::time::timeout(self.patience, last.wait_for(|last| !last.looking)).await;
        let last = last.borrow();
        let now = self.process.clock.monotonic();
        last.found
            .clone()
            .filter(|_| now < last.next.saturating_add(STALE))
    }

    async fn look(self) {
        let began = self.process.clock.monotonic();
        let found = match self.store.gauges().await {
            Ok(gauges) => Some(Arc::new(gauges)),
            Err(error) => {
                tracing::warn!(%error, "/metrics lacks what the database would say");
                None
            }
        };
        let ended = self.process.clock.monotonic();
        let took = ended.saturating_sub(began);
        self.last.send_replace(Last {
            looking: false,
            next: ended.saturating_add(EVERY.max(took.saturating_mul(SHARE))),
            found,
        });
    }
}
