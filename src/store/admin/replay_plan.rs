//! What a replay does with each delivery of a step, decided from what was read.

use std::collections::{BTreeSet, HashSet};

use super::filter::DeliveryId;
use super::replay_request::StaleRows;
use super::replay_walk::Candidate;
use super::walk;
use crate::core::delivery::State;
use crate::store::StoreError;
use crate::store::database::{Args, Batch, Database, Statement, sql};

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
        let (mut versions, mut owing) = (Vec::new(), BTreeSet::new());
        for candidate in candidates {
            if is_pending(candidate) {
                owing.insert(candidate.id().destination.as_str());
            } else if stale == StaleRows::Skip && candidate.is_version() && !is_superseded(candidate) {
                versions.push(candidate.id().clone());
            }
        }
        let (mut overtaken, mut in_flight) = (HashSet::new(), HashSet::new());
        if !versions.is_empty() {
            let args = Args::new().batch(walk::batch(&versions));
            overtaken = ids(database, sql!("overtaken"), args).await?;
        }
        if !owing.is_empty() {
            let args = Args::new().batch(Batch::new().texts("destination", owing));
            in_flight = ids(database, sql!("on_the_wire"), args).await?;
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

async fn ids(
    database: &Database,
    statement: &'static Statement,
    args: Args,
) -> Result<HashSet<DeliveryId>, StoreError> {
    let rows = database.read(statement, args).await?;
    rows.iter().map(walk::id).collect()
}
