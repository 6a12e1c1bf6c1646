//! The `version` of a key: which change of a row a delivery is about.

use crate::core::row::{OutboxRow, TopicKind};

/// For a row of a state topic `u:<row version or ->,g:<generation>`, for an event `u:<row version>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyVersion(String);

impl KeyVersion {
    /// The version of `row`, by the kind of its topic.
    pub fn of(row: &OutboxRow) -> Option<Self> {
        match row.op.kind() {
            TopicKind::State => Some(Self::state(row.row_version, row.generation)),
            TopicKind::Event => Self::event(row.row_version),
        }
    }

    /// The version of a row of a state topic. The generation counts every admitted change, so that a row that
    /// returns to an earlier content still gets a new key.
    pub fn state(row_version: Option<i64>, generation: i64) -> Self {
        Self(match row_version {
            Some(row_version) => format!("u:{row_version},g:{generation}"),
            None => format!("u:-,g:{generation}"),
        })
    }

    /// The version of an event; none if the pipeline gave none.
    pub fn event(row_version: Option<i64>) -> Option<Self> {
        row_version.map(|row_version| Self(format!("u:{row_version}")))
    }

    /// A version as another implementation wrote it, to check that implementation's keys. The relay has no use for
    /// it.
    pub fn as_written(version: &str) -> Self {
        Self(version.to_owned())
    }

    /// The text that goes into the key.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
