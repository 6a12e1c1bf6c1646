//! Walking over deliveries in the order of their ids, a bounded number at a time.
//!
//! Ids come from the index that fits the filter best; then the deliveries of those ids are looked at. So a step costs the
//! same however many deliveries or versions of a row there are, and however few of them match.

use std::cmp::Ordering;

use super::deliveries::Delivery;
use super::filter::{Cursor, DeliveryFilter, DeliveryId, Selection};
use crate::core::delivery::{Reason, State};
use crate::store::StoreError;
use crate::store::database::{Args, Batch, Database, Row, sql};

/// Which way to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    /// The newest outbox id first; of one row, the destinations in ascending order.
    Down,
    /// The oldest outbox id first, then ascending too.
    Up,
}

/// A walk that is under way.
pub(super) struct Walk<'d> {
    database: &'d Database,
    filter: DeliveryFilter,
    direction: Direction,
    source: Source,
    position: DeliveryId,
}

/// What a step brought.
pub(super) struct Step {
    /// Those that match, in the order of the walk.
    pub(super) deliveries: Vec<Delivery>,
    /// How many deliveries were looked at; a version of a row of which nothing stands counts as one.
    pub(super) looked_at: usize,
    /// Whether there may be more.
    pub(super) more: bool,
}

/// Where ids come from.
enum Source {
    /// They are given: in ascending order.
    Listed(Vec<DeliveryId>),
    /// From the versions of the row whose key the filter names.
    Row {
        /// Destinations whose owed deliveries count.
        owed: Vec<String>,
    },
    /// From the indexes of the tables.
    Indexes {
        /// Destinations whose owed deliveries count.
        owed: Vec<String>,
        /// Destinations and reasons of which there are few.
        trouble: Vec<(String, Reason)>,
        /// Whether every settled delivery is looked at.
        all_settled: bool,
    },
}

/// Where a walk came by: a delivery, or a version of a row of which nothing stands that counts.
struct Place {
    outbox_id: i64,
    destination: Option<String>,
}

impl<'d> Walk<'d> {
    /// A walk that begins after `from`, or at the beginning.
    pub(super) async fn start(
        database: &'d Database,
        selection: &Selection,
        direction: Direction,
        from: Option<Cursor>,
    ) -> Result<Self, StoreError> {
        let filter = selection.filter();
        let source = match selection {
            Selection::Ids(ids) => Source::listed(ids.clone()),
            Selection::Filter(_) | Selection::All => Source::of_filter(database, &filter).await?,
        };
        let start = start_of(&filter, direction);
        let position = match from {
            Some(Cursor(id)) if direction.compare(&id, &start) == Ordering::Greater => id,
            _ => start,
        };
        Ok(Self {
            database,
            filter,
            direction,
            source,
            position,
        })
    }

    /// Goes no further than this outbox id.
    pub(super) fn end_at(&mut self, last_outbox_id: i64) {
        let last = self.filter.last_outbox_id.unwrap_or(i64::MAX);
        self.filter.last_outbox_id = Some(last.min(last_outbox_id));
    }

    /// Looks at the next deliveries, `limit` at most.
    pub(super) async fn step(&mut self, limit: u32) -> Result<Step, StoreError> {
        let mut places = self.next_places(limit).await?;
        let full = places.len() >= limit as usize;
        let found = places.len();
        places.retain(|place| within(place.outbox_id, &self.filter));
        let (looked_at, more) = (places.len(), full && places.len() == found);
        if let Some(last) = places.last() {
            self.position = last.position();
        }
        let ids: Vec<DeliveryId> = places.into_iter().filter_map(Place::delivery).collect();
        let mut deliveries = self.deliveries(&ids).await?;
        deliveries.sort_unstable_by(|one, other| self.direction.compare(&one.id, &other.id));
        Ok(Step {
            deliveries,
            looked_at,
            more,
        })
    }

    /// The last delivery that was looked at.
    pub(super) fn position(&self) -> Cursor {
        Cursor(self.position.clone())
    }

    async fn next_places(&self, limit: u32) -> Result<Vec<Place>, StoreError> {
        let args = Args::new()
            .int(self.position.outbox_id)
            .text(&self.position.destination)
            .int(i64::from(limit));
        let (statement, args) = match &self.source {
            Source::Listed(ids) => return Ok(self.next_listed(ids, limit)),
            Source::Row { owed } => (
                match self.direction {
                    Direction::Down => sql!("delivery_ids_of_row_down"),
                    Direction::Up => sql!("delivery_ids_of_row_up"),
                },
                args.opt_text(self.filter.topic.as_deref())
                    .opt_text(self.filter.row_key.as_deref())
                    .batch(destinations(owed)),
            ),
            Source::Indexes {
                owed,
                trouble,
                all_settled,
            } => (
                match self.direction {
                    Direction::Down => sql!("delivery_ids_down"),
                    Direction::Up => sql!("delivery_ids_up"),
                },
                args.int(if *all_settled { i64::from(limit) } else { 0 })
                    .batch(destinations(owed))
                    .batch(troubles(trouble)),
            ),
        };
        let rows = self.database.read(statement, args).await?;
        rows.iter().map(Place::read).collect()
    }

