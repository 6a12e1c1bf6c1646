//! The retry policy: named limits, and the delay before the next attempt.
//!
//! The schedule is data; nothing here sleeps, reads a clock or draws a number. Jitter is an argument.

use std::time::Duration;

use super::time::Timestamp;

/// What may happen to a delivery, and how often. One per destination.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    /// When and how often to try again.
    pub retry: RetryPolicy,
    /// What becomes of a delivery whose attempt has an unknown outcome.
    pub uncertain: UncertainPolicy,
    /// How long an attempt with unknown outcome is sent again without a person's decision.
    pub idempotency_window: IdempotencyWindow,
}

/// How long a repetition is harmless at the receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdempotencyWindow {
    /// For so long it remembers a key, from its first sight of it.
    For(Duration),
    /// For ever: a repetition changes nothing whether a key is remembered or not, as with an upsert by a unique id.
    Unbounded,
}

/// When to try again after an attempt that was not accepted.
#[derive(Debug, Clone, PartialEq)]
pub struct RetryPolicy {
    /// The longest delay after the first attempt.
    pub first: Duration,
    /// What each further attempt multiplies it by; at least 1.
    pub factor: f64,
    /// No delay is longer, but for a longer `Retry-After`.
    pub max_delay: Duration,
    /// After so many attempts that counted, the delivery is dead. 3 means that three requests are sent.
    pub max_attempts: u32,
    /// A delivery that has been owed for so long is dead at its next failure.
    pub max_age: Duration,
    /// A `Retry-After` is taken as this much at most.
    pub max_retry_after: Duration,
}

/// What becomes of a delivery whose attempt has an unknown outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UncertainPolicy {
    /// Sent again under the same key, within the idempotency window.
    Resend,
    /// Held as `uncertain` until a person decides.
    Hold,
}

impl IdempotencyWindow {
    /// Whether it is over for an attempt that may have arrived at `since`.
    pub fn is_over(self, since: Timestamp, now: Timestamp) -> bool {
        match self {
            Self::For(span) => now.since(since) >= span,
            Self::Unbounded => false,
        }
    }
}

/// The shortest delay: a retry always lies in the future.
const SHORTEST: Duration = Duration::from_millis(1);

impl RetryPolicy {
    /// The delay after attempt number `counted` (from 1), with full jitter: `jitter` lies in `0.0..=1.0`.
    pub fn delay(&self, counted: u32, jitter: f64) -> Duration {
        let exponent = i32::try_from(counted.saturating_sub(1)).unwrap_or(i32::MAX);
        let ceiling =
            (self.first.as_secs_f64() * self.factor.powi(exponent)).min(self.max_delay.as_secs_f64());
        let delay = Duration::try_from_secs_f64(ceiling * jitter.clamp(0.0, 1.0)).unwrap_or(self.max_delay);
        delay.clamp(SHORTEST, self.max_delay.max(SHORTEST))
    }
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            first: Duration::from_secs(5),
            factor: 3.0,
            max_delay: Duration::from_hours(6),
            max_attempts: 16,
            max_age: Duration::from_hours(72),
            max_retry_after: Duration::from_hours(24),
        }
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            retry: RetryPolicy::default(),
            uncertain: UncertainPolicy::Resend,
            idempotency_window: IdempotencyWindow::For(Duration::from_hours(24)),
        }
    }
}
