//! The heartbeat: says every few seconds that this relay lives, on a task of its own.
//!
//! When it last could is what the relay's right to send rests on. The time is taken before the database is asked, so
//! that the relay never believes in its leases longer than the others do.

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
    /// Counts the good heartbeats.
    pub beats: u64,
}

impl Vitals {
    /// Before the first heartbeat: nothing may be sent.
    pub fn none() -> Self {
        Self {
            leased_until: Duration::ZERO,
            live: Vec::new(),
            beats: 0,
        }
    }

    /// Whether a request that begins at `now` and takes up to `timeout` ends before the lease can.
    pub fn outlives(&self, now: Duration, timeout: Duration) -> bool {
        now.saturating_add(timeout) <= self.leased_until
    }
}

/// Beats until `stop`; publishes what each good beat says.
pub(super) async fn beat_until(context: Context, vitals: watch::Sender<Vitals>, stop: CancellationToken) {
    let ttl = context.limits.lease_ttl;
    loop {
        let asked_at = context.clock.monotonic();
        let pause = match context.store.beat(&context.relay, ttl).await {
            Ok(beat) => {
                let leased_until = (asked_at + ttl).saturating_sub(MARGIN.min(ttl / 4));
                vitals.send_modify(|vitals| {
                    *vitals = Vitals {
                        leased_until,
                        live: beat.live,
                        beats: vitals.beats + 1,
                    };
                });
                context.limits.heartbeat
            }
            Err(error) => {
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
