//! What becomes of a delivery after an attempt.
//!
//! One pure function from an outcome and where the delivery stands to a transition, and to what the destination as a
//! whole must do. Acting on the answer is the dispatcher's work, recording it the store's.

#[cfg(test)]
mod tests;

use std::time::Duration;

use super::delivery::Reason;
use super::limit::breaker::Kind;
use super::outcome::{Outcome, Refusal, Scope};
use super::policy::{Policy, UncertainPolicy};
use super::time::Timestamp;

/// Where a delivery stands when the outcome of an attempt arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// Attempts on record, the one that just ended included.
    pub attempts: u32,
    /// How many of the earlier ones do not count against `max_attempts`.
    pub excused: u32,
    /// Since when the delivery has been owed.
    pub owed_at: Timestamp,
    /// The start of the first attempt that may have arrived without an answer, this one included.
    pub unknown_since: Option<Timestamp>,
    /// Whether an operator asked to cancel it while it was in flight.
    pub cancel: CancelRequest,
    /// Whether an open breaker sent it, to look whether the receiver is back.
    pub sent_as: Kind,
}

/// Whether an operator asked to cancel a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelRequest {
    /// Nobody did.
    None,
    /// It ends at its next settle, unless that is a success.
    Requested,
}

/// What becomes of the delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transition {
    /// It stays owed and is due again after `after`.
    Retry {
        /// From now, by the database's clock.
        after: Duration,
        /// Whether the attempt counts against `max_attempts`.
        counts: Counts,
    },
    /// It ends, or waits for a person: the reason names the state.
    End(Reason),
}

/// Whether an attempt counts against `max_attempts`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counts {
    /// It does.
    Yes,
    /// The receiver only asked to wait, or its answer was about the request and not about the row, or the row was sent to
    /// look whether the receiver is back: it does not.
    Excused,
}

/// What the destination as a whole must do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// Nothing.
    None,
    /// Send nothing for so long.
    For(Duration),
    /// Pause until a person resumes it: the receiver is gone.
    Pause,
}

/// What follows from an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// For the delivery.
    pub transition: Transition,
    /// For its destination.
    pub hold: Hold,
}

/// How long a row waits that is to be sent again at once: the shortest wait that lies in the future.
const AT_ONCE: Duration = Duration::from_millis(1);

/// How long a row or a destination waits when it is asked to, but not for how long.
const UNNAMED_WAIT: Duration = Duration::from_secs(1);

/// Decides what follows from `outcome`. `now` is the database's clock; `jitter` lies in `0.0..=1.0`.
pub fn decide(
    outcome: &Outcome,
    standing: &Standing,
    now: Timestamp,
    policy: &Policy,
    jitter: f64,
) -> Decision {
    let hold = hold_of(outcome, standing, policy, jitter);
    if *outcome == Outcome::Accepted {
        return Decision {
            transition: Transition::End(Reason::Accepted),
            hold,
        };
    }
    if standing.cancel == CancelRequest::Requested {
        return Decision {
            transition: Transition::End(Reason::Operator),
            hold,
        };
    }
    Decision {
        transition: after_failure(outcome, standing, now, policy, jitter),
        hold,
    }
}

/// Whether a delivery that is due may be sent: after an unknown outcome only while a repetition is harmless.
pub fn may_send(unknown_since: Option<Timestamp>, now: Timestamp, policy: &Policy) -> Result<(), Reason> {
    match unknown_since {
        Some(_) if policy.uncertain == UncertainPolicy::Hold => Err(Reason::OutcomeUnknown),
        Some(since) if policy.idempotency_window.is_over(since, now) => Err(Reason::WindowPassed),
        _ => Ok(()),
    }
}

fn hold_of(outcome: &Outcome, standing: &Standing, policy: &Policy, jitter: f64) -> Hold {
    match outcome {
        Outcome::Throttled {
            scope: Scope::Destination,
            retry_after,
        } => Hold::For(wait(*retry_after, standing, policy, jitter)),
        Outcome::Refused(Refusal::Gone) => Hold::Pause,
        _ => Hold::None,
    }
}

fn after_failure(
    outcome: &Outcome,
    standing: &Standing,
    now: Timestamp,
    policy: &Policy,
    jitter: f64,
) -> Transition {
    let retry = &policy.retry;
    match outcome {
        Outcome::Refused(Refusal::Final) => return Transition::End(Reason::Refused),
        Outcome::Refused(Refusal::Stored) => return Transition::End(Reason::StoredFailure),
        Outcome::Refused(Refusal::NotRenderable) => return Transition::End(Reason::NotRenderable),
        Outcome::Unknown if policy.uncertain == UncertainPolicy::Hold => {
            return Transition::End(Reason::OutcomeUnknown);
        }
        _ => {}
    }
    if now.since(standing.owed_at) >= retry.max_age {
        return Transition::End(Reason::AgeExhausted);
    }
    let counts = match outcome {
        Outcome::Throttled { .. } | Outcome::Refused(Refusal::Gone | Refusal::Together | Refusal::Alone) => {
            Counts::Excused
        }
        _ if standing.sent_as == Kind::Probe => Counts::Excused,
        _ => Counts::Yes,
    };
    let counted = standing.attempts.saturating_sub(standing.excused);
    if counts == Counts::Yes && counted >= retry.max_attempts {
        return Transition::End(Reason::AttemptsExhausted);
    }
    let after = match outcome {
        Outcome::Throttled { retry_after, .. } => wait(*retry_after, standing, policy, jitter),
        Outcome::Refused(Refusal::Together | Refusal::Alone) => AT_ONCE,
        _ => retry.delay(counted, jitter),
    };
    match may_send(standing.unknown_since, now.plus(after), policy) {
        Ok(()) => Transition::Retry { after, counts },
        Err(reason) => Transition::End(reason),
    }
}

/// What the receiver asked for, never undercut; else a short wait that grows with the attempts.
fn wait(retry_after: Option<Duration>, standing: &Standing, policy: &Policy, jitter: f64) -> Duration {
    match retry_after {
        Some(asked) => asked.min(policy.retry.max_retry_after),
        None => policy.retry.delay(standing.attempts, jitter).max(UNNAMED_WAIT),
    }
}
