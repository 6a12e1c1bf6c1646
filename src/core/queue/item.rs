//! What the queue is told of a delivery, and what it says of one: words without rules.

use crate::core::row::{Op, RowId, TopicKind};
use crate::core::time::Timestamp;

/// How deliveries of one row key follow one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OrderMode {
    /// A newer version supersedes older ones that are still owed.
    Latest,
    /// Each waits for the one before it.
    Ordered,
    /// None waits for another.
    Independent,
}

impl OrderMode {
    /// How a delivery of this kind follows others of its row key, where the configuration says `configured`.
    pub fn of(configured: Option<Self>, op: Op) -> Self {
        configured.unwrap_or(match op.kind() {
            TopicKind::State => Self::Latest,
            TopicKind::Event => Self::Ordered,
        })
    }
}

/// Whether an earlier attempt may have arrived without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trace {
    /// None: a newer version may take this delivery's place.
    Clean,
    /// One: newer versions wait until its outcome is known.
    Unknown,
}

/// What a settlement of a delivery must match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// Attempts on record.
    pub attempts: u32,
    /// How often a replay asked for a new key.
    pub key_epoch: u32,
}

/// A delivery as it is offered to the queue.
#[derive(Debug)]
pub struct Item<T> {
    /// The outbox row; deliveries of one row key are sent in ascending order.
    pub outbox_id: i64,
    /// Whose key it is about.
    pub row: RowId,
    /// How it follows others of its row key.
    pub order: OrderMode,
    /// When it may be sent.
    pub due: Timestamp,
    /// Whether an earlier attempt may have arrived.
    pub trace: Trace,
    /// What its settlement must match.
    pub mark: Mark,
    /// The delivery of the same row key that goes before it, as far as the reader knows of one: the nearest older one that is
    /// owed.
    pub behind: Option<i64>,
    /// Handed out again when it is taken.
    pub content: Option<T>,
}

/// What became of an offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offered {
    /// It is held.
    Held,
    /// It is not held, since there are too many of its row key, or since one before it is not held either.
    LeftOut,
}

/// How a delivery left the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It was delivered.
    Delivered,
    /// It waits for a person, and holds its row key.
    Uncertain,
    /// It ended otherwise, or is no longer owed.
    Otherwise,
}

/// What [`Queue::take`](super::Queue::take) hands out.
#[derive(Debug)]
pub struct Taken<T> {
    /// May be sent now; each is in flight until `retry` or `end`. Without content, it must be read again.
    pub send: Vec<(i64, Option<T>)>,
    /// Must be settled as superseded; each is held until `end`.
    pub superseded: Vec<(i64, Mark)>,
}
