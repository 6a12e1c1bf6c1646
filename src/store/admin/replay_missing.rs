//! Rows that a destination never had: of a new destination, or from a time in which their topic was not routed to it.
//!
//! A row is missing where its topic is routed to the destination now, and it is neither owed nor settled there. What waits
//! for any route at all is owed already. Of a row key of a state topic only the newest version counts unless every one is
//! asked for: the older ones would be superseded by it.

use super::filter::DeliveryId;
use crate::core::row::Op;
use crate::core::time::Timestamp;
use crate::store::database::{Args, Database, Row, sql};
use crate::store::{Backfill, StoreError};

/// Which rows a destination is to get that it never had. What is not said does not matter.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MissingRows {
    /// The destination. Rows of topics that are not routed to it are never missing there.
    pub destination: String,
    /// Their topic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic: Option<String>,
    /// Their key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row_key: Option<String>,
    /// They were written at this time or later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// They were written before this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// They have this outbox id or a higher one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_outbox_id: Option<i64>,
    /// They have this outbox id or a lower one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_outbox_id: Option<i64>,
    /// Of state topics: the newest version of each row key, or every version. Of event topics every row counts.
    #[serde(default)]
    pub versions: Backfill,
}

/// A row that a destination never had.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
pub struct MissingRow {
    /// The delivery that it would be.
    #[serde(flatten)]
    pub id: DeliveryId,
    /// The row's topic.
    pub topic: String,
    /// The row's key.
    pub row_key: String,
    /// The version that the pipeline gave.
    pub row_version: Option<i64>,
    /// What happened to the row.
    pub op: Op,
    /// When the row was written.
    pub created_at: Timestamp,
}

/// What one look at the outbox brought.
pub(super) struct MissingStep {
    /// Rows that are missing, the oldest outbox id first.
    pub(super) rows: Vec<MissingRow>,
    /// How many rows were looked at.
    pub(super) looked_at: usize,
    /// The last of them; none if there was none.
    pub(super) upto: Option<i64>,
}

impl MissingRows {
    /// Looks at rows with an id above `after` and up to `last`, `limit` at most.
    pub(super) async fn look(
        &self,
        database: &Database,
        after: i64,
        last: i64,
        limit: u32,
    ) -> Result<MissingStep, StoreError> {
        let after = after.max(self.first_outbox_id.map_or(0, |first| first.saturating_sub(1)));
        let args = Args::new()
            .text(&self.destination)
            .opt_text(self.topic.as_deref())
            .opt_text(self.row_key.as_deref())
            .time(self.since)
            .time(self.until)
            .text(self.versions.as_str())
            .int(after)
            .int(last.min(self.last_outbox_id.unwrap_or(i64::MAX)))
            .int(i64::from(limit));
        let rows = database.read(sql!("missing_rows"), args).await?;
        let mut step = MissingStep {
            rows: Vec::new(),
            looked_at: 0,
            upto: None,
        };
        for row in &rows {
            step.looked_at = row.int("looked_at")?;
            step.upto = row.opt_int("upto")?;
            // Without a missing one there is still a row, with the rest of it null.
            if let Some(outbox_id) = row.opt_int("outbox_id")? {
                step.rows.push(self.missing(row, outbox_id)?);
            }
        }
        Ok(step)
    }

    fn missing(&self, row: &Row, outbox_id: i64) -> Result<MissingRow, StoreError> {
        Ok(MissingRow {
            id: DeliveryId {
                outbox_id,
                destination: self.destination.clone(),
            },
            topic: row.text("topic")?.to_owned(),
            row_key: row.text("row_key")?.to_owned(),
            row_version: row.opt_int("row_version")?,
            op: row.word("op")?,
            created_at: row.time("created_at")?,
        })
    }
}
