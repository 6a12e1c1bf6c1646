//! Settling by hand: what a person decides about many deliveries at once, step by step.
//!
//! A step is one transaction, with a line in the audit for each destination: so it is done and counted, or neither, and
//! whoever goes on from where the last one ended counts each delivery once. The walk is the same for every deed. What is
//! done within a step stands in `cancel`, `retry_now` and `mark_delivered`; a dry run takes the same walk, and works out
//! from what it reads what each step would do.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::AddAssign;
use std::time::Duration;

use super::action::Action;
use super::deliveries::Delivery;
use super::filter::{Cursor, Selection};
use super::mark_delivered::{self, Evidence};
use super::on_record::{self, Changed, Chosen};
use super::walk::{Direction, Walk};
use super::{Act, AdminError, AdminStore, cancel, retry_now};
use crate::core::delivery::State;
use crate::core::time::Timestamp;
use crate::store::database::Transaction;
use crate::store::{StoreError, leases};

/// Deliveries that one step looks at.
const STEP: u32 = 1_000;

/// What a person has done with many deliveries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deed {
    /// Ends them.
    Cancel,
    /// Has them sent at once.
    RetryNow,
    /// Says that the receiver took them.
    MarkDelivered,
}

/// Whether it is done, or only counted.
#[derive(Debug, Clone)]
pub enum How {
    /// Counted: nothing is written.
    DryRun,
    /// Done and on record; with how it is known that the receiver took them, where that is said.
    Done(Act, Option<Evidence>),
}

/// How many deliveries met what.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// It was done.
    pub done: u64,
    /// A relay that holds them is asked to do it.
    pub requested: u64,
    /// It does not apply to them.
    pub left_alone: u64,
}

/// What became of a part of the deliveries that were selected.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
pub struct Part<T> {
    /// How many met what.
    #[serde(flatten)]
    pub counts: T,
    /// Where the next part begins: the same request goes on with it as `after`. None if this was the last.
    pub next: Option<Cursor>,
}

/// A walk over deliveries that are settled by hand.
pub struct Settling<'s> {
    store: &'s AdminStore,
    selection: Selection,
    deed: Deed,
    how: How,
    walk: Walk<'s>,
    looked_at: u64,
    counts: Counts,
    next: Option<Cursor>,
}

/// Deliveries of a step to one destination.
struct Group {
    destination: String,
    /// Owed, and the deed applies to them.
    pending: Vec<i64>,
    /// Settled, and the deed applies to them.
    settled: Vec<i64>,
    total: u64,
}

impl AdminStore {
    /// Begins to settle what is selected, after the delivery `after`, where an earlier part ended. Nothing is done before the
    /// first step.
    pub async fn settling(
        &self,
        selection: &Selection,
        deed: Deed,
        how: How,
        after: Option<Cursor>,
    ) -> Result<Settling<'_>, AdminError> {
        selection.check()?;
        Ok(Settling {
            store: self,
            selection: selection.clone(),
            deed,
            how,
            walk: Walk::start(&self.database, selection, Direction::Up, after.clone()).await?,
            looked_at: 0,
            counts: Counts::default(),
            next: after,
        })
    }

    /// Settles what is selected to its end.
    pub(super) async fn settle_all(
        &self,
        selection: &Selection,
        deed: Deed,
        how: How,
    ) -> Result<Counts, AdminError> {
        let mut settling = self.settling(selection, deed, how, None).await?;
        while settling.step().await? {}
        Ok(settling.counts)
    }

    /// Destinations that a relay dispatches which lives.
    async fn owned_destinations(&self) -> Result<BTreeSet<String>, StoreError> {
        let leases = leases::all(&self.database, self.lease_ttl).await?;
        let owned = leases.into_iter().filter(|lease| lease.live_owner.is_some());
        Ok(owned.map(|lease| lease.shard.destination.to_string()).collect())
    }
}

