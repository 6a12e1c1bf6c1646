//! The supervisor: owns every task of the relay, takes and gives back leases, and ends in order.
//!
//! A task that ends by itself ends the relay with an error. Drain first: begin nothing more, finish what is in flight,
//! hand the leases back. Abort is for when the grace time is over: what was in flight stays on record, and whoever
//! takes the lease next settles it as unknown.
//!
//! The supervisor itself never waits for the database: looking at the leases is a task too, one at a time.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use super::dispatcher::{self, Exit, Stop};
use super::heartbeat::{self, Tenure, Vitals};
use super::leases::{self, Look, Looked};
use super::{Active, Context, Destinations, housekeeping, tally, wakeup};
use crate::config::WakeupMode;
use crate::store::{Lease, Shard, StoreError};

/// What a shutdown keeps of its grace time to hand the leases back in.
const FAREWELL: Duration = Duration::from_secs(1);

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

    /// Begins nothing more, waits for what is in flight, and hands the leases back. Ends within `grace`, of which the last
    /// second is for the leases alone, whether or not the database answers; it may take that second in any case.
    pub async fn shutdown(mut self, grace: Duration) -> Result<(), RelayError> {
        self.stop.drain.cancel();
        let abort = self.stop.abort.clone();
        tokio::select! {
            ended = self.ended() => return ended,
            () = tokio::time::sleep(grace.saturating_sub(FAREWELL)) => abort.cancel(),
        }
        tracing::warn!("the grace time is over; what is in flight stays on record as unsettled");
        if let Ok(ended) = tokio::time::timeout(FAREWELL, self.ended()).await {
            return ended;
        }
        // With this value go all tasks of the relay; a transaction that has begun goes on by itself.
        tracing::warn!("the database does not answer; the leases are not handed back, they expire");
        Ok(())
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
    /// The look at the leases that is under way.
    looking: JoinSet<Looked>,
    /// Something has changed since it began.
    look_again: bool,
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
            looking: JoinSet::new(),
            look_again: false,
        }
    }

    async fn run(mut self) -> Result<(), RelayError> {
        let helpers_stop = CancellationToken::new();
        let mut helpers = self.start_helpers(&helpers_stop);
        let mut vitals = self.vitals.subscribe();
        while !self.stop.drain.is_cancelled() {
            tokio::select! {
                () = self.stop.drain.cancelled() => break,
                Some(helper) = helpers.join_next() => helper??,
                Some(ended) = self.shards.join_next() => self.ended(ended?)?,
                Some(looked) = self.looking.join_next() => self.looked(looked?),
                Ok(()) = vitals.changed() => self.look(),
                Ok(()) = self.destinations.changed() => {
                    self.adopt();
                    self.look();
                }
            }
        }
        self.finish_shards().await?;
        // No beat may come after the farewell: the others would wait for this relay to expire.
        helpers_stop.cancel();
        while let Some(helper) = helpers.join_next().await {
            helper??;
        }
        self.say_goodbye().await;
        Ok(())
    }

    /// The heartbeat goes on until the last lease is handed back.
    fn start_helpers(&self, stop: &CancellationToken) -> JoinSet<Result<(), StoreError>> {
        let mut helpers = JoinSet::new();
        let beat = heartbeat::beat_until(self.context.clone(), self.vitals.clone(), stop.clone());
        helpers.spawn(async move {
            beat.await;
            Ok(())
        });
        helpers.spawn(tally::keep(self.context.clone(), stop.clone()));
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

    /// Begins a look at the leases, or another one after that which is under way.
    fn look(&mut self) {
        if !self.looking.is_empty() {
            self.look_again = true;
            return;
        }
        self.looking.spawn(leases::look(Look {
            context: self.context.clone(),
            tenure: Tenure::now(&self.vitals),
            live: self.vitals.borrow().live.clone(),
            held: self.held.keys().cloned().collect(),
            // One look at the configuration, for the plan and for what follows from it; a change meanwhile comes by
            // `adopt`, and by the look after this one.
            destinations: self.destinations.borrow().clone(),
            drain: self.stop.drain.clone(),
        }));
    }

    /// Starts what was taken, and begins to give back what others are to have.
    fn looked(&mut self, looked: Looked) {
        for shard in &looked.release {
            if let Some(held) = self.held.get(shard) {
                held.drain.cancel();
            }
        }
        for lease in looked.acquired {
            let active = looked.destinations.get(&lease.shard.destination).cloned();
            self.start(lease, active, looked.tenure.clone());
        }
        if std::mem::take(&mut self.look_again) {
            self.adopt();
            self.look();
        }
    }

    /// `active` is none for the shard of what has no route.
    fn start(&mut self, lease: Lease, active: Option<Arc<Active>>, tenure: Tenure) {
        let drain = self.stop.drain.child_token();
        let stop = Stop {
            drain: drain.clone(),
            abort: self.stop.abort.clone(),
        };
        let context = self.context.clone();
        let pulse = context.metrics.pulse();
        pulse.leases_acquired.inc();
        pulse.leases.inc();
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
                self.shards.spawn(async move {
                    let exit =
                        dispatcher::dispatch(context.clone(), lease.clone(), receiver, tenure, stop).await;
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
        let pulse = self.context.metrics.pulse();
        pulse.leases.dec();
        match exit? {
            Exit::LeaseLost => pulse.leases_lost.inc(),
            Exit::Drained | Exit::GraceOver => pulse.leases_released.inc(),
        };
        Ok(())
    }

    /// A look that is under way is left to itself: what it still takes is free as soon as the relay has said goodbye.
    async fn finish_shards(&mut self) -> Result<(), RelayError> {
        self.looking.abort_all();
        while let Some(ended) = self.shards.join_next().await {
            self.ended(ended?)?;
        }
        Ok(())
    }

    async fn say_goodbye(&self) {
        if let Err(error) = self.context.store.leave(&self.context.relay).await {
            tracing::warn!(%error, "could not say goodbye; the heartbeat expires");
        }
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
