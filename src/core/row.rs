//! Outbox rows: topic, row key, row version, operation, payload.
//!
//! A row is an immutable fact that a pipeline committed. These types carry it unchanged: the payload is text, the
//! bytes that were written, and is never parsed and written again.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::time::Timestamp;

/// What the rows of a topic mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TopicKind {
    /// Each row is a fact of its own and is delivered once.
    Event,
    /// Only the newest version of each row matters.
    State,
}

/// What happened to the row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Op {
    /// The row has this content now (state topics).
    Upsert,
    /// The row is gone; its payload is `null` (state topics).
    Delete,
    /// Something happened (event topics).
    Event,
}

impl TopicKind {
    /// The word in SQL, configuration and API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Event => "event",
            Self::State => "state",
        }
    }

    /// What happened to a row of which no more is said than that it is there.
    pub fn op(self) -> Op {
        match self {
            Self::Event => Op::Event,
            Self::State => Op::Upsert,
        }
    }
}

impl Op {
    /// The word in SQL, API and key.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Upsert => "upsert",
            Self::Delete => "delete",
            Self::Event => "event",
        }
    }

    /// The only kind of topic that takes this operation.
    pub fn kind(self) -> TopicKind {
        match self {
            Self::Upsert | Self::Delete => TopicKind::State,
            Self::Event => TopicKind::Event,
        }
    }
}

impl fmt::Display for TopicKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A word that is none of those known here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown {what} `{word}`; known are {known}")]
pub struct UnknownWord {
    /// What the word should have named, for example `op`.
    pub what: &'static str,
    /// The word that was given.
    pub word: String,
    /// The words that would have done.
    pub known: &'static str,
}

impl FromStr for TopicKind {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        match word {
            "event" => Ok(Self::Event),
            "state" => Ok(Self::State),
            _ => Err(UnknownWord {
                what: "topic kind",
                word: word.to_owned(),
                known: "event, state",
            }),
        }
    }
}

impl FromStr for Op {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        match word {
            "upsert" => Ok(Self::Upsert),
            "delete" => Ok(Self::Delete),
            "event" => Ok(Self::Event),
            _ => Err(UnknownWord {
                what: "op",
                word: word.to_owned(),
                known: "upsert, delete, event",
            }),
        }
    }
}

/// The identity of a row: its key within its topic. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RowId {
    /// The topic.
    pub topic: Arc<str>,
    /// The row key.
    pub row_key: Arc<str>,
}

impl RowId {
    /// The row `row_key` of `topic`.
    pub fn new(topic: &str, row_key: &str) -> Self {
        Self {
            topic: topic.into(),
            row_key: row_key.into(),
        }
    }
}

impl fmt::Display for RowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.topic, self.row_key)
    }
}

/// A row on its way into the outbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRow {
    /// The topic, 1 to 255 bytes.
    pub topic: String,
    /// The row key, 1 to 1,024 bytes.
    pub row_key: String,
    /// Orders the versions of the row; none counts as newest.
    pub row_version: Option<i64>,
    /// What happened.
    pub op: Op,
    /// JSON text, kept as it is; `null` for a delete.
    pub payload: String,
    /// A JSON object of text values that travels as request headers (trace context, content type), never secrets.
    pub headers: Option<String>,
}

/// A row as the outbox holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboxRow {
    /// The outbox id; ascends per row key.
    pub id: i64,
    /// Topic and row key.
    pub row: RowId,
    /// The version that the pipeline gave.
    pub row_version: Option<i64>,
    /// Counts the admitted changes of the row, from 1.
    pub generation: i64,
    /// What happened.
    pub op: Op,
    /// The bytes that were written.
    pub payload: Arc<str>,
    /// See [`NewRow::headers`].
    pub headers: Option<Arc<str>>,
    /// When the row was written, by the database's clock.
    pub created_at: Timestamp,
}
