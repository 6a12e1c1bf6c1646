//! Cancelling: a person ends deliveries that are owed, or that wait as uncertain.
//!
//! Whoever dispatches a delivery also ends it, or it could be sent after its end:
//!
//! ```text
//!  a live relay holds a lease of the destination ──▶ requested: the relay ends it at its next look, or its next settle
//!  none does, and none can get one meanwhile ──────▶ cancelled at once; but what a dead relay left in flight is
//!                                                    requested: the next owner puts the attempt on record and ends it
//!  uncertain ──────────────────────────────────────▶ cancelled at once
//! ```

use std::time::Duration;

use super::by_hand::{Counts, Deed, How};
use super::filter::Selection;
use super::on_record::{Changed, outbox_ids};
use super::{Act, AdminError, AdminStore};
use crate::store::database::{Args, Transaction, only, sql};
use crate::store::{StoreError, leases};

/// What became of the deliveries that a cancel selected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
pub struct Cancelled {
    /// They have ended.
    pub cancelled: u64,
    /// A relay holds them: they end at its next look or settle, unless that is a success.
    pub requested: u64,
    /// They had ended before.
    pub left_alone: u64,
}

impl AdminStore {
    /// Cancels what is selected. Many deliveries take several transactions; see [`AdminStore::settling`].
    pub async fn cancel(&self, selection: &Selection, act: &Act) -> Result<Cancelled, AdminError> {
        let how = How::Done(act.clone(), None);
        Ok(self.settle_all(selection, Deed::Cancel, how).await?.into())
    }

    /// What [`AdminStore::cancel`] would do. Nothing is written.
    pub async fn would_cancel(&self, selection: &Selection) -> Result<Cancelled, AdminError> {
        let counts = self.settle_all(selection, Deed::Cancel, How::DryRun).await?;
        Ok(counts.into())
    }
}

/// Ends those that are still owed, or has them ended, and those that are still uncertain.
pub(super) async fn cancel(
    transaction: &mut Transaction,
    destination: &str,
    pending: &[i64],
    uncertain: &[i64],
    lease_ttl: Duration,
) -> Result<Changed, StoreError> {
    let mut changed = Changed::default();
    if !pending.is_empty() {
        changed = cancel_pending(transaction, destination, pending, lease_ttl).await?;
    }
    if !uncertain.is_empty() {
        let args = Args::new().text(destination).ints(uncertain);
        let rows = transaction.rows(sql!("cancel_uncertain"), args).await?;
        changed.done.extend(outbox_ids(&rows)?);
    }
    Ok(changed)
}

async fn cancel_pending(
    transaction: &mut Transaction,
    destination: &str,
    ids: &[i64],
    lease_ttl: Duration,
) -> Result<Changed, StoreError> {
    let mut changed = Changed::default();
    let args = || Args::new().text(destination).ints(ids);
    if has_no_owner(transaction, destination, lease_ttl).await? {
        changed.done = outbox_ids(&transaction.rows(sql!("cancel_owed"), args()).await?)?;
    }
    // What is left, somebody else will end.
    changed.requested = outbox_ids(&transaction.rows(sql!("request_cancel"), args()).await?)?;
    Ok(changed)
}

/// Whether no relay that lives holds a lease of the destination. If so, none gets one before the transaction ends.
async fn has_no_owner(
    transaction: &mut Transaction,
    destination: &str,
    lease_ttl: Duration,
) -> Result<bool, StoreError> {
    // The lock that every relay takes before it takes a lease. The owners are looked at after it.
    let args = Args::new().text(destination).int(1);
    transaction.execute(sql!(shared "lock_lease"), args).await?;
    let alive_after = leases::before(leases::now(transaction).await?, lease_ttl);
    let args = Args::new().text(destination).time(alive_after);
    transaction
        .execute(sql!(shared "revoke_dead_leases"), args)
        .await?;
    let rows = transaction
        .rows(sql!(shared "count_owners"), Args::new().text(destination))
        .await?;
    Ok(only(rows)?.int::<i64>("owners")? == 0)
}

impl From<Counts> for Cancelled {
    fn from(counts: Counts) -> Self {
        Self {
            cancelled: counts.done,
            requested: counts.requested,
            left_alone: counts.left_alone,
        }
    }
}
