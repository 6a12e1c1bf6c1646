//! The clock, as a parameter.
//!
//! Deadlines and durations inside the process come from here, so that a test can say what time it is. Due times and
//! leases do not: they are the database's.

use std::time::{Duration, Instant};

/// A clock that only ever goes forward.
pub trait Clock: Send + Sync {
    /// The time since some fixed start of this clock.
    fn monotonic(&self) -> Duration;
}

/// The process's own monotonic clock; it starts when it is made.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock {
    start: Instant,
}

impl SystemClock {
    /// A clock that starts now.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the clock that everything else takes as a parameter"
    )]
    pub fn start() -> Self {
        Self {
            start: Instant::now(),
        }
    }
}

impl Clock for SystemClock {
    fn monotonic(&self) -> Duration {
        self.start.elapsed()
    }
}
