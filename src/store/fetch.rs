//! Reading what is owed.
//!
//! The order of the primary key is the order in which deliveries are read, so that the cost is that of the window and
//! not of the backlog.

use std::collections::HashMap;

use super::database::{Args, Database, Row, sql};
use super::leases::of_shard;
use super::{FetchLimits, Fetched, Owed, OwedId, Shard, StoreError};
use crate::core::decide::CancelRequest;
use crate::core::row::{Op, OutboxRow, RowId};

pub(super) async fn fetch(
    database: &Database,
    shard: &Shard,
    after: i64,
    limits: FetchLimits,
) -> Result<Fetched, StoreError> {
    let args = of_shard(shard).int(after);
    let rows = database.read(sql!("fetch"), limited(args, limits)).await?;
    let first = rows.first().ok_or_else(|| {
        StoreError::Unexpected("a fetch brings at least the clock, this one brought nothing".to_owned())
    })?;
    // Without a delivery there is still a row, with the rest of it null.
    let brought = match first.opt_int::<i64>("outbox_id")? {
        None => &[],
        Some(_) => rows.as_slice(),
    };
    Ok(Fetched {
        now: first.time("now")?,
        paused: first.bool("paused")?,
        upto: first.int("upto")?,
        more: first.bool("more")?,
        owed: brought.iter().map(owed).collect::<Result<_, _>>()?,
        behind: behind(brought)?,
    })
}

fn behind(rows: &[Row]) -> Result<HashMap<i64, i64>, StoreError> {
    let mut behind = HashMap::new();
    for row in rows {
        if let Some(older) = row.opt_int("behind")? {
            behind.insert(row.int("outbox_id")?, older);
        }
    }
    Ok(behind)
}

pub(super) async fn owed_ids(
    database: &Database,
    shard: &Shard,
    after: i64,
    upto: i64,
    limit: u32,
) -> Result<Vec<OwedId>, StoreError> {
    let args = of_shard(shard).int(after).int(upto).int(i64::from(limit));
    let rows = database.read(sql!(shared "owed_ids"), args).await?;
    let id = |row: &Row| {
        Ok(OwedId {
            outbox_id: row.int("outbox_id")?,
            due_at: row.time("due_at")?,
        })
    };
    rows.iter().map(id).collect()
}

pub(super) async fn cancel_requests(database: &Database, shard: &Shard) -> Result<Vec<i64>, StoreError> {
    let rows = database
        .read(sql!(shared "cancel_requests"), of_shard(shard))
        .await?;
    rows.iter().map(|row| row.int("outbox_id")).collect()
}

pub(super) async fn load(
    database: &Database,
    shard: &Shard,
    ids: &[i64],
    limits: FetchLimits,
) -> Result<Vec<Owed>, StoreError> {
    let args = of_shard(shard).ints(ids);
    let rows = database.read(sql!("load"), limited(args, limits)).await?;
    rows.iter().map(owed).collect()
}

fn limited(args: Args, limits: FetchLimits) -> Args {
    args.int(i64::from(limits.rows))
        .int(i64::try_from(limits.bytes).unwrap_or(i64::MAX))
}

fn owed(row: &Row) -> Result<Owed, StoreError> {
    Ok(Owed {
        row: outbox_row(row, row.int("outbox_id")?)?,
        attempts: row.int("attempts")?,
        excused: row.int("excused")?,
        key_epoch: row.int("key_epoch")?,
        due_at: row.time("due_at")?,
        owed_at: row.time("owed_at")?,
        unknown_since: row.opt_time("unknown_since")?,
        cancel: cancel(row)?,
        rendering: row.opt_int("rendering")?,
    })
}

/// The row of the outbox among the columns.
pub(super) fn outbox_row(row: &Row, id: i64) -> Result<OutboxRow, StoreError> {
    let op = row.text("op")?.parse::<Op>();
    Ok(OutboxRow {
        id,
        row: RowId::new(row.text("topic")?, row.text("row_key")?),
        row_version: row.opt_int("row_version")?,
        generation: row.int("generation")?,
        op: op.map_err(|unknown| StoreError::Unexpected(unknown.to_string()))?,
        payload: row.text("payload")?.into(),
        headers: row.opt_text("headers")?.map(Into::into),
        created_at: row.time("created_at")?,
    })
}

/// Whether an operator asked to cancel the delivery of this row.
pub(super) fn cancel(row: &Row) -> Result<CancelRequest, StoreError> {
    Ok(match row.opt_time("cancel_at")? {
        Some(_) => CancelRequest::Requested,
        None => CancelRequest::None,
    })
}
