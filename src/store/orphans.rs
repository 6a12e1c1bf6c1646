//! What a new owner of a shard must know: attempts whose outcome nobody recorded, and deliveries that hold their row.

use super::database::{Database, Row, sql};
use super::fetch::cancel;
use super::leases::{of_shard, relay};
use super::{DispatchId, Entry, Lease, Orphan, OrphanEntry, Shard, StoreError, Uncertain};
use crate::core::row::RowId;

pub(super) async fn orphans(database: &Database, lease: &Lease) -> Result<Vec<Orphan>, StoreError> {
    let args = of_shard(&lease.shard).int(lease.epoch);
    let rows = database.read(sql!("orphans"), args).await?;
    let mut orphans: Vec<Orphan> = vec![];
    for row in &rows {
        let dispatch = dispatch(row)?;
        if orphans.last().is_none_or(|last| last.dispatch != dispatch) {
            orphans.push(Orphan {
                dispatch,
                at: row.time("at")?,
                now: row.time("now")?,
                rendering: row.int("dispatch_rendering")?,
                job: row.opt_text("job")?.map(str::to_owned),
                owed: vec![],
            });
        }
        // Without an entry that still matches there is one row, with the rest of it null.
        if let (Some(outbox_id), Some(orphan)) = (row.opt_int("outbox_id")?, orphans.last_mut()) {
            orphan.owed.push(entry(row, outbox_id)?);
        }
    }
    orphans.sort_by_key(|orphan| orphan.owed.first().map(|first| first.entry.outbox_id));
    Ok(orphans)
}

pub(super) async fn uncertain(database: &Database, shard: &Shard) -> Result<Vec<Uncertain>, StoreError> {
    let rows = database.read(sql!("uncertain"), of_shard(shard)).await?;
    let uncertain = |row: &Row| -> Result<Uncertain, StoreError> {
        Ok(Uncertain {
            outbox_id: row.int("outbox_id")?,
            row: RowId::new(row.text("topic")?, row.text("row_key")?),
        })
    };
    rows.iter().map(uncertain).collect()
}

fn dispatch(row: &Row) -> Result<DispatchId, StoreError> {
    Ok(DispatchId {
        relay: relay(row, "relay")?
            .ok_or_else(|| StoreError::Unexpected("a dispatch names no relay".to_owned()))?,
        sequence: row.int("sequence")?,
    })
}

fn entry(row: &Row, outbox_id: i64) -> Result<OrphanEntry, StoreError> {
    Ok(OrphanEntry {
        entry: Entry {
            outbox_id,
            attempt: row.int("attempt")?,
            key_epoch: row.int("key_epoch")?,
        },
        excused: row.int("excused")?,
        owed_at: row.time("owed_at")?,
        unknown_since: row.opt_time("unknown_since")?,
        cancel: cancel(row, "cancel_at")?,
        rendering: row.opt_int("rendering")?,
    })
}
