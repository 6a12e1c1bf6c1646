//! What people ask of the store, and what they change in it: status, deliveries, replays, pauses, cancels.
//!
//! [`AdminStore`] stands beside the relay's own verbs and never on their path. What it reads is bounded, and walks along
//! an index. What it changes is on record: who, what and why, in the same transaction.
//!
//! ```text
//!  filter ──▶ walk: ids along an index ──▶ deliveries of those ids that match ──┬─▶ a page of a list
//!                                                                               ├─▶ a step of a replay
//!                                                                               └─▶ what a person settles by hand
//! ```

mod act;
mod action;
mod audit;
mod by_hand;
mod cancel;
mod deliveries;
mod delivery;
mod doctor;
mod dry_run;
mod error;
mod errors;
mod filter;
mod gauges;
mod history;
mod known;
mod mark_delivered;
mod on_record;
mod pauses;
mod replay;
mod replay_failure;
mod replay_missing;
mod replay_plan;
mod replay_request;
mod replay_states;
mod replay_step;
mod replay_walk;
mod replay_writers;
mod replays;
mod retry_now;
mod sent;
mod skip_head;
mod status;
mod tokens;
mod trial;
mod trouble;
mod walk;

use std::sync::Arc;
use std::time::Duration;

pub use self::act::{Act, Actor, MAX_REASON_CHARS};
pub use self::action::Action;
pub use self::audit::{AuditEntry, AuditFilter, AuditPage};
pub use self::by_hand::{Counts, Deed, How, Part, Settling};
pub use self::cancel::Cancelled;
pub use self::deliveries::{Delivery, Page, PageSize};
pub use self::delivery::{Attempt, DeliveryDetail};
pub use self::doctor::{Diagnosis, Examined, Expectations, Expected, Finding, Next};
pub use self::dry_run::DryRun;
pub use self::error::AdminError;
pub use self::errors::LastError;
pub use self::filter::{Cursor, DeliveryFilter, DeliveryId, MAX_IDS, Selection};
pub use self::gauges::{Gauges, OwedGauge, Standing};
pub use self::history::{DestinationHistory, History, Point, Span};
pub use self::mark_delivered::{Evidence, MAX_EVIDENCE_CHARS, Marked};
pub use self::pauses::{Pause, Paused};
pub use self::replay::{Replay, ReplayState};
pub use self::replay_missing::{MissingRow, MissingRows};
pub use self::replay_request::{KeyMode, ReplayRate, ReplayRequest, ReplaySelection, RequestKey, StaleRows};
pub use self::replay_states::{Counted, ReplayStates};
pub(super) use self::replay_step::advance_replays;
pub use self::replay_walk::Candidate;
pub use self::replays::{Created, ReplayPage};
pub use self::retry_now::Hurried;
pub use self::sent::Sent;
pub use self::skip_head::{Options, SkippedHead};
pub use self::status::{DestinationStatus, RelayStatus, Settled, ShardStatus, Status, UnroutedTopic};
pub use self::tokens::{Bearer, Role, Token, TokenName, TokenText};
pub use self::trouble::{OldestInTrouble, Trouble, TroubleExample, TroubleGroup};

use self::status::owed::LastWalk;
use super::database::Database;

/// The store as people see and steer it. Cheap to clone.
#[derive(Debug, Clone)]
pub struct AdminStore {
    database: Database,
    lease_ttl: Duration,
    last_walk: Arc<LastWalk>,
}

impl AdminStore {
    /// The store in this database. A relay that has been silent for `lease_ttl` counts as dead.
    pub fn new(database: Database, lease_ttl: Duration) -> Self {
        Self {
            database,
            lease_ttl,
            last_walk: Arc::default(),
        }
    }

    /// Where it is kept.
    pub fn database(&self) -> &Database {
        &self.database
    }
}
