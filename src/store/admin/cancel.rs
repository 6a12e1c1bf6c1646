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

use std::collections::BTreeMap;
use std::time::Duration;

use super::act::Act;
use super::deliveries::Delivery;
use super::filter::Selection;
use super::walk::{Direction, Walk};
use super::{AdminError, AdminStore};
use crate::core::delivery::State;
use crate::store::database::{Args, Transaction, only, sql};
use crate::store::{StoreError, leases, pauses};

/// Deliveries that one transaction cancels at most.
const STEP: u32 = 1_000;

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
    /// Cancels what is selected. Many deliveries take several transactions, each with its line in the audit.
    pub async fn cancel(&self, selection: &Selection, act: &Act) -> Result<Cancelled, AdminError> {
        selection.check()?;
        let mut total = Cancelled::default();
        let mut walk = Walk::start(&self.database, selection, Direction::Up, None).await?;
        loop {
            let step = walk.step(STEP).await?;
            for (destination, deliveries) in by_destination(step.deliveries) {
                total.add(self.cancel_some(destination, deliveries, act.clone()).await?);
            }
            if !step.more {
                return Ok(total);
            }
        }
    }

    async fn cancel_some(
        &self,
        destination: String,
        deliveries: Vec<Delivery>,
        act: Act,
    ) -> Result<Cancelled, StoreError> {
        let ids = |wanted: State| -> Vec<i64> {
            let of_state = deliveries.iter().filter(|delivery| delivery.state == wanted);
            of_state.map(|delivery| delivery.id.outbox_id).collect()
        };
        let (pending, uncertain) = (ids(State::Pending), ids(State::Uncertain));
        let total = deliveries.len() as u64;
        if pending.is_empty() && uncertain.is_empty() {
            return Ok(Cancelled {
                left_alone: total,
                ..Cancelled::default()
            });
        }
        let lease_ttl = self.lease_ttl;
        self.database
            .write(move |transaction| {
                Box::pin(async move {
                    let mut done = Cancelled::default();
                    if !pending.is_empty() {
                        done = cancel_pending(transaction, &destination, &pending, lease_ttl).await?;
                    }
                    if !uncertain.is_empty() {
                        let args = Args::new().text(&destination).ints(&uncertain);
                        done.cancelled += transaction.execute(sql!("cancel_uncertain"), args).await?;
                    }
                    let changed = done.cancelled + done.requested;
                    done.left_alone = total.saturating_sub(changed);
                    if changed > 0 {
                        let subject = subject(&destination, &pending, &uncertain);
                        pauses::audit(transaction, act.actor(), "cancel", &subject, Some(act.reason()))
                            .await?;
                    }
                    Ok(done)
                })
            })
            .await
    }
}

impl Cancelled {
    fn add(&mut self, more: Self) {
        self.cancelled += more.cancelled;
        self.requested += more.requested;
        self.left_alone += more.left_alone;
    }
}

fn by_destination(deliveries: Vec<Delivery>) -> BTreeMap<String, Vec<Delivery>> {
    let mut groups: BTreeMap<String, Vec<Delivery>> = BTreeMap::new();
    for delivery in deliveries {
        groups
            .entry(delivery.id.destination.clone())
            .or_default()
            .push(delivery);
    }
    groups
}

async fn cancel_pending(
    transaction: &mut Transaction,
    destination: &str,
    ids: &[i64],
    lease_ttl: Duration,
) -> Result<Cancelled, StoreError> {
    let mut done = Cancelled::default();
    if has_no_owner(transaction, destination, lease_ttl).await? {
        let args = Args::new().text(destination).ints(ids);
        done.cancelled = only(transaction.rows(sql!("cancel_owed"), args).await?)?.int("cancelled")?;
    }
    // What is left, somebody else will end.
    let args = Args::new().text(destination).ints(ids);
    done.requested = transaction.execute(sql!("request_cancel"), args).await?;
    Ok(done)
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

/// What the audit says was cancelled.
fn subject(destination: &str, pending: &[i64], uncertain: &[i64]) -> String {
    let ids = || pending.iter().chain(uncertain);
    match (ids().min(), ids().max()) {
        (Some(first), Some(last)) if first != last => {
            format!(
                "{} deliveries to {destination}, outbox ids {first} to {last}",
                ids().count()
            )
        }
        (first, _) => format!("delivery {} to {destination}", first.copied().unwrap_or_default()),
    }
}
