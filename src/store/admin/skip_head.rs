//! Skipping a head: what stands first of a blocked row key ends, so that the next one goes on.
//!
//! The person names the delivery that does not move and the head that was seen before it. What stands first is found
//! again in the transaction that ends it, and must be that head: a request that is sent twice ends one, and never another.

use std::time::Duration;

use super::action::{Action, actions};
use super::by_hand::Counts;
use super::cancel::{self, Cancelled};
use super::doctor::{Expectations, order_of};
use super::filter::DeliveryId;
use super::on_record::{self, Chosen};
use super::{Act, AdminError, AdminStore, Delivery, delivery};
use crate::core::delivery::{REASONS, State};
use crate::core::queue::OrderMode;
use crate::store::StoreError;
use crate::store::database::{Args, Batch, Row, Transaction, sql};

/// What a person can do with a delivery, and what keeps it from being sent.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
pub struct Options {
    /// What would change something about it now.
    pub actions: Vec<Action>,
    /// The delivery that stands first of its row key and that it waits for; none if it waits for no other.
    pub head: Option<Delivery>,
}

/// What became of the head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
pub struct SkippedHead {
    /// The outbox row whose delivery stood first.
    pub skipped: i64,
    /// What became of it.
    #[serde(flatten)]
    pub cancelled: Cancelled,
}

/// What stands first, as the transaction sees it that ends it.
struct Head {
    id: DeliveryId,
    state: State,
}

/// What the transaction came to.
enum Skip {
    Done(Counts),
    /// Nothing stands before it.
    Free,
    /// Another one does than the one that was named.
    Other(DeliveryId),
}

impl AdminStore {
    /// What a person can do with this delivery as it stands.
    pub async fn options(&self, delivery: &Delivery, expected: &Expectations) -> Result<Options, AdminError> {
        let head = match order_word(delivery, expected) {
            Some(order) if delivery.state == State::Pending => self.head_of(&delivery.id, order).await?,
            _ => None,
        };
        let now = self.now().await?;
        Ok(Options {
            actions: actions(delivery, head.as_ref(), now),
            head,
        })
    }

    /// What stands first of the row key of `blocked` and keeps it from being sent.
    pub async fn head(&self, blocked: &DeliveryId, expected: &Expectations) -> Result<Delivery, AdminError> {
        let delivery = self.one(blocked).await?;
        let order = order_word(&delivery, expected).ok_or_else(|| AdminError::NoOrder(blocked.clone()))?;
        let head = self.head_of(blocked, order).await?;
        head.ok_or_else(|| AdminError::NotBlocked(blocked.clone()))
    }

    /// Cancels the delivery of the outbox row `head`, if that is what stands first of the row key of `blocked` and keeps it from
    /// being sent.
    pub async fn skip_head(
        &self,
        blocked: &DeliveryId,
        head: i64,
        expected: &Expectations,
        act: &Act,
    ) -> Result<SkippedHead, AdminError> {
        let delivery = self.one(blocked).await?;
        let order = order_word(&delivery, expected).ok_or_else(|| AdminError::NoOrder(blocked.clone()))?;
        let (id, act, lease_ttl) = (blocked.clone(), act.clone(), self.lease_ttl);
        let skip = self
            .database
            .write(move |transaction| {
                Box::pin(async move { skip(transaction, &id, order, head, lease_ttl, &act).await })
            })
            .await?;
        match skip {
            Skip::Done(Counts { done, requested, .. }) => Ok(SkippedHead {
                skipped: head,
                cancelled: Cancelled {
                    cancelled: done,
                    requested,
                    // It ended by itself after it was seen.
                    left_alone: 1_u64.saturating_sub(done + requested),
                },
            }),
            Skip::Free => Err(AdminError::NotBlocked(blocked.clone())),
            Skip::Other(first) => Err(AdminError::OtherHead {
                blocked: blocked.clone(),
                named: head,
                first: first.outbox_id,
            }),
        }
    }

    async fn head_of(&self, blocked: &DeliveryId, order: &str) -> Result<Option<Delivery>, StoreError> {
        let rows = self
            .database
            .read(sql!("head_before"), args(blocked, order))
            .await?;
        let Some(head) = rows.first().map(Head::read).transpose()? else {
            return Ok(None);
        };
        Ok(delivery::by_id(&self.database, &[head.id]).await?.pop())
    }

    /// The delivery with this id as lists show it.
    async fn one(&self, id: &DeliveryId) -> Result<Delivery, AdminError> {
        let found = delivery::by_id(&self.database, std::slice::from_ref(id)).await?;
        let unknown = || AdminError::UnknownDelivery(id.clone());
        found.into_iter().next().ok_or_else(unknown)
    }
}

impl Head {
    fn read(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            id: super::walk::id(row)?,
            state: row.word("state")?,
        })
    }
}

/// Ends the head, if it is what stands first.
async fn skip(
    transaction: &mut Transaction,
    blocked: &DeliveryId,
    order: &str,
    head: i64,
    lease_ttl: Duration,
    act: &Act,
) -> Result<Skip, StoreError> {
    let rows = transaction
        .rows(sql!("head_before"), args(blocked, order))
        .await?;
    let Some(first) = rows.first().map(Head::read).transpose()? else {
        return Ok(Skip::Free);
    };
    if first.id.outbox_id != head {
        return Ok(Skip::Other(first.id));
    }
    let (pending, uncertain) = match first.state {
        State::Pending => (vec![head], vec![]),
        _ => (vec![], vec![head]),
    };
    let to = &blocked.destination;
    let changed = cancel::cancel(transaction, to, &pending, &uncertain, lease_ttl).await?;
    let entry = on_record::entry(to, &changed, Chosen::Before(blocked), None);
    on_record::write(transaction, Action::SkipHead, entry, act).await?;
    Ok(Skip::Done(changed.counts()))
}

/// How the delivery follows others of its row key, as `head_before` wants it; none where it follows no other.
fn order_word(delivery: &Delivery, expected: &Expectations) -> Option<&'static str> {
    match order_of(expected, &delivery.id.destination, delivery.op) {
        OrderMode::Ordered => Some("ordered"),
        OrderMode::Latest => Some("latest"),
        OrderMode::Independent => None,
    }
}

fn args(blocked: &DeliveryId, order: &str) -> Args {
    let uncertain = REASONS
        .into_iter()
        .filter(|(_, state)| *state == State::Uncertain);
    let reasons = uncertain.map(|(reason, _)| reason.as_str());
    Args::new()
        .int(blocked.outbox_id)
        .text(&blocked.destination)
        .text(order)
        .batch(Batch::new().words("reason", reasons))
}
