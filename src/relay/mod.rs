//! The relay: leases, dispatchers, and the supervisor that owns them.
//!
//! ```text
//!  supervisor ──┬── heartbeat          says every few seconds that this relay lives; when it last could is its right
//!               │                      to send (`Vitals`)
//!               ├── dispatcher (one for each leased shard of a destination)
//!               │      read ─▶ queue ─▶ attempts on record ─▶ send ─▶ decide ─▶ settle
//!               ├── tally              adds what was done to the charts, every ten seconds
//!               └── housekeeper        owns the shard of what has no route: routes it, runs replays
//! ```
//!
//! Decisions stand in `core`; statements in `store`; this floor only joins them and owns the tasks.

pub mod assemble;
pub mod balance;
mod database_clock;
pub mod dispatcher;
mod heartbeat;
mod housekeeping;
mod job;
mod leases;
pub mod limits;
pub mod metrics;
mod pace;
pub mod receivers;
mod reconnect;
#[cfg(test)]
mod simulation;
mod supervisor;
mod takeover;
mod tally;
mod wakeup;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use crate::clock::Clock;
use crate::config::{LimitsConfig, RelayConfig};
use crate::core::policy::Policy;
use crate::core::queue::OrderMode;
use crate::core::row::Op;
use crate::destination::Destination;
use crate::store::{RelayId, Store};
use crate::telemetry::traces::Traces;

pub use heartbeat::Vitals;
pub use housekeeping::REPLAY_STEP;
pub use limits::Batch;
pub use limits::host::Host;
pub use metrics::RelayMetrics;
pub use pace::after_replay_step;
pub use supervisor::{Relay, RelayError};
pub use wakeup::Wakeup;

/// What every part of one relay shares.
#[derive(Clone)]
pub struct Context {
    /// This process.
    pub relay: RelayId,
    /// The database.
    pub store: Arc<dyn Store>,
    /// For deadlines.
    pub clock: Arc<dyn Clock>,
    /// Goes into every key.
    pub namespace: Arc<str>,
    /// The relay's own limits.
    pub limits: RelayConfig,
    /// Tells sleeping dispatchers that there may be work.
    pub wakeup: Wakeup,
    /// Numbers that this relay has not used yet.
    pub sequence: Sequence,
    /// Where the jitter of retries begins.
    pub seed: u64,
    /// What it has done, for whoever watches it.
    pub metrics: RelayMetrics,
    /// Where the spans of its attempts go.
    pub traces: Traces,
}

/// Hands out numbers from 1, each once in the life of a relay: they name its dispatches. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Sequence(Arc<AtomicI64>);

impl Sequence {
    /// A number that nobody has been given.
    pub fn next(&self) -> i64 {
        self.0.fetch_add(1, Ordering::Relaxed) + 1
    }
}

/// A destination as the configuration has it now.
#[derive(Clone)]
pub struct Active {
    /// Renders, sends and reads.
    pub destination: Arc<dyn Destination>,
    /// Retries and unknown outcomes.
    pub policy: Policy,
    /// `None`: `latest` for state topics, `ordered` for events.
    pub order: Option<OrderMode>,
    /// Requests in flight at most, per shard.
    pub concurrency: usize,
    /// How many shards it has.
    pub shards: u32,
    /// What is sent at most, beside `concurrency`.
    pub limits: LimitsConfig,
    /// How deliveries are gathered into requests.
    pub batch: Batch,
    /// The host that it shares with others, if the configuration limits that.
    pub host: Option<Arc<Host>>,
    /// How long a request may take.
    pub timeout: Duration,
}

impl Active {
    /// How a delivery of this kind follows others of its row key.
    fn order_of(&self, op: Op) -> OrderMode {
        OrderMode::of(self.order, op)
    }
}

/// The destinations of a configuration, by name.
pub type Destinations = BTreeMap<Arc<str>, Arc<Active>>;
