//! What every handler shares.

use std::sync::Arc;

use secrecy::SecretString;
use tokio::sync::{Mutex, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::relay::receivers::Receivers;
use crate::store::admin::{AdminError, AdminStore, ReplaySelection, Selection};

use super::gauges::GaugeReader;
use super::outbox::Intake;
use super::process::Process;
use super::scraper::LastScraper;
use super::server::Limits;

/// What the configuration says, and a reload can change.
#[derive(Debug, Clone, Default)]
pub struct AdminSettings {
    /// The token of an operator that works before there is any in the database.
    pub token: Option<SecretString>,
    /// The names of the destinations.
    pub destinations: Vec<String>,
    /// Bytes of a body of rows at most.
    pub max_outbox_body: u64,
    /// The destinations themselves.
    pub receivers: Receivers,
    /// Whether `/metrics` answers without a token.
    pub open_metrics: bool,
}

/// What every handler shares. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct AdminState {
    pub(super) store: AdminStore,
    pub(super) process: Process,
    pub(super) gauges: GaugeReader,
    pub(super) last_scraper: LastScraper,
    /// Whoever asks for readiness holds it: one look at a time, since anybody may ask and a look opens a connection.
    pub(super) looking: Arc<Mutex<()>>,
    pub(super) intake: Arc<Intake>,
    /// The server is to end: whatever can be cut short is.
    pub(super) stop: CancellationToken,
    settings: watch::Receiver<Arc<AdminSettings>>,
}

impl AdminState {
    pub(super) fn new(
        store: AdminStore,
        process: Process,
        settings: watch::Receiver<Arc<AdminSettings>>,
        limits: Limits,
        tasks: TaskTracker,
        stop: CancellationToken,
    ) -> Self {
        Self {
            gauges: GaugeReader::new(store.clone(), process.clone(), tasks, limits.gauges_timeout),
            last_scraper: LastScraper::default(),
            store,
            process,
            looking: Arc::default(),
            intake: Arc::new(Intake::new(limits)),
            stop,
            settings,
        }
    }

    /// The settings as they are now.
    pub(super) fn settings(&self) -> Arc<AdminSettings> {
        Arc::clone(&self.settings.borrow())
    }

    /// Refuses a selection that names a destination which there is not.
    pub(super) async fn require_destinations(&self, selection: &Selection) -> Result<(), AdminError> {
        let settings = self.settings();
        self.store
            .require_destinations(selection, &settings.destinations)
            .await
    }

    /// The same for what a replay is about.
    pub(super) async fn require_replay_destinations(
        &self,
        selection: &ReplaySelection,
    ) -> Result<(), AdminError> {
        let settings = self.settings();
        self.store
            .require_replay_destinations(selection, &settings.destinations)
            .await
    }
}
