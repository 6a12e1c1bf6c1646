//! What tells the series of one name apart: destinations, outcomes and states, of which there are few.

use prometheus_client::encoding::EncodeLabelSet;

/// By destination.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct To {
    /// Its name.
    pub destination: String,
}

/// By destination and by what an attempt met.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct WithOutcome {
    /// The name of the destination.
    pub destination: String,
    /// A word of [`Outcome`](crate::core::outcome::Outcome).
    pub outcome: &'static str,
}

/// By destination and by how something stands.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct InState {
    /// The name of the destination.
    pub destination: String,
    /// A word of [`State`](crate::core::delivery::State), or of what is owed whether it is due.
    pub state: &'static str,
}

impl To {
    /// Of the destination of this name.
    pub fn destination(name: &str) -> Self {
        Self {
            destination: name.to_owned(),
        }
    }
}

impl WithOutcome {
    /// Of this destination and outcome.
    pub fn of(destination: &str, outcome: &'static str) -> Self {
        Self {
            destination: destination.to_owned(),
            outcome,
        }
    }
}

impl InState {
    /// Of this destination and state.
    pub fn of(destination: &str, state: &'static str) -> Self {
        Self {
            destination: destination.to_owned(),
            state,
        }
    }
}
