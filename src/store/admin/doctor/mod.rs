//! Why does this row not move? What is known of each of its deliveries, in words, each with its way out.
//!
//! ```text
//!  read: facts from the tables ──▶ findings: pure, in words ──▶ a diagnosis; its first finding is what comes next
//! ```
//!
//! The words are said here once: for `doctor`, for `show`, for the API and for the page.

mod ended;
mod facts;
mod findings;
mod pending;
mod read;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;
use utoipa::ToSchema;

use super::filter::DeliveryId;
use super::{AdminError, AdminStore};
use crate::core::delivery::State;
use crate::core::policy::RetryPolicy;
use crate::core::queue::OrderMode;
use crate::core::row::Op;
use crate::core::time::Timestamp;
use crate::store::database::{Args, sql};

/// What the configuration says of a destination, as far as words about its deliveries depend on it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Expected {
    /// How deliveries of one row key follow one another; `None`: `latest` for state topics, `ordered` for events.
    pub order: Option<OrderMode>,
    /// When it is tried again, and how often.
    pub retry: RetryPolicy,
    /// How long its breaker stays open before one delivery looks again; `None`: there is no breaker.
    pub looks_every: Option<Duration>,
}

/// The destinations of a configuration, by name. If it has none, it is silent: no destination is missing in it.
pub type Expectations = BTreeMap<String, Expected>;

/// What is known of a row's deliveries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Diagnosis {
    /// The outbox row.
    pub outbox_id: i64,
    /// Its topic.
    pub topic: String,
    /// Its key.
    pub row_key: String,
    /// By destination; `''` for a row whose topic has no route.
    pub deliveries: Vec<Examined>,
}

/// What is known of one delivery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Examined {
    /// Where it goes.
    pub destination: String,
    /// Where it stands; none if the row is routed there, but was never owed.
    pub state: Option<State>,
    /// What matters most comes first; there is at least one.
    pub findings: Vec<Finding>,
}

/// One thing that is known of a delivery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Finding {
    /// What is so, in words.
    pub sentence: String,
    /// What a person can do; none if nothing needs to be done.
    pub way_out: Option<String>,
}

/// What comes next for a delivery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Next {
    /// In words.
    pub sentence: String,
    /// When, if the time is known and lies ahead.
    pub due_at: Option<Timestamp>,
}

/// How deliveries of this kind of a destination follow others of their row key.
pub(super) fn order_of(expected: &Expectations, destination: &str, op: Op) -> OrderMode {
    let configured = expected.get(destination).and_then(|expected| expected.order);
    OrderMode::of(configured, op)
}

impl Finding {
    fn of(sentence: impl Into<String>) -> Self {
        Self {
            sentence: sentence.into(),
            way_out: None,
        }
    }

    fn with(sentence: impl Into<String>, way_out: impl Into<String>) -> Self {
        Self {
            sentence: sentence.into(),
            way_out: Some(way_out.into()),
        }
    }
}

impl AdminStore {
    /// What is known of the deliveries of an outbox row.
    pub async fn doctor(&self, outbox_id: i64, expected: &Expectations) -> Result<Diagnosis, AdminError> {
        let routes = self.routes_of(outbox_id).await?;
        let surroundings = self.surroundings().await?;
        let mut deliveries = Vec::new();
        for destination in self.destinations_of(outbox_id).await? {
            let id = DeliveryId {
                outbox_id,
                destination,
            };
            let facts = self.facts(&id, &surroundings, expected).await?;
            deliveries.push(Examined {
                destination: id.destination,
                state: Some(facts.delivery.state),
                findings: findings::findings(&facts),
            });
        }
        let never_owed = routes.destinations.into_iter().filter(|routed| {
            !deliveries
                .iter()
                .any(|one| one.destination == *routed || one.destination.is_empty())
        });
        let never_owed: Vec<Examined> = never_owed.map(findings::never_owed).collect();
        deliveries.extend(never_owed);
        Ok(Diagnosis {
            outbox_id,
            topic: routes.topic,
            row_key: routes.row_key,
            deliveries,
        })
    }

    /// What comes next for a delivery: what matters most of what is known of it.
    pub async fn next(&self, id: &DeliveryId, expected: &Expectations) -> Result<Next, AdminError> {
        let surroundings = self.surroundings().await?;
        let facts = self.facts(id, &surroundings, expected).await?;
        Ok(findings::next(&facts))
    }

    /// The newest outbox row of a row key.
    pub async fn newest_of_row(&self, topic: &str, row_key: &str) -> Result<Option<i64>, AdminError> {
        let args = Args::new().text(topic).text(row_key);
        let rows = self.database.read(sql!(shared "newest_of_row"), args).await?;
        Ok(rows.first().map(|row| row.int("id")).transpose()?)
    }
}
