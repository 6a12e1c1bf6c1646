//! What relays did, by the minute, for charts.
//!
//! Beside the hot path: a relay adds every few seconds what it has counted in memory. A chart, not a ledger: a crash loses
//! what was not added yet, and nothing is decided by it.

use super::StoreError;
use super::database::{Args, Batch, Database, sql};

/// What a relay has done for a destination since it said so last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tally {
    /// The destination.
    pub destination: String,
    /// Deliveries that were delivered.
    pub delivered: u64,
    /// Attempts that were not accepted.
    pub failed: u64,
}

pub(super) async fn add(database: &Database, tallies: &[Tally]) -> Result<(), StoreError> {
    let batch = Batch::new()
        .texts("destination", tallies.iter().map(|one| one.destination.as_str()))
        .ints("delivered", tallies.iter().map(|one| one.delivered.cast_signed()))
        .ints("failed", tallies.iter().map(|one| one.failed.cast_signed()));
    database.run(sql!("add_tally"), Args::new().batch(batch)).await?;
    Ok(())
}

pub(super) async fn forget(database: &Database) -> Result<(), StoreError> {
    database.run(sql!("forget_tallies"), Args::new()).await?;
    Ok(())
}
