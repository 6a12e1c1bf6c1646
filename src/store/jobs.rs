//! The job that the entries of a dispatch travel by, on record before any of its data is sent.

use super::database::{Args, Database, sql};
use super::leases::id;
use super::{DispatchId, Lease, StoreError};

pub(super) async fn note(
    database: &Database,
    lease: &Lease,
    dispatch: DispatchId,
    job: &str,
) -> Result<bool, StoreError> {
    let args = Args::new()
        .text(&lease.shard.destination)
        .int(i64::from(lease.shard.number))
        .text(&id(lease.owner))
        .int(lease.epoch)
        .text(&id(dispatch.relay))
        .int(dispatch.sequence)
        .text(job);
    Ok(!database.run(sql!("note_job"), args).await?.is_empty())
}
