//! The process that the server speaks for.

use std::fmt;
use std::sync::Arc;

use crate::clock::Clock;
use crate::relay::RelayMetrics;
use crate::store::RelayId;

/// The process that the server speaks for. Cheap to clone.
#[derive(Clone)]
pub struct Process {
    /// Whose heartbeat `/readyz` looks for.
    pub relay: RelayId,
    /// What it has done, for `/metrics`.
    pub metrics: RelayMetrics,
    /// For how often the database is asked.
    pub clock: Arc<dyn Clock>,
}

impl fmt::Debug for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Process")
            .field("relay", &self.relay)
            .finish_non_exhaustive()
    }
}
