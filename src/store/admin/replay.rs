//! A replay as it stands: what it was asked for, and how far it has come.

use std::str::FromStr;

use super::filter::{Cursor, DeliveryId};
use super::replay_request::{ReplayRate, ReplayRequest, StaleRows, Written};
use crate::core::row::UnknownWord;
use crate::core::time::Timestamp;
use crate::store::StoreError;
use crate::store::database::Row;

/// Where a replay stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReplayState {
    /// It goes on.
    Running,
    /// An operator stopped it, and can let it go on.
    Paused,
    /// It has looked at every delivery that it was asked for.
    Done,
    /// An operator ended it; what it had requeued stays so.
    Cancelled,
}

/// A replay.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
pub struct Replay {
    /// Its number.
    pub id: i64,
    /// Where it stands.
    pub state: ReplayState,
    /// What it was asked to do.
    #[serde(flatten)]
    #[schema(value_type = Written)]
    pub request: ReplayRequest,
    /// What follows from the choice of the key.
    pub consequence: &'static str,
    /// Why.
    pub reason: String,
    /// Who asked for it.
    pub requested_by: String,
    /// Deliveries that it has made due.
    pub requeued: u64,
    /// Deliveries that matched and were owed already.
    pub left_alone: u64,
    /// Deliveries that matched and were on the wire when it came by.
    pub in_flight: u64,
    /// Deliveries that matched and that a newer version has overtaken; `force` sends them.
    pub skipped: u64,
    /// The outbox row that it looked at last: how far it has come on its way to `last_outbox_id`.
    pub at_outbox_id: i64,
    /// The last outbox row that is its concern: what was written later is not.
    pub last_outbox_id: i64,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
    /// What it waits for, in a sentence, if it has to look once more at rows that can still come into sight.
    pub waits: Option<String>,
    /// The delivery that it looked at last.
    #[serde(skip)]
    pub(super) cursor: Cursor,
    /// Deliveries that its next step looks at, if not as many as a relay takes.
    #[serde(skip)]
    pub(super) step_rows: Option<u32>,
    /// The transactions that were writing to the outbox when it was asked for, while one may still be open.
    #[serde(skip)]
    pub(super) noted_writers: Option<String>,
}

impl Replay {
    /// A row of `replay`, `replays` or `next_replay`.
    pub(super) fn read(row: &Row) -> Result<Self, StoreError> {
        let request = request(row)?;
        let cursor = DeliveryId {
            outbox_id: row.int("cursor_outbox_id")?,
            destination: row.text("cursor_destination")?.to_owned(),
        };
        Ok(Self {
            id: row.int("id")?,
            state: row.word("state")?,
            consequence: request.key.consequence(),
            request,
            reason: row.text("reason")?.to_owned(),
            requested_by: row.text("requested_by")?.to_owned(),
            requeued: row.int("requeued")?,
            left_alone: row.int("left_alone")?,
            in_flight: row.int("in_flight")?,
            skipped: row.int("skipped")?,
            at_outbox_id: cursor.outbox_id,
            last_outbox_id: row.int("last_outbox_id")?,
            created_at: row.time("created_at")?,
            finished_at: row.opt_time("finished_at")?,
            waits: None,
            cursor: Cursor(cursor),
            step_rows: row.opt_int("step_rows")?,
            noted_writers: row.opt_text("waits_for")?.map(str::to_owned),
        })
    }
}

fn request(row: &Row) -> Result<ReplayRequest, StoreError> {
    let selection = serde_json::from_str(row.text("filter")?)
        .map_err(|error| StoreError::Unexpected(format!("the filter of a replay cannot be read: {error}")))?;
    Ok(ReplayRequest {
        selection,
        key: row.word("key_mode")?,
        stale: if row.bool("force")? {
            StaleRows::Force
        } else {
            StaleRows::Skip
        },
        rate: row.opt_int("rate")?.and_then(ReplayRate::per_second),
    })
}

impl ReplayState {
    /// The word in SQL, API and command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Done => "done",
            Self::Cancelled => "cancelled",
        }
    }
}

impl FromStr for ReplayState {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        [Self::Running, Self::Paused, Self::Done, Self::Cancelled]
            .into_iter()
            .find(|state| state.as_str() == word)
            .ok_or(UnknownWord {
                what: "state of a replay",
                word: word.to_owned(),
                known: "running, paused, done, cancelled",
            })
    }
}
