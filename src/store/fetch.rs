//! Reading what is owed.
//!
//! The order of the primary key is the order in which deliveries are read, so that the cost is that of the window and
//! not of the backlog.

use std::collections::HashMap;

use super::database::{Args, Column, Database, Row, sql};
use super::leases::of_shard;
use super::{CancelAsked, FetchLimits, Fetched, Owed, OwedId, Shard, StoreError};
use crate::core::decide::CancelRequest;
use crate::core::queue::Mark;
use crate::core::row::{OutboxRow, RowId};
use crate::core::time::Timestamp;

pub(super) async fn fetch(
    database: &Database,
    shard: &Shard,
    after: i64,
    limits: FetchLimits,
) -> Result<Fetched, StoreError> {
    let args = limited(of_shard(shard).int(after), limits);
    let (mut window, mut reading) = (None, Reading::default());
    let mut behind = HashMap::new();
    let take = |row: &Row| {
        if window.is_none() {
            window = Some(Window::of(row)?);
        }
        // Without a delivery there is still a row, with the rest of it null.
        if row.opt_int::<i64>("outbox_id")?.is_some() {
            let outbox_id = reading.take(row)?;
            behind.extend(row.opt_int("behind")?.map(|older| (outbox_id, older)));
        }
        Ok(())
    };
    database.read_each(sql!("fetch"), args, take).await?;
    let window = window.ok_or_else(|| {
        StoreError::Unexpected("a fetch brings at least the clock, this one brought nothing".to_owned())
    })?;
    let owed = reading.ascending();
    let cut = owed.len() < window.mine;
    let last_seen = window.last_seen.unwrap_or(after);
    Ok(Fetched {
        now: window.now,
        paused: window.paused,
        upto: owed.last().filter(|_| cut).map_or(last_seen, |last| last.row.id),
        more: cut || window.seen >= limits.rows,
        owed,
        behind,
    })
}

/// What each row of a fetch says of all of it.
struct Window {
    now: Timestamp,
    paused: bool,
    /// How many deliveries the window holds, of any shard.
    seen: u32,
    last_seen: Option<i64>,
    /// How many of them are of the shard.
    mine: usize,
}

impl Window {
    fn of(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            now: row.time("now")?,
            paused: row.bool("paused")?,
            seen: row.int("seen")?,
            last_seen: row.opt_int("last_seen")?,
            mine: row.int("mine")?,
        })
    }
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
            mark: mark(row)?,
        })
    };
    rows.iter().map(id).collect()
}

pub(super) async fn cancel_requests(
    database: &Database,
    shard: &Shard,
) -> Result<Vec<CancelAsked>, StoreError> {
    let rows = database
        .read(sql!(shared "cancel_requests"), of_shard(shard))
        .await?;
    let asked = |row: &Row| {
        Ok(CancelAsked {
            outbox_id: row.int("outbox_id")?,
            mark: mark(row)?,
        })
    };
    rows.iter().map(asked).collect()
}

fn mark(row: &Row) -> Result<Mark, StoreError> {
    Ok(Mark {
        attempts: row.int("attempts")?,
        key_epoch: row.int("key_epoch")?,
    })
}

pub(super) async fn load(
    database: &Database,
    shard: &Shard,
    ids: &[i64],
    limits: FetchLimits,
) -> Result<Vec<Owed>, StoreError> {
    let args = of_shard(shard).ints(ids);
    let mut reading = Reading::default();
    let take = |row: &Row| reading.take(row).map(drop);
    database
        .read_each(sql!("load"), limited(args, limits), take)
        .await?;
    Ok(reading.ascending())
}

fn limited(args: Args, limits: FetchLimits) -> Args {
    args.int(i64::from(limits.rows))
        .int(i64::try_from(limits.bytes).unwrap_or(i64::MAX))
}

/// Deliveries as they are read.
#[derive(Default)]
struct Reading {
    columns: Option<OwedColumns>,
    owed: Vec<Owed>,
}

impl Reading {
    /// Returns the outbox id.
    fn take(&mut self, row: &Row) -> Result<i64, StoreError> {
        let columns = match &self.columns {
            Some(columns) => columns,
            None => self.columns.insert(OwedColumns::of(row)?),
        };
        let owed = columns.owed(row)?;
        let outbox_id = owed.row.id;
        self.owed.push(owed);
        Ok(outbox_id)
    }

    /// They come in this order already; no statement has to promise it.
    fn ascending(mut self) -> Vec<Owed> {
        self.owed.sort_by_key(|owed| owed.row.id);
        self.owed
    }
}

/// Where the columns of a delivery stand: looked up by name once for a result, since that costs more than to read them.
struct OwedColumns {
    outbox_id: usize,
    attempts: usize,
    excused: usize,
    key_epoch: usize,
    due_at: usize,
    owed_at: usize,
    unknown_since: usize,
    cancel_at: usize,
    rendering: usize,
    row: OutboxColumns,
}

impl OwedColumns {
    fn of(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            outbox_id: row.place("outbox_id")?,
            attempts: row.place("attempts")?,
            excused: row.place("excused")?,
            key_epoch: row.place("key_epoch")?,
            due_at: row.place("due_at")?,
            owed_at: row.place("owed_at")?,
            unknown_since: row.place("unknown_since")?,
            cancel_at: row.place("cancel_at")?,
            rendering: row.place("rendering")?,
            row: OutboxColumns::of(row)?,
        })
    }

    fn owed(&self, row: &Row) -> Result<Owed, StoreError> {
        Ok(Owed {
            row: self.row.outbox_row(row, row.int(self.outbox_id)?)?,
            attempts: row.int(self.attempts)?,
            excused: row.int(self.excused)?,
            key_epoch: row.int(self.key_epoch)?,
            due_at: row.time(self.due_at)?,
            owed_at: row.time(self.owed_at)?,
            unknown_since: row.opt_time(self.unknown_since)?,
            cancel: cancel(row, self.cancel_at)?,
            rendering: row.opt_int(self.rendering)?,
        })
    }
}

/// Where the columns of a row of the outbox stand, but for its id.
pub(super) struct OutboxColumns {
    topic: usize,
    row_key: usize,
    row_version: usize,
    generation: usize,
    op: usize,
    payload: usize,
    headers: usize,
    created_at: usize,
}

impl OutboxColumns {
    pub(super) fn of(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            topic: row.place("topic")?,
            row_key: row.place("row_key")?,
            row_version: row.place("row_version")?,
            generation: row.place("generation")?,
            op: row.place("op")?,
            payload: row.place("payload")?,
            headers: row.place("headers")?,
            created_at: row.place("created_at")?,
        })
    }

    /// The row of the outbox among the columns.
    pub(super) fn outbox_row(&self, row: &Row, id: i64) -> Result<OutboxRow, StoreError> {
        Ok(OutboxRow {
            id,
            row: RowId::new(row.text(self.topic)?, row.text(self.row_key)?),
            row_version: row.opt_int(self.row_version)?,
            generation: row.int(self.generation)?,
            op: row.word(self.op)?,
            payload: row.json(self.payload)?.into(),
            headers: row.opt_json(self.headers)?.map(Into::into),
            created_at: row.time(self.created_at)?,
        })
    }
}

/// Whether an operator asked to cancel the delivery of this row.
pub(super) fn cancel(row: &Row, cancel_at: impl Column) -> Result<CancelRequest, StoreError> {
    Ok(match row.opt_time(cancel_at)? {
        Some(_) => CancelRequest::Requested,
        None => CancelRequest::None,
    })
}
