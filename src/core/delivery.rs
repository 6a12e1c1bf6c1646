//! The states of a delivery, and the words for why it came to them.
//!
//! A delivery is the debt of one outbox row to one destination. While it is owed it is *pending*; it ends in exactly
//! one end state, or waits for a person as *uncertain*. The same rules stand in the `CHECK` constraints of the
//! migrations and in a table of ARCHITECTURE.md; a test compares the three.

use std::fmt;
use std::str::FromStr;

use super::row::UnknownWord;

/// Where a delivery stands. A retry is `Pending` with a later due time; there is no separate retry state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Owed.
    Pending,
    /// A positive answer for this row arrived.
    Delivered,
    /// Given up, for a reason.
    Dead,
    /// An attempt's outcome is unknown and it is not safe to send again: a person decides.
    Uncertain,
    /// A newer version of the row took its place.
    Superseded,
    /// An operator ended it.
    Cancelled,
}

/// Why a delivery left `pending`, in a word that scripts can filter by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The receiver took it.
    Accepted,
    /// A person has evidence that the receiver took it.
    Confirmed,
    /// The receiver refused it for good.
    Refused,
    /// The receiver gave back a failure that it stored under this key.
    StoredFailure,
    /// `max_attempts` attempts counted.
    AttemptsExhausted,
    /// Owed for `max_age`.
    AgeExhausted,
    /// The payload has no canonical form, so it has no key.
    NotCanonical,
    /// The configuration can make no request of this row.
    NotRenderable,
    /// The outcome is unknown, and the policy is to hold.
    OutcomeUnknown,
    /// The outcome is unknown, and the receiver may have forgotten the key.
    WindowPassed,
    /// A newer version of the row is owed or was delivered.
    NewerVersion,
    /// An operator cancelled it.
    Operator,
}

/// Every state, in the order in which people read them.
pub const STATES: [State; 6] = [
    State::Pending,
    State::Delivered,
    State::Dead,
    State::Uncertain,
    State::Superseded,
    State::Cancelled,
];

/// Every reason with the one state that it explains.
pub const REASONS: [(Reason, State); 12] = [
    (Reason::Accepted, State::Delivered),
    (Reason::Confirmed, State::Delivered),
    (Reason::Refused, State::Dead),
    (Reason::StoredFailure, State::Dead),
    (Reason::AttemptsExhausted, State::Dead),
    (Reason::AgeExhausted, State::Dead),
    (Reason::NotCanonical, State::Dead),
    (Reason::NotRenderable, State::Dead),
    (Reason::OutcomeUnknown, State::Uncertain),
    (Reason::WindowPassed, State::Uncertain),
    (Reason::NewerVersion, State::Superseded),
    (Reason::Operator, State::Cancelled),
];

impl State {
    /// The word in SQL, API and command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Delivered => "delivered",
            Self::Dead => "dead",
            Self::Uncertain => "uncertain",
            Self::Superseded => "superseded",
            Self::Cancelled => "cancelled",
        }
    }
}

impl Reason {
    /// The word in SQL, API and command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Confirmed => "confirmed",
            Self::Refused => "refused",
            Self::StoredFailure => "stored_failure",
            Self::AttemptsExhausted => "attempts_exhausted",
            Self::AgeExhausted => "age_exhausted",
            Self::NotCanonical => "not_canonical",
            Self::NotRenderable => "not_renderable",
            Self::OutcomeUnknown => "outcome_unknown",
            Self::WindowPassed => "window_passed",
            Self::NewerVersion => "newer_version",
            Self::Operator => "operator",
        }
    }

    /// The state that this reason explains.
    pub fn state(self) -> State {
        match self {
            Self::Accepted | Self::Confirmed => State::Delivered,
            Self::Refused
            | Self::StoredFailure
            | Self::AttemptsExhausted
            | Self::AgeExhausted
            | Self::NotCanonical
            | Self::NotRenderable => State::Dead,
            Self::OutcomeUnknown | Self::WindowPassed => State::Uncertain,
            Self::NewerVersion => State::Superseded,
            Self::Operator => State::Cancelled,
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for State {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        STATES
            .into_iter()
            .find(|state| state.as_str() == word)
            .ok_or(UnknownWord {
                what: "state",
                word: word.to_owned(),
                known: "pending, delivered, dead, uncertain, superseded, cancelled",
            })
    }
}

impl FromStr for Reason {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        REASONS
            .into_iter()
            .map(|(reason, _)| reason)
            .find(|reason| reason.as_str() == word)
            .ok_or(UnknownWord {
                what: "reason",
                word: word.to_owned(),
                known: "accepted, confirmed, refused, stored_failure, attempts_exhausted, age_exhausted, not_canonical, \
                        not_renderable, outcome_unknown, window_passed, newer_version, operator",
            })
    }
}