    fn next_listed(&self, ids: &[DeliveryId], limit: u32) -> Vec<Place> {
        let mut left: Vec<&DeliveryId> = ids
            .iter()
            .filter(|id| self.direction.compare(id, &self.position) == Ordering::Greater)
            .collect();
        left.sort_unstable_by(|one, other| self.direction.compare(one, other));
        left.into_iter().take(limit as usize).map(Place::at).collect()
    }

    async fn deliveries(&self, ids: &[DeliveryId]) -> Result<Vec<Delivery>, StoreError> {
        if ids.is_empty() {
            return Ok(vec![]);
        }
        let args = self.filter.args().batch(batch(ids));
        let rows = self.database.read(sql!("deliveries_of"), args).await?;
        rows.iter().map(Delivery::read).collect()
    }
}

impl Direction {
    /// The order of the walk: greater is later.
    pub(super) fn compare(self, one: &DeliveryId, other: &DeliveryId) -> Ordering {
        let by_row = one.outbox_id.cmp(&other.outbox_id);
        let by_row = match self {
            Self::Down => by_row.reverse(),
            Self::Up => by_row,
        };
        by_row.then_with(|| one.destination.cmp(&other.destination))
    }
}

impl Place {
    /// A row of `delivery_ids_…`.
    fn read(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            outbox_id: row.int("outbox_id")?,
            destination: row.opt_text("destination")?.map(str::to_owned),
        })
    }

    fn at(id: &DeliveryId) -> Self {
        Self {
            outbox_id: id.outbox_id,
            destination: Some(id.destination.clone()),
        }
    }

    /// Where the walk goes on from here.
    fn position(&self) -> DeliveryId {
        DeliveryId {
            outbox_id: self.outbox_id,
            // Before every name: what comes to stand there meanwhile is not passed over.
            destination: self.destination.clone().unwrap_or_default(),
        }
    }

    fn delivery(self) -> Option<DeliveryId> {
        let outbox_id = self.outbox_id;
        self.destination.map(|destination| DeliveryId {
            outbox_id,
            destination,
        })
    }
}

impl Source {
    fn listed(mut ids: Vec<DeliveryId>) -> Self {
        ids.sort_unstable();
        ids.dedup();
        Self::Listed(ids)
    }

    async fn of_filter(database: &Database, filter: &DeliveryFilter) -> Result<Self, StoreError> {
        let names = match &filter.destination {
            Some(name) => vec![name.clone()],
            None => known_destinations(database).await?,
        };
        if filter.row_key.is_some() {
            return Ok(Self::Row { owed: names });
        }
        let states = filter.possible_states();
        let few = [State::Pending, State::Dead, State::Uncertain];
        let all_settled = states.iter().any(|state| !few.contains(state));
        // Of these there are few, and an index of their own.
        let trouble = names
            .iter()
            .flat_map(|name| filter.possible_troubles().map(|reason| (name.clone(), reason)));
        Ok(Self::Indexes {
            trouble: if all_settled { vec![] } else { trouble.collect() },
            owed: if states.contains(&State::Pending) {
                names
            } else {
                vec![]
            },
            all_settled,
        })
    }
}

/// Every destination that the database knows, in ascending order.
pub(super) async fn known_destinations(database: &Database) -> Result<Vec<String>, StoreError> {
    let rows = database.read(sql!(shared "destinations"), Args::new()).await?;
    let name = |row: &Row| Ok(row.text("destination")?.to_owned());
    rows.iter().map(name).collect()
}

/// Ids as one argument.
pub(super) fn batch(ids: &[DeliveryId]) -> Batch {
    Batch::new()
        .ints("outbox_id", ids.iter().map(|id| id.outbox_id))
        .texts("destination", ids.iter().map(|id| id.destination.as_str()))
}

fn destinations(names: &[String]) -> Batch {
    Batch::new().texts("destination", names.iter().map(String::as_str))
}

fn troubles(of: &[(String, Reason)]) -> Batch {
    Batch::new()
        .texts("destination", of.iter().map(|(name, _)| name.as_str()))
        .words("state", of.iter().map(|(_, reason)| reason.state().as_str()))
        .words("reason", of.iter().map(|(_, reason)| reason.as_str()))
}

fn start_of(filter: &DeliveryFilter, direction: Direction) -> DeliveryId {
    DeliveryId {
        outbox_id: match direction {
            Direction::Down => filter.last_outbox_id.unwrap_or(i64::MAX),
            Direction::Up => filter.first_outbox_id.unwrap_or(0),
        },
        // Before every name.
        destination: String::new(),
    }
}

fn within(outbox_id: i64, filter: &DeliveryFilter) -> bool {
    filter.first_outbox_id.is_none_or(|first| outbox_id >= first)
        && filter.last_outbox_id.is_none_or(|last| outbox_id <= last)
}

/// The id in a row of `outbox_id` and `destination`.
pub(super) fn id(row: &Row) -> Result<DeliveryId, StoreError> {
    Ok(DeliveryId {
        outbox_id: row.int("outbox_id")?,
        destination: row.text("destination")?.to_owned(),
    })
}
