//! The heartbeat: says every few seconds that this relay lives, on a task of its own.
//!
//! When it last could is what the relay's right to send rests on. The time is taken before the database is asked, so
//! that the relay never believes in its leases longer than the others do.
//!
//! A relay that was silent for too long, because it stood still or its database was away, can have lost its leases and
//! not know it. So good beats without a gap between them make a *term*, and the right to send ends with the term in which
//! the lease was taken: a relay that wakes up late must not send, on the strength of its next beat, what it had ready.
//!
//! Two clocks must agree on how long a time to live is, within `MARGIN`: the relay's monotonic one and the database's.
//! A database whose clock is set forward by more than that ends leases early.

use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::Context;
use crate::store::RelayId;

/// How far the clocks of two machines may run apart within a lease's time to live.
const MARGIN: Duration = Duration::from_secs(1);

/// What the last good heartbeat says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vitals {
    /// Until when (monotonic) nobody else may take this relay's leases.
    pub leased_until: Duration,
    /// The relays that live, in ascending order.
    pub live: Vec<RelayId>,
    /// Counts the gaps between good heartbeats in which a lease could have been lost.
    pub term: u64,
}

impl Vitals {
    /// Before the first heartbeat: nothing may be sent.
    pub fn none() -> Self {
        Self {
            leased_until: Duration::ZERO,
            live: Vec::new(),
            term: 0,
        }
    }

    /// After a further good heartbeat: asked for and answered at these times (monotonic), it says who lives.
    #[must_use]
    pub fn beaten(
        &self,
        asked_at: Duration,
        answered_at: Duration,
        ttl: Duration,
        live: Vec<RelayId>,
    ) -> Self {
        let gap = answered_at > self.leased_until;
        Self {
            leased_until: (asked_at + ttl).saturating_sub(MARGIN.min(ttl / 4)),
            live,
            term: self.term + u64::from(gap),
        }
    }

    /// Whether a request that begins at `now` and takes up to `timeout` ends before the lease can.
    pub fn outlives(&self, now: Duration, timeout: Duration) -> bool {
        now.saturating_add(timeout) <= self.leased_until
    }
}

/// The right to send under leases that were taken in one term.
#[derive(Debug, Clone)]
pub(super) struct Tenure {
    vitals: watch::Receiver<Vitals>,
    term: u64,
}

impl Tenure {
    /// In the term that runs now. Taken before the leases are asked for.
    pub(super) fn now(vitals: &watch::Sender<Vitals>) -> Self {
        let vitals = vitals.subscribe();
        let term = vitals.borrow().term;
        Self { vitals, term }
    }

    /// Whether the term has ended: the leases may be another's.
    pub(super) fn is_over(&self) -> bool {
        self.vitals.borrow().term != self.term
    }

    /// Whether a request that begins at `now` and takes up to `timeout` ends before the lease can.
    pub(super) fn outlives(&self, now: Duration, timeout: Duration) -> bool {
        let vitals = self.vitals.borrow();
        vitals.term == self.term && vitals.outlives(now, timeout)
    }

    /// Waits for the next good heartbeat.
    pub(super) async fn changed(&mut self) -> Result<(), watch::error::RecvError> {
        self.vitals.changed().await
    }
}

/// Beats until `stop`; publishes what each good beat says.
pub(super) async fn beat_until(context: Context, vitals: watch::Sender<Vitals>, stop: CancellationToken) {
    let ttl = context.limits.lease_ttl;
    loop {
        let asked_at = context.clock.monotonic();
        let pause = match context.store.beat(&context.relay, ttl).await {
            Ok(beat) => {
                let answered_at = context.clock.monotonic();
                vitals.send_modify(|vitals| *vitals = vitals.beaten(asked_at, answered_at, ttl, beat.live));
                context.limits.heartbeat
            }
            Err(error) => {
                context.metrics.pulse().heartbeat_failures.inc();
                tracing::warn!(%error, "the heartbeat failed; nothing is sent beyond the lease");
                context.limits.heartbeat / 5
            }
        };
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(pause) => {}
        }
    }
}
