//! What stands before and after a delivery among those of its row key that are owed.
//!
//! Asked only where a dispatcher has left something out: what it holds tells the order of the rest.

use std::collections::HashMap;

use super::database::{Args, Database, sql};
use super::{Shard, StoreError};
use crate::core::row::RowId;

pub(super) async fn behind(
    database: &Database,
    shard: &Shard,
    ids: &[i64],
    floor: Option<i64>,
) -> Result<HashMap<i64, i64>, StoreError> {
    let args = Args::new().text(&shard.destination).ints(ids).int(floor);
    let rows = database.read(sql!("behind"), args).await?;
    rows.iter()
        .map(|row| Ok((row.int("outbox_id")?, row.int("behind")?)))
        .collect()
}

pub(super) async fn owed_of_row(
    database: &Database,
    shard: &Shard,
    row: &RowId,
    from: i64,
    limit: u32,
) -> Result<Vec<i64>, StoreError> {
    let args = Args::new()
        .text(&shard.destination)
        .text(&row.topic)
        .text(&row.row_key)
        .int(from)
        .int(i64::from(limit));
    let rows = database.read(sql!("owed_of_row"), args).await?;
    rows.iter().map(|row| row.int("outbox_id")).collect()
}
