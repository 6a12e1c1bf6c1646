//! Settling by hand: what a person decides about many deliveries at once, step by step, each step with its line in the
//! audit.
//!
//! The walk is the same for every deed. What is done within a step stands in `cancel`, `retry_now` and `mark_delivered`; a dry
//! run takes the same walk, and works out from what it reads what each step would do.

use std::collections::{BTreeMap, BTreeSet};

use super::deliveries::Delivery;
use super::filter::Selection;
use super::mark_delivered::{self, Evidence};
use super::walk::{Direction, Walk};
use super::{Act, AdminError, AdminStore, cancel, retry_now};
use crate::core::delivery::State;
use crate::core::time::Timestamp;
use crate::store::database::Transaction;
use crate::store::{StoreError, leases, pauses};

/// Deliveries that one transaction changes at most.
const STEP: u32 = 1_000;

/// What a person does with deliveries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Deed {
    /// Ends them.
    Cancel,
    /// Ends what stands first of a row key.
    SkipHead,
    /// Has them sent at once.
    RetryNow,
    /// Says that the receiver took them.
    MarkDelivered,
}

/// How many deliveries met what.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Met {
    /// It was done.
    pub(super) done: u64,
    /// A relay that holds them is asked to do it.
    pub(super) requested: u64,
    /// It does not apply to them.
    pub(super) left_alone: u64,
}

/// Outbox ids of deliveries of a step to one destination, by what they are.
struct Chosen {
    destination: String,
    pending: Vec<i64>,
    settled: Vec<i64>,
    total: u64,
}

impl AdminStore {
    /// Does it to what is selected. Many deliveries take several transactions, each with its line in the audit.
    pub(super) async fn settle_by_hand(
        &self,
        selection: &Selection,
        deed: Deed,
        evidence: Option<&Evidence>,
        act: &Act,
    ) -> Result<Met, AdminError> {
        selection.check()?;
        let mut total = Met::default();
        let mut walk = Walk::start(&self.database, selection, Direction::Up, None).await?;
        loop {
            let now = self.now().await?;
            let step = walk.step(STEP).await?;
            for (destination, deliveries) in by_destination(step.deliveries) {
                let chosen = Chosen::of(destination, &deliveries, deed, now);
                total.add(
                    self.settle_chosen(chosen, deed, evidence.cloned(), act.clone())
                        .await?,
                );
            }
            if !step.more {
                return Ok(total);
            }
        }
    }

    /// What that would do now. Nothing is written.
    pub(super) async fn would_settle(&self, selection: &Selection, deed: Deed) -> Result<Met, AdminError> {
        selection.check()?;
        let owned = self.owned_destinations().await?;
        let mut total = Met::default();
        let mut walk = Walk::start(&self.database, selection, Direction::Up, None).await?;
        loop {
            let now = self.now().await?;
            let step = walk.step(STEP).await?;
            for (destination, deliveries) in by_destination(step.deliveries) {
                let chosen = Chosen::of(destination, &deliveries, deed, now);
                let asks =
                    matches!(deed, Deed::Cancel | Deed::SkipHead) && owned.contains(&chosen.destination);
                let (pending, settled) = (chosen.pending.len() as u64, chosen.settled.len() as u64);
                let (done, requested) = if asks {
                    (settled, pending)
                } else {
                    (settled + pending, 0)
                };
                total.add(Met {
                    done,
                    requested,
                    left_alone: chosen.total - done - requested,
                });
            }
            if !step.more {
                return Ok(total);
            }
        }
    }

    async fn settle_chosen(
        &self,
        chosen: Chosen,
        deed: Deed,
        evidence: Option<Evidence>,
        act: Act,
    ) -> Result<Met, StoreError> {
        if chosen.pending.is_empty() && chosen.settled.is_empty() {
            return Ok(Met {
                left_alone: chosen.total,
                ..Met::default()
            });
        }
        let lease_ttl = self.lease_ttl;
        self.database
            .write(move |transaction| {
                Box::pin(async move {
                    let Chosen {
                        destination,
                        pending,
                        settled,
                        total,
                    } = &chosen;
                    let mut met = match deed {
                        Deed::Cancel | Deed::SkipHead => {
                            cancel::cancel(transaction, destination, pending, settled, lease_ttl).await?
                        }
                        Deed::RetryNow => retry_now::hurry(transaction, destination, pending).await?,
                        Deed::MarkDelivered => {
                            mark_delivered::mark(transaction, destination, settled).await?
                        }
                    };
                    let changed = met.done + met.requested;
                    met.left_alone = total.saturating_sub(changed);
                    if changed > 0 {
                        audit(transaction, &chosen, deed, evidence.as_ref(), &act).await?;
                    }
                    Ok(met)
                })
            })
            .await
    }

    /// Destinations that a relay dispatches which lives.
    async fn owned_destinations(&self) -> Result<BTreeSet<String>, StoreError> {
        let leases = leases::all(&self.database, self.lease_ttl).await?;
        let owned = leases.into_iter().filter(|lease| lease.live_owner.is_some());
        Ok(owned.map(|lease| lease.shard.destination.to_string()).collect())
    }
}

impl Chosen {
    /// Those that the deed applies to.
    fn of(destination: String, deliveries: &[Delivery], deed: Deed, now: Timestamp) -> Self {
        let ids = |applies: &dyn Fn(&Delivery) -> bool| -> Vec<i64> {
            let chosen = deliveries.iter().filter(|delivery| applies(delivery));
            chosen.map(|delivery| delivery.id.outbox_id).collect()
        };
        let (pending, settled) = match deed {
            Deed::Cancel | Deed::SkipHead => (
                ids(&|delivery| delivery.state == State::Pending),
                ids(&|delivery| delivery.state == State::Uncertain),
            ),
            Deed::RetryNow => (
                ids(&|delivery| delivery.due_at.is_some_and(|due| due > now)),
                vec![],
            ),
            Deed::MarkDelivered => (
                vec![],
                ids(&|delivery| matches!(delivery.state, State::Dead | State::Uncertain)),
            ),
        };
        Self {
            destination,
            pending,
            settled,
            total: deliveries.len() as u64,
        }
    }

    /// What the audit says was changed.
    fn subject(&self) -> String {
        let ids = || self.pending.iter().chain(&self.settled);
        match (ids().min(), ids().max()) {
            (Some(first), Some(last)) if first != last => format!(
                "{} deliveries to {}, outbox ids {first} to {last}",
                ids().count(),
                self.destination
            ),
            (first, _) => format!(
                "delivery {} to {}",
                first.copied().unwrap_or_default(),
                self.destination
            ),
        }
    }
}

impl Met {
    fn add(&mut self, more: Self) {
        self.done += more.done;
        self.requested += more.requested;
        self.left_alone += more.left_alone;
    }
}

async fn audit(
    transaction: &mut Transaction,
    chosen: &Chosen,
    deed: Deed,
    evidence: Option<&Evidence>,
    act: &Act,
) -> Result<(), StoreError> {
    let action = match deed {
        Deed::Cancel => "cancel",
        Deed::SkipHead => "skip-head",
        Deed::RetryNow => "retry-now",
        Deed::MarkDelivered => "mark-delivered",
    };
    let detail = evidence.map(Evidence::as_str);
    let subject = chosen.subject();
    pauses::audit_with(
        transaction,
        act.actor(),
        action,
        &subject,
        Some(act.reason()),
        detail,
    )
    .await
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
