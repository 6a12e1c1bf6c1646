//! What a replay does with each delivery of a step, decided from what was read.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::filter::DeliveryId;
use super::replay_request::StaleRows;
use super::replay_walk::Candidate;
use super::walk;
use crate::core::delivery::State;
use crate::store::StoreError;
use crate::store::database::{Args, Batch, Database, sql};

/// What a replay does with a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Planned {
    /// Make it due.
    Requeue,
    /// It is owed already.
    LeaveAlone,
    /// It is on the wire.
    InFlight,
    /// A newer version has overtaken it.
    Skip,
}

/// What a replay does with the deliveries of one step.
pub(super) struct Plan {
    overtaken: HashSet<DeliveryId>,
    in_flight: HashSet<DeliveryId>,
    stale: StaleRows,
}

impl Plan {
    pub(super) async fn of(
        database: &Database,
        candidates: &[Candidate],
        stale: StaleRows,
    ) -> Result<Self, StoreError> {
        let (mut versions, mut owing) = (Versions::new(), BTreeSet::new());
        for candidate in candidates {
            if is_pending(candidate) {
                owing.insert(candidate.id().destination.as_str());
            } else if stale == StaleRows::Skip && candidate.is_version() && !is_superseded(candidate) {
                let (topic, row_key) = candidate.row();
                let row = (topic, row_key, candidate.id().destination.as_str());
                versions.entry(row).or_default().push(candidate.id());
            }
        }
        let (mut overtaken, mut in_flight) = (HashSet::new(), HashSet::new());
        if !versions.is_empty() {
            overtaken = overtaken_of(database, &versions).await?;
        }
        if !owing.is_empty() {
            let args = Args::new().batch(Batch::new().texts("destination", owing));
            let rows = database.read(sql!("on_the_wire"), args).await?;
            in_flight = rows.iter().map(walk::id).collect::<Result<_, _>>()?;
        }
        Ok(Self {
            overtaken,
            in_flight,
            stale,
        })
    }

    pub(super) fn of_candidate(&self, candidate: &Candidate) -> Planned {
        if is_pending(candidate) {
            return if self.in_flight.contains(candidate.id()) {
                Planned::InFlight
            } else {
                Planned::LeaveAlone
            };
        }
        if self.stale == StaleRows::Skip
            && (is_superseded(candidate) || self.overtaken.contains(candidate.id()))
        {
            return Planned::Skip;
        }
        Planned::Requeue
    }
}

fn is_pending(candidate: &Candidate) -> bool {
    matches!(candidate, Candidate::Known(delivery) if delivery.state == State::Pending)
}

fn is_superseded(candidate: &Candidate) -> bool {
    matches!(candidate, Candidate::Known(delivery) if delivery.state == State::Superseded)
}

/// Versions by topic, row key and destination, the oldest first.
type Versions<'c> = BTreeMap<(&'c str, &'c str, &'c str), Vec<&'c DeliveryId>>;

/// Those versions that a newer one has overtaken. However many of one row are looked at, its newer ones are looked at once.
async fn overtaken_of(
    database: &Database,
    versions: &Versions<'_>,
) -> Result<HashSet<DeliveryId>, StoreError> {
    let rows = versions.keys();
    let oldest = versions.values().filter_map(|ids| ids.first());
    let args = Args::new().batch(
        Batch::new()
            .texts("topic", rows.clone().map(|(topic, _, _)| *topic))
            .texts("row_key", rows.clone().map(|(_, row_key, _)| *row_key))
            .texts("destination", rows.map(|(_, _, destination)| *destination))
            .ints("older", oldest.map(|id| id.outbox_id)),
    );
    let mut overtaken = HashSet::new();
    for row in &database.read(sql!("overtaking"), args).await? {
        let newest: i64 = row.int("outbox_id")?;
        let of = (row.text("topic")?, row.text("row_key")?, row.text("destination")?);
        let older = versions.get(&of).into_iter().flatten();
        overtaken.extend(older.filter(|id| id.outbox_id < newest).map(|id| (*id).clone()));
    }
    Ok(overtaken)
}
