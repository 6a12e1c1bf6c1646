//! The destinations of a configuration for whoever looks at them or tries them out, beside the relay that sends.
//!
//! The daemon hands out the very destinations that its relay sends with, so that a token is bought once and a connection is
//! shared. What is asked for here goes by none of the relay's limits: a person asks, for one request at a time.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::dispatcher::as_sent::as_sent;
use super::dispatcher::preview::{Outlook, outlook};
use super::{Active, Destinations};
use crate::clock::{Clock, SystemClock};
use crate::config::{Config, DestinationConfig, ReceiverConfig};
use crate::destination::preview::{Sketch, shown_url};
use crate::destination::trial::{self, Tried};
use crate::store::admin::{AdminError, AdminStore, DeliveryId, Expectations, Expected};
use crate::store::{SqlStore, Store as _, StoreError};

/// The destinations of a configuration.
#[derive(Clone)]
pub struct Receivers {
    destinations: Destinations,
    described: BTreeMap<String, Description>,
    expected: Expectations,
    /// The namespace of the configuration; none: the database's own.
    namespace: Option<String>,
    clock: Arc<dyn Clock>,
}

/// What the configuration says of a destination, without secrets.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Description {
    /// `webhook`, `salesforce` or `hubspot`.
    pub kind: &'static str,
    /// Where requests go, or where one logs in; a webhook's without its path, which can be a secret.
    pub url: String,
    /// What is sent there at most, and for how long it is tried.
    pub limits: DescribedLimits,
}

/// What is sent to a destination at most, and for how long it is tried.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct DescribedLimits {
    /// Requests in flight at most, per shard.
    pub concurrency: u32,
    /// How many relays at most dispatch it at a time.
    pub shards: u32,
    /// Requests a second, of all shards together; none: as many as there are.
    pub requests_per_second: Option<f64>,
    /// Deliveries of one request at most.
    pub batch_size: u64,
    /// Payload bytes of the requests in flight, per shard.
    pub max_in_flight_bytes: u32,
    /// How long a request may take.
    pub timeout_seconds: f64,
    /// Attempts that count, at most.
    pub max_attempts: u32,
    /// A delivery that has been owed for so long is dead at its next failure.
    pub max_age_seconds: f64,
    /// Whether a receiver that fails throughout is left alone for a while.
    pub breaker: bool,
    /// While it is open, one delivery looks so often whether the receiver is back; none without a breaker.
    pub breaker_open_seconds: Option<f64>,
}

/// What a trial came to, and how long it took.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Trial {
    /// What was found.
    #[serde(flatten)]
    pub tried: Tried,
    /// From the first byte out to the last byte in, logins included.
    pub duration_us: u64,
}

/// What a configuration says of its destinations, as far as words about deliveries depend on it.
pub fn expectations(config: &Config) -> Expectations {
    let each = config.destinations.iter().map(|(name, config)| {
        let expected = Expected {
            order: config.order,
            retry: config.policy.retry.clone(),
            looks_every: config.limits.breaker.map(|breaker| breaker.open_for),
        };
        (name.clone(), expected)
    });
    each.collect()
}

impl Receivers {
    /// The destinations of `config`, which were made of it before.
    pub fn of(config: &Config, destinations: &Destinations, clock: &Arc<dyn Clock>) -> Self {
        let described = config.destinations.iter().filter_map(|(name, config)| {
            let active = destinations.get(name.as_str())?;
            Some((name.clone(), Description::of(config, active)))
        });
        Self {
            destinations: destinations.clone(),
            described: described.collect(),
            expected: expectations(config),
            namespace: config.database.namespace.clone(),
            clock: Arc::clone(clock),
        }
    }

    /// What words about deliveries depend on.
    pub fn expected(&self) -> &Expectations {
        &self.expected
    }

    /// What the configuration says of a destination, if it has it.
    pub fn description(&self, name: &str) -> Option<&Description> {
        self.described.get(name)
    }

