//! What people ask of the store, and what they change in it: status, deliveries, replays, pauses, cancels.
//!
//! [`AdminStore`] stands beside the relay's own verbs and never on their path. What it reads is bounded, and walks along
//! an index. What it changes is on record: who, what and why, in the same transaction.
//!
//! ```text
//!  filter ──▶ walk: ids along an index ──▶ deliveries of those ids that match ──┬─▶ a page of a list
//!                                                                               ├─▶ a step of a replay
//!                                                                               └─▶ a cancel
//! ```

mod act;
mod audit;
mod cancel;
mod deliveries;
mod delivery;
mod doctor;
mod error;
mod errors;
mod filter;
mod gauges;
mod history;
mod known;
mod pauses;
mod replay_request;
mod replay_step;
mod replays;
mod sent;
mod status;
mod tokens;
mod trial;
mod trouble;
mod walk;

use std::time::Duration;

pub use self::act::{Act, Actor};
pub use self::audit::{AuditEntry, AuditFilter, AuditPage};
pub use self::cancel::Cancelled;
pub use self::deliveries::{Delivery, Page, PageSize};
pub use self::delivery::{Attempt, DeliveryDetail};
pub use self::doctor::{Diagnosis, Examined, Expectations, Expected, Finding, Next};
pub use self::error::AdminError;
pub use self::errors::LastError;
pub use self::filter::{Cursor, DeliveryFilter, DeliveryId, MAX_IDS, Selection};
pub use self::gauges::{Gauges, OwedGauge, Standing};
pub use self::history::{DestinationHistory, History, Point, Span};
pub use self::pauses::{Pause, Paused};
pub use self::replay_request::{KeyMode, ReplayRequest, RequestKey, StaleRows};
pub(super) use self::replay_step::advance_replays;
pub use self::replays::{Created, DryRun, Replay, ReplayState};
pub use self::sent::Sent;
pub use self::status::{DestinationStatus, RelayStatus, Settled, ShardStatus, Status, UnroutedTopic};
pub use self::tokens::{Bearer, Role, Token, TokenName, TokenText};
pub use self::trouble::{OldestInTrouble, Trouble, TroubleExample, TroubleGroup};

use super::database::Database;

/// The store as people see and steer it. Cheap to clone.
#[derive(Debug, Clone)]
pub struct AdminStore {
    database: Database,
    lease_ttl: Duration,
}

impl AdminStore {
    /// The store in this database. A relay that has been silent for `lease_ttl` counts as dead.
    pub fn new(database: Database, lease_ttl: Duration) -> Self {
        Self { database, lease_ttl }
    }

    /// Where it is kept.
    pub fn database(&self) -> &Database {
        &self.database
    }
}
