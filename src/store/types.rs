//! What goes into the store and comes out of it.
//!
//! Plain values; each carries exactly the facts that its verb needs.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use crate::core::decide::{CancelRequest, Counts};
use crate::core::delivery::Reason;
use crate::core::limit::usage::Usage;
use crate::core::outcome::Report;
use crate::core::queue::{Mark, Trace};
use crate::core::row::{OutboxRow, RowId};
use crate::core::time::Timestamp;

/// One relay process: a fresh random id for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RelayId(pub Uuid);

/// A part of a destination that is dispatched by one relay at a time.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Shard {
    /// The destination; `''` for what has no route.
    pub destination: Arc<str>,
    /// From 0.
    pub number: u32,
    /// Into how many shards the destination is divided. A delivery of slot `s` belongs to shard `s % of`.
    pub of: u32,
}

impl Shard {
    /// The shard of what has no route yet.
    pub fn unrouted() -> Self {
        Self {
            destination: "".into(),
            number: 0,
            of: 1,
        }
    }
}

/// The right to dispatch a shard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// What it is about.
    pub shard: Shard,
    /// Who holds it.
    pub owner: RelayId,
    /// The fencing token.
    pub epoch: i64,
}

/// A row of the lease table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseRow {
    /// What it is about.
    pub shard: Shard,
    /// Its owner, if that has been heard of within the time to live.
    pub live_owner: Option<RelayId>,
    /// The fencing token.
    pub epoch: i64,
}

/// What a heartbeat learns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beat {
    /// The database's clock.
    pub now: Timestamp,
    /// Relays that have been heard of within the time to live, this one included, in ascending order.
    pub live: Vec<RelayId>,
}

/// How much one fetch may bring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchLimits {
    /// Rows at most.
    pub rows: u32,
    /// Bytes of payload at most; the first row comes whatever its size.
    pub bytes: u64,
}

/// A delivery that is owed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owed {
    /// The row.
    pub row: OutboxRow,
    /// Attempts on record.
    pub attempts: u32,
    /// Of those, how many do not count against `max_attempts`.
    pub excused: u32,
    /// How often a replay asked for a new key.
    pub key_epoch: u32,
    /// When it may be sent.
    pub due_at: Timestamp,
    /// Since when it has been owed.
    pub owed_at: Timestamp,
    /// The start of the first attempt that may have arrived without an answer.
    pub unknown_since: Option<Timestamp>,
    /// Whether an operator asked to cancel it.
    pub cancel: CancelRequest,
    /// The rendering of its first attempt, once that has ended.
    pub rendering: Option<i64>,
}

impl Owed {
    /// Whether an earlier attempt may have arrived.
    pub fn trace(&self) -> Trace {
        if self.unknown_since.is_some() {
            Trace::Unknown
        } else {
            Trace::Clean
        }
    }

    /// What its settlement must match.
    pub fn mark(&self) -> Mark {
        Mark {
            attempts: self.attempts,
            key_epoch: self.key_epoch,
        }
    }
}

/// A delivery that is owed, by its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwedId {
    /// The outbox row.
    pub outbox_id: i64,
    /// When it may be sent.
    pub due_at: Timestamp,
    /// What it was read in: after another attempt, what is said of it is old.
    pub mark: Mark,
}

/// A delivery that an operator asked to cancel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CancelAsked {
    /// The outbox row.
    pub outbox_id: i64,
    /// What its settlement must match.
    pub mark: Mark,
}

/// What a fetch brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// The database's clock.
    pub now: Timestamp,
    /// Whether the destination is paused; then nothing was read.
    pub paused: bool,
    /// Ascending by outbox id.
    pub owed: Vec<Owed>,
    /// For each of them that has one: the version of the same row just before it, if that is owed too, to this
    /// destination or to none yet. Both by outbox id.
    pub behind: HashMap<i64, i64>,
    /// Every delivery of the shard up to this id has been read; `after` if there was nothing.
    pub upto: i64,
    /// Whether there may be more above `upto`.
    pub more: bool,
}

/// A delivery that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Uncertain {
    /// The outbox row.
    pub outbox_id: i64,
    /// Whose key it holds.
    pub row: RowId,
}

/// Names a row of the write-ahead record: the relay, and a number that it never uses twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DispatchId {
    /// Who wrote it.
    pub relay: RelayId,
    /// Which one.
    pub sequence: i64,
}

/// One delivery in the write-ahead record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The outbox row.
    pub outbox_id: i64,
    /// The attempt that is about to be made, from 1.
    pub attempt: u32,
    /// The key epoch that it is made under.
    pub key_epoch: u32,
}