    /// A destination that the configuration has.
    pub fn active(&self, name: &str) -> Result<&Active, AdminError> {
        let found = self.destinations.get(name);
        found.map(Arc::as_ref).ok_or_else(|| AdminError::NotConfigured {
            name: name.to_owned(),
            known: self.destinations.keys().map(ToString::to_string).collect(),
        })
    }

    /// Every destination, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Active)> {
        let each = self.destinations.iter();
        each.map(|(name, active)| (name.as_ref(), active.as_ref()))
    }

    /// What the next `most` owed deliveries of a destination would send.
    pub async fn preview(&self, store: &AdminStore, name: &str, most: usize) -> Result<Outlook, AdminError> {
        let (active, namespace) = (self.active(name)?, self.namespace(store).await?);
        let store = SqlStore::new(store.database().clone());
        Ok(outlook(&store, &namespace, name, active, most).await?)
    }

    /// The request of a delivery as it was sent, or would be if it never was.
    pub async fn as_sent(&self, store: &AdminStore, id: &DeliveryId) -> Result<Sketch, AdminError> {
        let sent = store.sent(id, self.namespace.as_deref()).await?;
        let active = self.active(&id.destination)?;
        let store = SqlStore::new(store.database().clone());
        as_sent(&store, active, id, sent).await
    }

    /// Tries a destination out. `id` is random: it makes the key of the ping. Put it on record first: `AdminStore::note_test`.
    pub async fn try_out(&self, store: &AdminStore, name: &str, id: Uuid) -> Result<Trial, AdminError> {
        let active = self.active(name)?;
        let (namespace, now) = (self.namespace(store).await?, store.now().await?);
        let ping = trial::ping(&namespace, name, id, now)
            .map_err(|problem| StoreError::Unexpected(format!("a ping: {problem}")))?;
        let start = self.clock.monotonic();
        let tried = active.destination.try_out(&ping).await;
        let took = self.clock.monotonic().saturating_sub(start);
        Ok(Trial {
            tried,
            duration_us: u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
        })
    }

    async fn namespace(&self, store: &AdminStore) -> Result<String, StoreError> {
        match &self.namespace {
            Some(namespace) => Ok(namespace.clone()),
            None => SqlStore::new(store.database().clone()).namespace().await,
        }
    }
}

impl Default for Receivers {
    /// None.
    fn default() -> Self {
        Self {
            destinations: Destinations::new(),
            described: BTreeMap::new(),
            expected: Expectations::new(),
            namespace: None,
            clock: Arc::new(SystemClock::start()),
        }
    }
}

impl fmt::Debug for Receivers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receivers")
            .field("described", &self.described)
            .finish_non_exhaustive()
    }
}

impl Description {
    fn of(config: &DestinationConfig, active: &Active) -> Self {
        let url = config.receiver.url();
        let (limits, retry) = (&config.limits, &config.policy.retry);
        Self {
            kind: config.receiver.kind(),
            url: match config.receiver {
                ReceiverConfig::Webhook(_) => shown_url(url),
                ReceiverConfig::Salesforce(_) | ReceiverConfig::Hubspot(_) => url.to_string(),
            },
            limits: DescribedLimits {
                concurrency: config.concurrency,
                shards: config.shards,
                requests_per_second: limits
                    .rate
                    .map(|rate| f64::from(rate.requests) / rate.per.as_secs_f64()),
                batch_size: active.batch.size as u64,
                max_in_flight_bytes: limits.max_in_flight_bytes,
                timeout_seconds: active.timeout.as_secs_f64(),
                max_attempts: retry.max_attempts,
                max_age_seconds: retry.max_age.as_secs_f64(),
                breaker: limits.breaker.is_some(),
                breaker_open_seconds: limits.breaker.map(|breaker| breaker.open_for.as_secs_f64()),
            },
        }
    }
}
