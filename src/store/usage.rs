//! What receivers said last of their daily limits, for status.
//!
//! Beside the hot path: written seldom, and read by nobody who sends. Nothing here is counted.

use super::database::{Args, Database, Row, sql};
use super::{NotedUsage, StoreError};
use crate::core::limit::usage::Usage;

pub(super) async fn note(
    database: &Database,
    destination: &str,
    noted: &NotedUsage,
) -> Result<(), StoreError> {
    let NotedUsage { usage, heard_at } = noted;
    let args = Args::new()
        .text(destination)
        .int(i64::from(usage.used))
        .int(i64::from(usage.allowed))
        .int(i64::from(usage.reserve))
        .time(*heard_at);
    database.run(sql!(shared "note_usage"), args).await?;
    Ok(())
}

impl NotedUsage {
    pub(super) fn read(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            usage: Usage {
                used: row.int("used")?,
                allowed: row.int("allowed")?,
                reserve: row.int("reserve")?,
            },
            heard_at: row.time("heard_at")?,
        })
    }
}