/// Attempts to put on record before they are sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Begin {
    /// The name of the dispatch.
    pub dispatch: DispatchId,
    /// What requests without a rendering of their own are rendered under.
    pub rendering: i64,
    /// What is about to be sent.
    pub entries: Vec<Entry>,
}

/// What becomes of one delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settlement {
    /// The outbox row.
    pub outbox_id: i64,
    /// The key epoch under which this was decided; another one in the database means that this is history.
    pub key_epoch: u32,
    /// Attempts on record before this settlement; the database must agree, but for a success.
    pub attempts_before: u32,
    /// The attempt that ended, if there was one.
    pub attempt: Option<EndedAttempt>,
    /// What follows.
    pub kind: SettlementKind,
}

/// An attempt that ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedAttempt {
    /// From 1.
    pub number: u32,
    /// When its request began, by the database's clock.
    pub started_at: Timestamp,
    /// What was rendered under.
    pub rendering: i64,
    /// The key as it stood in the header.
    pub key: Option<String>,
    /// What came back.
    pub report: Report,
}

/// What follows for a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettlementKind {
    /// It ends; the reason names the state.
    End(Reason),
    /// It stays owed.
    Retry {
        /// Due again after so long, by the database's clock.
        after: Duration,
        /// Whether the attempt counts.
        counts: Counts,
        /// The start of the first attempt that may have arrived without an answer.
        unknown_since: Option<Timestamp>,
    },
    /// A waiting `uncertain` delivery of the same row gives way to a newer version that was delivered.
    SupersedeUncertain,
}

/// One transaction of a dispatcher. No delivery stands in both `begin` and `settle`, and none twice in either.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The lease it is made under.
    pub lease: Lease,
    /// Attempts that are about to be made.
    pub begin: Option<Begin>,
    /// Deliveries whose attempt ended, or that end without one.
    pub settle: Vec<Settlement>,
    /// Dispatches all of whose entries are settled.
    pub finished: Vec<DispatchId>,
}

/// What a record did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// The database's clock.
    pub now: Timestamp,
    /// The outbox ids of `begin` that may be sent now. An entry that is missing is no longer owed in that form
    /// (cancelled, replayed, settled by another), or its destination is paused, or the lease is lost.
    pub begun: Vec<i64>,
    /// The outbox ids of `begin` that must not be sent: a replay made them due again, and a newer version of their row was
    /// delivered since then. They are still owed, and end as superseded.
    pub overtaken: Vec<i64>,
    /// Whether the lease was still held. If not, only successes were written.
    pub leased: bool,
    /// Whether the destination is paused.
    pub paused: bool,
}

/// What a step of a replay came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Advanced {
    /// Deliveries that it looked at; 0 if no replay may go on now.
    pub looked_at: u64,
    /// Then, when the next one may go on, as its rate allows; none if none runs.
    pub next_in: Option<Duration>,
}

/// A dispatch that an earlier owner left behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Orphan {
    /// Its name, to finish it.
    pub dispatch: DispatchId,
    /// When it was written.
    pub at: Timestamp,
    /// The database's clock when it was read.
    pub now: Timestamp,
    /// What its entries were rendered under.
    pub rendering: i64,
    /// The receiver's id of the job that they travelled by, if its data can have been sent.
    pub job: Option<String>,
    /// The deliveries whose outcome nobody recorded, without their payloads.
    pub owed: Vec<OrphanEntry>,
}

/// A delivery whose outcome nobody recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrphanEntry {
    /// What was about to be sent.
    pub entry: Entry,
    /// See [`Owed::excused`].
    pub excused: u32,
    /// See [`Owed::owed_at`].
    pub owed_at: Timestamp,
    /// See [`Owed::unknown_since`].
    pub unknown_since: Option<Timestamp>,
    /// See [`Owed::cancel`].
    pub cancel: CancelRequest,
    /// See [`Owed::rendering`].
    pub rendering: Option<i64>,
}

/// A shard, or a destination, of which no request works.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
pub struct Failing {
    /// Since when no request has worked.
    pub since: Timestamp,
    /// Since when its breaker has been open; none while it is closed, or switched off.
    pub breaker_opened_at: Option<Timestamp>,
    /// Deliveries that were owed when it began to fail die from then on, at their next failure.
    pub dying_from: Timestamp,
    /// What a request met when this was noted.
    pub detail: String,
}

/// What a receiver said of its daily limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
pub struct NotedUsage {
    /// What it said.
    #[serde(flatten)]
    pub usage: Usage,
    /// When.
    pub heard_at: Timestamp,
}