impl Settling<'_> {
    /// Looks at the next thousand deliveries at most and settles those that the deed applies to. Returns whether there may be
    /// more. After an error nothing of the step is done or counted, and the `next` of [`Settling::part`] leads to it again.
    pub async fn step(&mut self) -> Result<bool, AdminError> {
        let now = self.store.now().await?;
        let step = self.walk.step(STEP).await?;
        let groups: Vec<Group> = by_destination(step.deliveries)
            .into_iter()
            .map(|(destination, deliveries)| Group::of(destination, &deliveries, self.deed, now))
            .collect();
        self.counts += match &self.how {
            How::DryRun => self.would_settle(&groups).await?,
            How::Done(act, evidence) => self.settle(groups, act.clone(), evidence.clone()).await?,
        };
        self.looked_at += step.looked_at as u64;
        self.next = step.more.then(|| self.walk.position());
        Ok(step.more)
    }

    /// How many deliveries have been looked at.
    pub fn looked_at(&self) -> u64 {
        self.looked_at
    }

    /// How many met what so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// What has become of them so far, and where it goes on.
    pub fn part<T: From<Counts>>(self) -> Part<T> {
        Part {
            counts: self.counts.into(),
            next: self.next,
        }
    }

    async fn would_settle(&self, groups: &[Group]) -> Result<Counts, StoreError> {
        let owned = self.store.owned_destinations().await?;
        let mut counts = Counts::default();
        for group in groups {
            let asks = self.deed == Deed::Cancel && owned.contains(&group.destination);
            let (pending, settled) = (group.pending.len() as u64, group.settled.len() as u64);
            let (done, requested) = if asks {
                (settled, pending)
            } else {
                (settled + pending, 0)
            };
            counts += Counts {
                done,
                requested,
                left_alone: group.total - done - requested,
            };
        }
        Ok(counts)
    }

    async fn settle(
        &self,
        groups: Vec<Group>,
        act: Act,
        evidence: Option<Evidence>,
    ) -> Result<Counts, StoreError> {
        let total: u64 = groups.iter().map(|group| group.total).sum();
        if groups.iter().all(Group::is_empty) {
            return Ok(Counts {
                left_alone: total,
                ..Counts::default()
            });
        }
        let (deed, selection, lease_ttl) = (self.deed, self.selection.clone(), self.store.lease_ttl);
        self.store
            .database
            .write(move |transaction| {
                Box::pin(async move {
                    let mut counts = Counts::default();
                    for group in groups.iter().filter(|group| !group.is_empty()) {
                        let changed = deed.apply(transaction, group, lease_ttl).await?;
                        counts += changed.counts();
                        let (to, chosen) = (&group.destination, Chosen::By(&selection));
                        let entry = on_record::entry(to, &changed, chosen, evidence.as_ref());
                        on_record::write(transaction, deed.action(), entry, &act).await?;
                    }
                    counts.left_alone = total.saturating_sub(counts.done + counts.requested);
                    Ok(counts)
                })
            })
            .await
    }
}

impl Deed {
    fn action(self) -> Action {
        match self {
            Self::Cancel => Action::Cancel,
            Self::RetryNow => Action::RetryNow,
            Self::MarkDelivered => Action::MarkDelivered,
        }
    }

    async fn apply(
        self,
        transaction: &mut Transaction,
        group: &Group,
        lease_ttl: Duration,
    ) -> Result<Changed, StoreError> {
        let Group {
            destination,
            pending,
            settled,
            ..
        } = group;
        match self {
            Self::Cancel => cancel::cancel(transaction, destination, pending, settled, lease_ttl).await,
            Self::RetryNow => retry_now::hurry(transaction, destination, pending).await,
            Self::MarkDelivered => mark_delivered::mark(transaction, destination, settled).await,
        }
    }
}

impl Group {
    /// Those that the deed applies to.
    fn of(destination: String, deliveries: &[Delivery], deed: Deed, now: Timestamp) -> Self {
        let applies = |delivery: &&Delivery| deed.action().applies(delivery, None, now);
        let (pending, settled): (Vec<&Delivery>, Vec<&Delivery>) = deliveries
            .iter()
            .filter(applies)
            .partition(|delivery| delivery.state == State::Pending);
        let ids = |chosen: Vec<&Delivery>| chosen.iter().map(|delivery| delivery.id.outbox_id).collect();
        Self {
            destination,
            pending: ids(pending),
            settled: ids(settled),
            total: deliveries.len() as u64,
        }
    }

    fn is_empty(&self) -> bool {
        self.pending.is_empty() && self.settled.is_empty()
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, more: Self) {
        self.done += more.done;
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
