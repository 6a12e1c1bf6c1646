//! How things stand, for each destination and for the whole.

pub(super) mod owed;
mod read;

use super::pauses::Pause;
use crate::core::time::Timestamp;
use crate::store::{Failing, NotedUsage};

/// How things stand.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
pub struct Status {
    /// The database's clock.
    pub now: Timestamp,
    /// The version of the schema.
    pub schema_version: Option<i64>,
    /// The name that goes into every key.
    pub namespace: String,
    /// Every destination that is configured or that the database knows, by name.
    pub destinations: Vec<DestinationStatus>,
    /// Rows whose topic has no route, over all topics.
    pub unrouted: u64,
    /// The topics of the oldest 100,000 of them.
    pub unrouted_topics: Vec<UnroutedTopic>,
    /// Every relay that has been heard of within a day, the one that started first at the top.
    pub relays: Vec<RelayStatus>,
}

/// How a destination stands.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
pub struct DestinationStatus {
    /// Its name.
    pub name: String,
    /// Whether the configuration has it. What is owed to one that it has not is held.
    pub configured: bool,
    /// Who paused it, when and why, if somebody did.
    pub pause: Option<Pause>,
    /// Since when no request has worked, if that has lasted a minute or a breaker has opened: the worst of its shards.
    pub failing: Option<Failing>,
    /// What its receiver said last of its daily limit, if it has one.
    pub usage: Option<NotedUsage>,
    /// Deliveries that have not ended. Where more than 200,000 are owed in all, this and the next two can be ten seconds old.
    pub owed: u64,
    /// Of those, how many may be sent now.
    pub due: u64,
    /// Since when the oldest of them has been owed.
    pub oldest_owed_at: Option<Timestamp>,
    /// Deliveries whose attempt is on record and not yet settled.
    pub in_flight: u64,
    /// Deliveries that have ended, or wait for a person.
    pub settled: Settled,
    /// Its shards, by number; none if no relay has ever dispatched it.
    pub shards: Vec<ShardStatus>,
}

/// Deliveries that have ended, or wait for a person.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
pub struct Settled {
    /// Delivered.
    pub delivered: u64,
    /// Given up; always exact.
    pub dead: u64,
    /// Waiting for a person; always exact.
    pub uncertain: u64,
    /// Replaced by a newer version.
    pub superseded: u64,
    /// Ended by an operator.
    pub cancelled: u64,
    /// Whether delivered, superseded and cancelled count all there are: false where the database holds more than
    /// 100,000 settled deliveries, of which only the newest 100,000 are counted.
    pub exact: bool,
}

/// Who dispatches a shard.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
pub struct ShardStatus {
    /// From 0.
    pub shard: u32,
    /// The relay that dispatches it; none if nobody does, or the relay has fallen silent.
    pub owner: Option<String>,
    /// The fencing token.
    pub epoch: i64,
}

/// Rows that wait for a route.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
pub struct UnroutedTopic {
    /// Their topic.
    pub topic: String,
    /// How many there are, among those that are counted by topic.
    pub rows: u64,
    /// Whether that is all: false where more than 100,000 rows are unrouted, over all topics, of which the oldest are counted.
    pub exact: bool,
}

/// A relay process.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
pub struct RelayStatus {
    /// Its id.
    pub id: String,
    /// Its version.
    pub version: String,
    /// When it started.
    pub started_at: Timestamp,
    /// When it was heard of last.
    pub beat_at: Timestamp,
    /// Whether that was within the time to live of a lease.
    pub alive: bool,
}
