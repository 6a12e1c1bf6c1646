//! That a shard fails, for status and for whoever takes its lease next.
//!
//! Beside the hot path: written only when it changes. Nothing here decides that a shard fails; its dispatcher does.

use super::database::{Args, Database, Row, sql};
use super::leases::id;
use super::{Failing, Lease, Shard, StoreError};

pub(super) async fn note(
    database: &Database,
    lease: &Lease,
    failing: Option<&Failing>,
) -> Result<(), StoreError> {
    let under = Args::new()
        .text(&lease.shard.destination)
        .int(i64::from(lease.shard.number))
        .text(&id(lease.owner))
        .int(lease.epoch);
    match failing {
        Some(failing) => {
            let args = under
                .time(failing.since)
                .time(failing.breaker_opened_at)
                .time(failing.dying_from)
                .text(&failing.detail);
            database.run(sql!(shared "note_failing"), args).await?;
        }
        None => {
            database.run(sql!(shared "note_working"), under).await?;
        }
    }
    Ok(())
}

pub(super) async fn of(database: &Database, shard: &Shard) -> Result<Option<Failing>, StoreError> {
    let args = Args::new().text(&shard.destination).int(i64::from(shard.number));
    let rows = database.read(sql!(shared "failing_of"), args).await?;
    rows.first().map(Failing::read).transpose()
}

impl Failing {
    pub(super) fn read(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            since: row.time("since")?,
            breaker_opened_at: row.opt_time("breaker_opened_at")?,
            dying_from: row.time("dying_from")?,
            detail: row.text("detail")?.to_owned(),
        })
    }
}
