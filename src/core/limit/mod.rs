//! Limits on what is sent to a receiver: how often, how many at once, and whether at all.
//!
//! Each takes the time as an argument and says what may be done; none waits, and none knows what a request is. What
//! an outcome says of the receiver, and not of the row, stands here too.

pub mod adaptive;
pub mod breaker;
pub mod bucket;
pub mod usage;

use super::outcome::{Outcome, Refusal};

/// What an answer says of the receiver, whatever it says of the row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// It asks to wait, or to stop: neither a sign of health nor of failure.
    Neither,
    /// It does not do its work.
    Fails,
    /// It does its work, though it may have refused this row for good.
    Works,
}

impl Verdict {
    /// What one outcome says.
    pub fn of(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Accepted
            | Outcome::Refused(Refusal::Final | Refusal::Stored | Refusal::Together | Refusal::Alone) => {
                Self::Works
            }
            // The same request may be taken later, so it is not the row that is wrong: 500, 404, a revoked token.
            Outcome::Refused(Refusal::Retryable) | Outcome::Unreachable | Outcome::Unknown => Self::Fails,
            // Of a row that was never sent the receiver knows nothing.
            Outcome::Throttled { .. } | Outcome::Refused(Refusal::Gone | Refusal::NotRenderable) => {
                Self::Neither
            }
        }
    }

    /// What the outcomes of one request say: a receiver that did one of its deliveries works.
    pub fn of_all<'a>(outcomes: impl IntoIterator<Item = &'a Outcome>) -> Self {
        outcomes.into_iter().map(Self::of).max().unwrap_or(Self::Neither)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::outcome::Scope;

    #[test]
    fn a_row_that_is_refused_for_good_does_not_speak_against_its_receiver() {
        for outcome in [
            Outcome::Accepted,
            Outcome::Refused(Refusal::Final),
            Outcome::Refused(Refusal::Stored),
        ] {
            assert_eq!(Verdict::of(&outcome), Verdict::Works, "{outcome:?}");
        }
    }

    #[test]
    fn no_answer_and_an_answer_that_may_change_speak_against_the_receiver() {
        for outcome in [
            Outcome::Unknown,
            Outcome::Unreachable,
            Outcome::Refused(Refusal::Retryable),
        ] {
            assert_eq!(Verdict::of(&outcome), Verdict::Fails, "{outcome:?}");
        }
    }

    #[test]
    fn a_request_to_wait_says_neither() {
        for scope in [Scope::Row, Scope::Destination] {
            let throttled = Outcome::Throttled {
                scope,
                retry_after: None,
            };
            assert_eq!(Verdict::of(&throttled), Verdict::Neither);
        }
        assert_eq!(Verdict::of(&Outcome::Refused(Refusal::Gone)), Verdict::Neither);
    }

    #[test]
    fn one_delivery_that_was_done_speaks_for_the_whole_request() {
        let [taken, lost] = [Outcome::Accepted, Outcome::Unknown];
        assert_eq!(Verdict::of_all([&lost, &taken, &lost]), Verdict::Works);
        assert_eq!(Verdict::of_all([&lost]), Verdict::Fails);
        assert_eq!(Verdict::of_all([]), Verdict::Neither);
    }
}
