//! The relay: leases, dispatchers, and the supervisor that owns them.
//!
//! ```text
//!  supervisor ──┬── heartbeat          says every few seconds that this relay lives; when it last could is its right
//!               │                      to send (`Vitals`)
//!               ├── dispatcher (one for each leased shard of a destination)
//!               │      read ─▶ queue ─▶ attempts on record ─▶ send ─▶ decide ─▶ settle
//!               └── housekeeper        owns the shard of what has no route: routes it, runs replays
//! ```
//!
//! Decisions stand in `core`; statements in `store`; this floor only joins them and owns the tasks.

pub mod assemble;
pub mod balance;
pub mod dispatcher;
mod heartbeat;
mod housekeeping;
mod reconnect;
mod supervisor;
mod takeover;
mod wakeup;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::clock::Clock;
use crate::config::RelayConfig;
use crate::core::policy::Policy;
use crate::core::queue::OrderMode;
use crate::destination::Destination;
use crate::store::{RelayId, Store};

pub use heartbeat::Vitals;
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
    /// Where the jitter of retries begins.
    pub seed: u64,
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
    /// How long a request may take.
    pub timeout: Duration,
}

/// The destinations of a configuration, by name.
pub type Destinations = BTreeMap<Arc<str>, Arc<Active>>;
