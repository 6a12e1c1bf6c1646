//! The way of a replay over what it is about: deliveries that there are, or rows that a destination never had.

use super::deliveries::Delivery;
use super::filter::{Cursor, DeliveryId};
use super::replay_missing::{MissingRow, MissingRows};
use super::replay_request::ReplaySelection;
use super::walk::{Direction, Walk};
use crate::core::row::{Op, TopicKind};
use crate::store::StoreError;
use crate::store::database::Database;

/// What a replay looks at: a delivery, or one that there is not yet.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
#[serde(untagged)]
pub enum Candidate {
    /// A delivery.
    Known(Box<Delivery>),
    /// A row that its destination never had.
    Missing(MissingRow),
}

/// What one step brought.
pub(super) struct Seen {
    /// The oldest outbox id first.
    pub(super) candidates: Vec<Candidate>,
    /// How many deliveries or rows were looked at.
    pub(super) looked_at: usize,
    /// Whether there may be more.
    pub(super) more: bool,
}

/// A way that is under way.
pub(super) struct ReplayWalk<'d> {
    database: &'d Database,
    over: Over<'d>,
}

enum Over<'d> {
    Deliveries(Walk<'d>),
    Rows { wanted: MissingRows, at: i64, last: i64 },
}

impl Candidate {
    pub(super) fn id(&self) -> &DeliveryId {
        match self {
            Self::Known(delivery) => &delivery.id,
            Self::Missing(row) => &row.id,
        }
    }

    /// The topic and the key of its row.
    pub(super) fn row(&self) -> (&str, &str) {
        match self {
            Self::Known(delivery) => (&delivery.topic, &delivery.row_key),
            Self::Missing(row) => (&row.topic, &row.row_key),
        }
    }

    /// Whether it is a version of a row of a state topic.
    pub(super) fn is_version(&self) -> bool {
        let op: Op = match self {
            Self::Known(delivery) => delivery.op,
            Self::Missing(row) => row.op,
        };
        op.kind() == TopicKind::State
    }

    /// The state that people read, `missing` for one that there is not yet.
    pub(super) fn state(&self) -> &'static str {
        match self {
            Self::Known(delivery) => delivery.state.as_str(),
            Self::Missing(_) => "missing",
        }
    }
}

impl<'d> ReplayWalk<'d> {
    /// A way that begins after `from`, or at the beginning, and ends at the outbox id `last`.
    pub(super) async fn start(
        database: &'d Database,
        selection: &ReplaySelection,
        from: Option<Cursor>,
        last: i64,
    ) -> Result<Self, StoreError> {
        let over = match selection {
            ReplaySelection::Known(selection) => {
                let mut walk = Walk::start(database, selection, Direction::Up, from).await?;
                walk.end_at(last);
                Over::Deliveries(walk)
            }
            ReplaySelection::Missing { missing } => Over::Rows {
                wanted: missing.clone(),
                at: from.map_or(0, |Cursor(id)| id.outbox_id),
                last,
            },
        };
        Ok(Self { database, over })
    }

    /// Looks at the next ones, `limit` at most.
    pub(super) async fn step(&mut self, limit: u32) -> Result<Seen, StoreError> {
        match &mut self.over {
            Over::Deliveries(walk) => {
                let step = walk.step(limit).await?;
                let known = |delivery| Candidate::Known(Box::new(delivery));
                Ok(Seen {
                    candidates: step.deliveries.into_iter().map(known).collect(),
                    looked_at: step.looked_at,
                    more: step.more,
                })
            }
            Over::Rows { wanted, at, last } => {
                let step = wanted.look(self.database, *at, *last, limit).await?;
                *at = step.upto.unwrap_or(*at);
                Ok(Seen {
                    candidates: step.rows.into_iter().map(Candidate::Missing).collect(),
                    looked_at: step.looked_at,
                    more: step.looked_at >= limit as usize,
                })
            }
        }
    }

    /// What was looked at last.
    pub(super) fn position(&self) -> Cursor {
        match &self.over {
            Over::Deliveries(walk) => walk.position(),
            Over::Rows { at, .. } => Cursor(DeliveryId {
                outbox_id: *at,
                destination: String::new(),
            }),
        }
    }
}
