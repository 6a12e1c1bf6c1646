//! What is in trouble: dead and uncertain deliveries by destination and reason, so that a person sees causes and not rows.
//!
//! Everything comes from the index that holds nothing else, and each group costs no more than what is counted of it.

use serde::Serialize;
use utoipa::ToSchema;

use super::deliveries::Delivery;
use super::delivery::{self, Attempt};
use super::filter::DeliveryId;
use super::{AdminStore, walk};
use crate::core::delivery::{REASONS, Reason, State};
use crate::core::time::Timestamp;
use crate::store::StoreError;
use crate::store::database::{Args, Batch, Row, sql};

/// Deliveries of a group that are counted at most.
const COUNTED: i64 = 1_000_000;

/// What is in trouble.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Trouble {
    /// One for each destination, state and reason that there are; by destination, the largest first.
    pub groups: Vec<TroubleGroup>,
}

/// Deliveries that are dead or uncertain for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct TroubleGroup {
    /// Where they go.
    pub destination: String,
    /// `dead` or `uncertain`.
    pub state: State,
    /// Why.
    pub reason: Reason,
    /// How many there are.
    pub count: u64,
    /// Whether these are all: false where there are more than a million, of which a million are counted.
    pub exact: bool,
    /// The one whose row was written first.
    pub oldest: OldestInTrouble,
    /// The one whose row was written last, with its last attempt.
    pub example: TroubleExample,
}

/// The oldest delivery of a group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct OldestInTrouble {
    /// The outbox row.
    pub outbox_id: i64,
    /// The row's topic.
    pub topic: String,
    /// The row's key.
    pub row_key: String,
    /// Since when it is in trouble.
    pub at: Timestamp,
}

/// A delivery of a group, and what its last attempt met.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct TroubleExample {
    /// The outbox row.
    pub outbox_id: i64,
    /// The row's topic.
    pub topic: String,
    /// The row's key.
    pub row_key: String,
    /// Attempts on record.
    pub attempts: u32,
    /// The HTTP status that its last attempt met, if one arrived.
    pub http_status: Option<u16>,
    /// What went wrong, in a sentence; none if there was no attempt.
    pub detail: Option<String>,
    /// The start of the response body.
    pub excerpt: Option<String>,
}

impl AdminStore {
    /// What is in trouble now, of every destination that the database knows.
    pub async fn trouble(&self) -> Result<Trouble, StoreError> {
        let names = walk::known_destinations(&self.database).await?;
        let args = Args::new().int(COUNTED).batch(possible_groups(&names));
        let rows = self.database.read(sql!("trouble_groups"), args).await?;
        let found: Vec<Found> = rows.iter().map(Found::read).collect::<Result<_, _>>()?;
        let ends: Vec<DeliveryId> = found.iter().flat_map(Found::ends).collect();
        if ends.is_empty() {
            return Ok(Trouble { groups: vec![] });
        }
        let deliveries = delivery::by_id(&self.database, &ends).await?;
        let attempts = delivery::last_attempts(&self.database, &ends).await?;
        let mut groups: Vec<TroubleGroup> = found
            .into_iter()
            .filter_map(|found| {
                let [oldest, newest] = found.ends();
                let of = |id: &DeliveryId| deliveries.iter().find(|one| one.id == *id);
                // One that was replayed since is in trouble no more; the next look shows the group without it.
                let (oldest, example) = (of(&oldest)?, of(&newest)?);
                found.group(oldest, example, attempts.get(&newest))
            })
            .collect();
        groups.sort_by(|one, other| {
            let by_name = one.destination.cmp(&other.destination);
            by_name.then(other.count.cmp(&one.count))
        });
        Ok(Trouble { groups })
    }
}

/// Every group that there can be, as the last argument of a statement.
pub(super) fn possible_groups(destinations: &[String]) -> Batch {
    let reasons = || {
        let trouble = |state: &State| matches!(state, State::Dead | State::Uncertain);
        REASONS.into_iter().filter(move |(_, state)| trouble(state))
    };
    let groups = || {
        destinations
            .iter()
            .flat_map(move |name| reasons().map(move |(reason, state)| (name, state, reason)))
    };
    Batch::new()
        .texts("destination", groups().map(|(name, _, _)| name.as_str()))
        .texts("state", groups().map(|(_, state, _)| state.as_str()))
        .texts("reason", groups().map(|(_, _, reason)| reason.as_str()))
}

/// A row of `trouble_groups`.
struct Found {
    destination: String,
    state: State,
    reason: Reason,
    deliveries: i64,
    oldest: i64,
    newest: i64,
}

impl Found {
    fn read(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            destination: row.text("destination")?.to_owned(),
            state: row.word("state")?,
            reason: row.word("reason")?,
            deliveries: row.int("deliveries")?,
            oldest: row.int("oldest")?,
            newest: row.int("newest")?,
        })
    }

    fn ends(&self) -> [DeliveryId; 2] {
        [self.oldest, self.newest].map(|outbox_id| DeliveryId {
            outbox_id,
            destination: self.destination.clone(),
        })
    }

    fn group(self, oldest: &Delivery, example: &Delivery, last: Option<&Attempt>) -> Option<TroubleGroup> {
        Some(TroubleGroup {
            destination: self.destination,
            state: self.state,
            reason: self.reason,
            count: self.deliveries.try_into().unwrap_or_default(),
            exact: self.deliveries < COUNTED,
            oldest: OldestInTrouble {
                outbox_id: oldest.id.outbox_id,
                topic: oldest.topic.clone(),
                row_key: oldest.row_key.clone(),
                at: oldest.settled_at?,
            },
            example: TroubleExample {
                outbox_id: example.id.outbox_id,
                topic: example.topic.clone(),
                row_key: example.row_key.clone(),
                attempts: example.attempts,
                http_status: last.and_then(|last| last.http_status),
                detail: last.and_then(|last| last.detail.clone()),
                excerpt: last.and_then(|last| last.excerpt.clone()),
            },
        })
    }
}
