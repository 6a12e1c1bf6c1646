//! What has become of what a replay made due: in which states its deliveries are by now.
//!
//! A delivery does not know by which replay it became due, since that would cost every one of them. So where a replay names its
//! deliveries, these are counted; where it has a filter, what lies within that: once nothing there is owed, dead or uncertain,
//! nothing of the replay is. What went well is left out there, since an index of it would cost every delivery, too.

use std::collections::BTreeMap;

use super::filter::{DeliveryFilter, MAX_IDS, Selection};
use super::replay::Replay;
use super::replay_missing::MissingRows;
use super::replay_request::ReplaySelection;
use super::walk::{Direction, Walk};
use super::{AdminError, AdminStore};
use crate::core::delivery::{STATES, State};

/// Deliveries of one step.
const STEP: u32 = 1_000;
/// Deliveries within a filter that are looked at, at most.
const LOOKED_AT: usize = 5_000;
/// What of a filter's deliveries is few, and has an index.
const UNDONE: [State; 3] = [State::Pending, State::Dead, State::Uncertain];

/// Whose states were counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Counted {
    /// The very deliveries that the replay names, in each state.
    Named,
    /// Deliveries within its filter, whatever their state, reason and last HTTP status were: those that are owed, and those that
    /// have become dead or uncertain since it was asked for. Others than the replay's may be among them.
    Within,
}

/// In which states the deliveries of a replay are by now.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
pub struct ReplayStates {
    /// Whose.
    pub counted: Counted,
    /// How many are in each state that is counted.
    pub by_state: BTreeMap<&'static str, u64>,
    /// Whether that is all: false where more than 5,000 deliveries lie within the filter, of which the newest are counted.
    pub exact: bool,
}

impl AdminStore {
    /// In which states the deliveries of the replay with this number are by now. Bounded, whatever it is about.
    pub async fn replay_states(&self, id: i64) -> Result<ReplayStates, AdminError> {
        let replay = self.replay(id).await?;
        let (counted, selection, most) = about(&replay);
        let states: &[State] = match counted {
            Counted::Named => &STATES,
            Counted::Within => &UNDONE,
        };
        let mut by_state: BTreeMap<&'static str, u64> =
            states.iter().map(|state| (state.as_str(), 0)).collect();
        let mut walk = Walk::start(&self.database, &selection, Direction::Down, None).await?;
        let (mut looked_at, mut more) = (0, true);
        while more && looked_at < most {
            let step = walk.step(STEP).await?;
            (looked_at, more) = (looked_at + step.looked_at, step.more);
            let since = |settled_at| settled_at >= replay.created_at;
            for delivery in step.deliveries {
                if counted == Counted::Named || delivery.settled_at.is_none_or(since) {
                    *by_state.entry(delivery.state.as_str()).or_default() += 1;
                }
            }
        }
        Ok(ReplayStates {
            counted,
            by_state,
            exact: !more,
        })
    }
}

/// Whose states are counted, where they are looked for, and of how many deliveries.
fn about(replay: &Replay) -> (Counted, Selection, usize) {
    let filter = match &replay.request.selection {
        ReplaySelection::Known(ids @ Selection::Ids(_)) => return (Counted::Named, ids.clone(), MAX_IDS),
        ReplaySelection::Known(Selection::Filter(filter)) => filter.clone(),
        ReplaySelection::Known(Selection::All) => DeliveryFilter::default(),
        ReplaySelection::Missing { missing } => of_rows(missing),
    };
    let last = filter.last_outbox_id.unwrap_or(i64::MAX);
    let filter = DeliveryFilter {
        states: UNDONE.to_vec(),
        reason: None,
        http_status: None,
        last_outbox_id: Some(last.min(replay.last_outbox_id)),
        ..filter
    };
    (Counted::Within, Selection::Filter(filter), LOOKED_AT)
}

/// The deliveries that rows have become which a destination never had.
fn of_rows(missing: &MissingRows) -> DeliveryFilter {
    let MissingRows {
        destination,
        topic,
        row_key,
        since,
        until,
        first_outbox_id,
        last_outbox_id,
        versions: _,
    } = missing.clone();
    DeliveryFilter {
        destination: Some(destination),
        topic,
        row_key,
        since,
        until,
        first_outbox_id,
        last_outbox_id,
        ..DeliveryFilter::default()
    }
}
