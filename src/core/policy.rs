//! The retry policy: named limits, and the delay before the next attempt.
