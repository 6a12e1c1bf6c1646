//! The facts from which findings follow.

use super::Expected;
use crate::core::queue::OrderMode;
use crate::core::time::Timestamp;
use crate::store::admin::deliveries::Delivery;
use crate::store::admin::delivery::{Attempt, InFlight};
use crate::store::admin::pauses::Pause;
use crate::store::{Failing, NotedUsage};

/// What is known of a delivery and of what it depends on.
#[derive(Debug, Clone)]
pub(super) struct Facts {
    /// The database's clock.
    pub(super) now: Timestamp,
    pub(super) delivery: Delivery,
    /// Where its topic is routed to; looked up only while the row is owed to no destination yet.
    pub(super) routes: Vec<String>,
    pub(super) destination: DestinationFacts,
    pub(super) last_attempt: Option<Attempt>,
    pub(super) in_flight: Option<InFlight>,
    /// Whether the relay that sent it has been heard of.
    pub(super) sender: Sender,
    pub(super) kin: Kin,
    /// Of its attempts, those that do not count; 0 once it has ended.
    pub(super) excused: u32,
    /// Owed deliveries of the destination before it: a thousand at most are counted.
    pub(super) before: u64,
}

/// What is known of the destination.
#[derive(Debug, Clone)]
pub(super) struct DestinationFacts {
    pub(super) configured: Configured,
    pub(super) pause: Option<Pause>,
    pub(super) failing: Option<Failing>,
    pub(super) usage: Option<NotedUsage>,
    pub(super) holder: Holder,
}

/// What the configuration says of the destination.
#[derive(Debug, Clone)]
pub(super) enum Configured {
    /// It has this to say.
    As(Expected),
    /// It names others, but not this one.
    Missing,
    /// It names none, or there is none.
    Silent,
}

/// Who dispatches the shard that the delivery belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Holder {
    /// A relay that lives.
    Relay { id: String, beat_at: Timestamp },
    /// A relay that has fallen silent; when it was heard of last, unless that is forgotten.
    Silent { id: String, beat_at: Option<Timestamp> },
    /// Nobody, though so many relays live.
    Nobody { live_relays: usize },
}

/// The relay that has the delivery in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sender {
    /// It lives, or nothing is in flight.
    Lives,
    /// It has not been heard of for longer than a lease lasts.
    Silent,
}

/// What else of the same row key is on its way to the destination. Of each side, a thousand versions at most are looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Kin {
    /// Older ones that are owed.
    pub(super) ahead: u64,
    pub(super) first_owed: Option<i64>,
    /// The nearest of them, if it is in flight now.
    pub(super) in_flight: Option<i64>,
    /// The first of them whose outcome is unknown.
    pub(super) first_unknown: Option<i64>,
    /// The first older one that waits for a person.
    pub(super) first_uncertain: Option<i64>,
    /// The newest version of the row, if it is newer.
    pub(super) newest: Option<i64>,
    /// Newer ones that are owed, and the newest of them.
    pub(super) behind: u64,
    pub(super) newest_owed: Option<i64>,
}

impl Facts {
    /// How the delivery follows others of its row key.
    pub(super) fn order(&self) -> OrderMode {
        let configured = match &self.destination.configured {
            Configured::As(expected) => expected.order,
            Configured::Missing | Configured::Silent => None,
        };
        OrderMode::of(configured, self.delivery.op)
    }

    /// `4711:crm`, as verbs take it.
    pub(super) fn name(&self) -> String {
        name(self.delivery.id.outbox_id, &self.delivery.id.destination)
    }

    /// The same of another delivery to this destination.
    pub(super) fn name_of(&self, outbox_id: i64) -> String {
        name(outbox_id, &self.delivery.id.destination)
    }

    pub(super) fn destination_name(&self) -> &str {
        &self.delivery.id.destination
    }
}

fn name(outbox_id: i64, destination: &str) -> String {
    format!("{outbox_id}:{destination}")
}
