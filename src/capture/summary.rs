//! What became of many rows, in the numbers that every way in answers with.

use serde::Serialize;

use super::Outcome;

/// What became of the rows of an input, as the command line and the API say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct Summary {
    /// Rows that will be delivered.
    pub admitted: u64,
    /// Rows whose content the ledger knew already.
    pub unchanged: u64,
    /// Rows that were older than what the ledger knew.
    pub stale: u64,
    /// Lines that are no rows, and rows that the database refused.
    pub refused: u64,
    /// All of them.
    pub total: u64,
}

impl From<Outcome> for Summary {
    fn from(Outcome { enqueued, refused }: Outcome) -> Self {
        Self {
            admitted: enqueued.admitted,
            unchanged: enqueued.unchanged,
            stale: enqueued.stale,
            refused,
            total: enqueued.total() + refused,
        }
    }
}
