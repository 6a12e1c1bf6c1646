//! The supervisor: owns every task of the relay, takes and gives back leases, and ends in order.
//!
//! A task that ends by itself ends the relay with an error. Drain first: begin nothing more, finish what is in flight,
//! hand the leases back. Abort is for when the grace time is over: what was in flight stays on record, and whoever
//! takes the lease next settles it as unknown.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use super::dispatcher::{self, Exit, Stop};
use super::heartbeat::{self, Vitals};
use super::{Active, Context, Destinations, balance, housekeeping, wakeup};
use crate::config::WakeupMode;
use crate::store::{Lease, Shard, StoreError};

/// Why a relay ended by itself.
#[derive(Debug, thiserror::Error)]
pub enum RelayError {
    /// The database refused what the relay cannot do without, and waiting cannot mend it.
    #[error("the relay cannot go on: {0}")]
    Store(#[from] StoreError),
    /// A task panicked: a bug.
    #[error("a task of the relay failed: {0}")]
    Task(#[from] JoinError),
}

/// A running relay.
pub struct Relay {
    destinations: watch::Sender<Destinations>,
    stop: Stop,
    task: JoinSet<Result<(), RelayError>>,
}

impl Relay {
    /// Starts a relay for `destinations`. It lives until it is drained or aborted, or fails.
    pub fn start(context: Context, destinations: Destinations) -> Self {
        let (sender, receiver) = watch::channel(destinations);
        let abort = CancellationToken::new();
        let stop = Stop {
            drain: abort.child_token(),
            abort,
        };
        let mut task = JoinSet::new();
        task.spawn(Supervisor::new(context, receiver, stop.clone()).run());
        Self {
            destinations: sender,
            stop,
            task,
        }
    }

    /// Takes over a new configuration. Requests in flight finish under the old one.
    pub fn reload(&self, destinations: Destinations) {
        self.destinations.send_replace(destinations);
    }

    /// Resolves when the relay has ended: with an error if it was not asked to.
    pub async fn ended(&mut self) -> Result<(), RelayError> {
        match self.task.join_next().await {
            Some(result) => result?,
            None => Ok(()),
        }
    }

    /// Begins nothing more, waits up to `grace` for what is in flight, and hands the leases back.
    pub async fn shutdown(mut self, grace: Duration) -> Result<(), RelayError> {
        self.stop.drain.cancel();
        let abort = self.stop.abort.clone();
        tokio::select! {
            ended = self.ended() => return ended,
            () = tokio::time::sleep(grace) => abort.cancel(),
        }
        tracing::warn!("the grace time is over; what is in flight stays on record as unsettled");
        self.ended().await
    }

    /// A token that ends the relay at once when it is cancelled.
    pub fn abort_token(&self) -> CancellationToken {
        self.stop.abort.clone()
    }
}

struct Supervisor {
    context: Context,
    destinations: watch::Receiver<Destinations>,
    stop: Stop,
    vitals: watch::Sender<Vitals>,
    held: HashMap<Shard, Held>,
    /// One task per leased shard.
    shards: JoinSet<(Lease, Result<Exit, StoreError>)>,
}

/// A shard that this relay holds.
struct Held {
    /// `None` for what has no route.
    active: Option<watch::Sender<Arc<Active>>>,
    drain: CancellationToken,
}

impl Supervisor {
    fn new(context: Context, destinations: watch::Receiver<Destinations>, stop: Stop) -> Self {
        let vitals = watch::channel(Vitals::none()).0;
        Self {
            context,
            destinations,
            stop,
            vitals,
            held: HashMap::new(),
            shards: JoinSet::new(),
        }
    }

    async fn run(mut self) -> Result<(), RelayError> {
        let helpers_stop = CancellationToken::new();
        let _stop_helpers = helpers_stop.clone().drop_guard();
        let mut helpers = self.start_helpers(&helpers_stop);
        let mut vitals = self.vitals.subscribe();
        while !self.stop.drain.is_cancelled() {
            tokio::select! {
                () = self.stop.drain.cancelled() => break,
                Some(helper) = helpers.join_next() => helper??,
                Some(ended) = self.shards.join_next() => self.ended(ended?)?,
                Ok(()) = vitals.changed() => self.rebalance().await,
                Ok(()) = self.destinations.changed() => {
                    self.adopt();
                    self.rebalance().await;
                }
            }
        }
        self.drain().await
    }

    /// The heartbeat goes on until the last lease is handed back.
    fn start_helpers(&self, stop: &CancellationToken) -> JoinSet<Result<(), StoreError>> {
        let mut helpers = JoinSet::new();
        let beat = heartbeat::beat_until(self.context.clone(), self.vitals.clone(), stop.clone());
        helpers.spawn(async move {
            beat.await;
            Ok(())
        });
        if self.context.limits.wakeup == WakeupMode::Notify {
            helpers.spawn(wakeup::watch_commits(
                self.context.store.clone(),
                self.context.wakeup.clone(),
                self.context.limits.poll_busy,
                stop.clone(),
            ));
        }
        helpers
    }

    /// Hands a changed configuration on to the dispatchers that run already.
    fn adopt(&mut self) {
        let destinations = self.destinations.borrow_and_update();
        for (shard, held) in &self.held {
            if let (Some(sender), Some(active)) = (&held.active, destinations.get(&shard.destination)) {
                sender.send_replace(active.clone());
            }
        }
    }

    /// Takes what is this relay's to take, and starts to give back what is not. Errors wait for the next heartbeat.
    async fn rebalance(&mut self) {
        if let Err(error) = self.try_rebalance().await {
            tracing::warn!(%error, "could not look at the leases; trying again with the next heartbeat");
        }
    }

    async fn try_rebalance(&mut self) -> Result<(), StoreError> {
        // One look at the configuration, for the plan and for what follows from it; a change meanwhile comes by `adopt`.
        let destinations = self.destinations.borrow().clone();
        let ttl = self.context.limits.lease_ttl;
        let live = self.vitals.borrow().live.clone();
        let mut leases = self.context.store.leases(ttl).await?;
        for row in &mut leases {
            // One that the database calls this relay's, but whose task has ended, is to be taken anew.
            row.live_owner
                .take_if(|owner| *owner == self.context.relay && !self.held.contains_key(&row.shard));
        }
        let plan = balance::plan(self.context.relay, &live, &leases, &shards_of(&destinations));
        tracing::debug!(
            live = live.len(),
            acquire = plan.acquire.len(),
            release = plan.release.len(),
            held = self.held.len(),
            "looked at the leases"
        );
        for shard in plan.release {
            if let Some(held) = self.held.get(&shard) {
                held.drain.cancel();
            }
        }
        for shard in plan
            .acquire
            .into_iter()
            .filter(|shard| !self.held.contains_key(shard))
            .collect::<Vec<_>>()
        {
            if let Some(lease) = self
                .context
                .store
                .acquire(&shard, &self.context.relay, ttl)
                .await?
            {
                let active = destinations.get(&lease.shard.destination).cloned();
                self.start(lease, active);
            }
        }
        Ok(())
    }

    /// `active` is none for the shard of what has no route.
    fn start(&mut self, lease: Lease, active: Option<Arc<Active>>) {
        let drain = self.stop.drain.child_token();
        let stop = Stop {
            drain: drain.clone(),
            abort: self.stop.abort.clone(),
        };
        let context = self.context.clone();
        match active {
            None => {
                // The shard of what has no route: nothing is sent from it, it comes with the chores.
                self.held
                    .insert(lease.shard.clone(), Held { active: None, drain });
                self.shards.spawn(async move {
                    let exit = housekeeping::keep_house(context.clone(), stop).await;
                    hand_back(&context, &lease, &exit).await;
                    (lease, exit)
                });
            }
            Some(active) => {
                let (sender, receiver) = watch::channel(active);
                self.held.insert(
                    lease.shard.clone(),
                    Held {
                        active: Some(sender),
                        drain,
                    },
                );
                let vitals = self.vitals.subscribe();
                self.shards.spawn(async move {
                    let exit =
                        dispatcher::dispatch(context.clone(), lease.clone(), receiver, vitals, stop).await;
                    hand_back(&context, &lease, &exit).await;
                    (lease, exit)
                });
            }
        }
    }

    /// A shard's task has ended.
    fn ended(&mut self, ended: (Lease, Result<Exit, StoreError>)) -> Result<(), RelayError> {
        let (lease, exit) = ended;
        self.held.remove(&lease.shard);
        exit?;
        Ok(())
    }

    async fn drain(mut self) -> Result<(), RelayError> {
        while let Some(ended) = self.shards.join_next().await {
            self.ended(ended?)?;
        }
        if let Err(error) = self.context.store.leave(&self.context.relay).await {
            tracing::warn!(%error, "could not say goodbye; the heartbeat expires");
        }
        Ok(())
    }
}

/// Hands the lease of a shard back unless another holds it. In the task of the shard: a database that is away then costs
/// all of them together one wait, and the supervisor none.
async fn hand_back(context: &Context, lease: &Lease, exit: &Result<Exit, StoreError>) {
    if !matches!(exit, Ok(Exit::Drained | Exit::GraceOver)) {
        return;
    }
    if let Err(error) = context.store.release(lease).await {
        tracing::warn!(%error, destination = %lease.shard.destination, "the lease could not be handed back; it expires");
    }
}

/// The shards that a configuration asks for, and that of what has no route.
fn shards_of(destinations: &Destinations) -> BTreeSet<Shard> {
    let shards = destinations.iter().flat_map(|(name, active)| {
        (0..active.shards).map(|number| Shard {
            destination: name.clone(),
            number,
            of: active.shards,
        })
    });
    shards.chain([Shard::unrouted()]).collect()
}
