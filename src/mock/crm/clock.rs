//! What time it is at a mock: the machine's, or what a test says. Tokens expire by it; nothing waits for it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;

/// A clock that can be set forward.
#[derive(Debug, Clone)]
pub struct MockClock {
    base: Base,
    ahead: Arc<Mutex<Duration>>,
}

#[derive(Debug, Clone, Copy)]
enum Base {
    System,
    Fixed(Timestamp),
}

impl MockClock {
    /// The machine's clock.
    pub fn system() -> Self {
        Self::of(Base::System)
    }

    /// A clock that stands still until it is set forward.
    pub fn fixed(at: Timestamp) -> Self {
        Self::of(Base::Fixed(at))
    }

    /// What time it is.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the clock that the mocks take as a parameter"
    )]
    pub fn now(&self) -> Timestamp {
        let base = match self.base {
            Base::System => Timestamp::now(),
            Base::Fixed(at) => at,
        };
        let ahead = *self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        // Beyond the year 9999 it stands still.
        base.checked_add(ahead).unwrap_or(Timestamp::MAX)
    }

    /// Sets it forward, for everybody who holds it.
    pub fn advance(&self, by: Duration) {
        let mut ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        *ahead = ahead.saturating_add(by);
    }

    fn of(base: Base) -> Self {
        Self {
            base,
            ahead: Arc::default(),
        }
    }
}
