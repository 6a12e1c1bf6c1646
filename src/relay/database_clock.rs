//! The database's clock between two looks at it.

use std::time::Duration;

use crate::core::time::Timestamp;

/// The database's clock, carried on by the monotonic one.
#[derive(Debug, Clone, Copy)]
pub(super) struct DatabaseClock {
    /// What it showed,
    pub(super) read: Timestamp,
    /// and when (monotonic).
    pub(super) at: Duration,
}

impl DatabaseClock {
    /// What it shows at `monotonic`.
    pub(super) fn now(&self, monotonic: Duration) -> Timestamp {
        self.read.plus(monotonic.saturating_sub(self.at))
    }
}
