//! From a configuration to what a relay is made of: the database's options, destinations with the hosts that they share,
//! and the shared context.
//!
//! The one place that joins them, for the daemon, the demo, tests and benchmarks. Nothing is started here.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{Active, Batch, Context, Destinations, Host, RelayMetrics, Sequence, Wakeup, reconnect};
use crate::clock::Clock;
use crate::config::{Config, CrmConfig, DatabaseConfig, DestinationConfig, ReceiverConfig};
use crate::destination::Destination;
use crate::destination::client::ClientError;
use crate::destination::hubspot::HubSpot;
use crate::destination::salesforce::{Salesforce, SalesforceError};
use crate::destination::webhook::{Webhook, WebhookError};
use crate::store::{Applied, DatabaseOptions, Plan, RelayId, Route, SqlStore, Store, StoreError};
use crate::telemetry::traces::Traces;

/// A destination that cannot be made, though its configuration could be read.
#[derive(Debug, thiserror::Error)]
#[error("destination `{name}`: {source}")]
pub struct AssembleError {
    /// The destination.
    pub name: String,
    /// What is wrong with it.
    pub source: UnusableDestination,
}

/// Why a destination cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum UnusableDestination {
    /// A webhook.
    #[error(transparent)]
    Webhook(#[from] WebhookError),
    /// A Salesforce org.
    #[error(transparent)]
    Salesforce(#[from] SalesforceError),
    /// A CRM: its URL, proxy or TLS.
    #[error(transparent)]
    Client(#[from] ClientError),
}

/// How much longer than a statement may run its answer is waited for.
const TO_BE_HEARD: Duration = Duration::from_secs(5);

/// How the database is reached.
pub fn database_options(config: &DatabaseConfig) -> DatabaseOptions {
    DatabaseOptions {
        max_connections: config.max_connections,
        statement_timeout: config.statement_timeout,
        pooler: config.pooler,
        answer_timeout: config.statement_timeout + TO_BE_HEARD,
        ..DatabaseOptions::default()
    }
}

/// Every destination of `config`, ready to send.
pub fn destinations(config: &Config, clock: &Arc<dyn Clock>) -> Result<Destinations, AssembleError> {
    let hosts = hosts(&Destinations::new(), config, clock);
    let make = |(name, config): (&String, &DestinationConfig)| {
        Ok((
            Arc::from(name.as_str()),
            Arc::new(active(name, config, &hosts, clock)?),
        ))
    };
    config.destinations.iter().map(make).collect()
}

/// The hosts that `config` limits, by name; those that are in use go on with what they have let through.
fn hosts(running: &Destinations, config: &Config, clock: &Arc<dyn Clock>) -> BTreeMap<String, Arc<Host>> {
    let in_use: BTreeMap<&str, &Arc<Host>> = running
        .values()
        .filter_map(|active| active.host.as_ref())
        .map(|host| (host.name(), host))
        .collect();
    let host = |(name, config): (&String, _)| {
        let host = in_use.get(name.as_str()).map_or_else(
            || Arc::new(Host::new(name, config)),
            |host| {
                host.retune(config, clock.monotonic());
                Arc::clone(host)
            },
        );
        (name.clone(), host)
    };
    config.hosts.iter().map(host).collect()
}

/// The destinations of `new`; those that `old` has alike keep their connections.
pub fn changed_destinations(
    running: &Destinations,
    old: &Config,
    new: &Config,
    clock: &Arc<dyn Clock>,
) -> Result<Destinations, AssembleError> {
    let hosts = hosts(running, new, clock);
    let mut changed = Destinations::new();
    for (name, config) in &new.destinations {
        let same = old.destinations.get(name).is_some_and(|old| !old.differs(config));
        let active = match running.get(name.as_str()) {
            Some(active) if same => at_host(active, hosts.get(config.receiver.host())),
            _ => Arc::new(active(name, config, &hosts, clock)?),
        };
        changed.insert(Arc::from(name.as_str()), active);
    }
    Ok(changed)
}

/// The same destination, with its connections, at a host that may be limited otherwise by now.
fn at_host(active: &Arc<Active>, host: Option<&Arc<Host>>) -> Arc<Active> {
    if active.host.as_ref().map(Arc::as_ptr) == host.map(Arc::as_ptr) {
        return Arc::clone(active);
    }
    Arc::new(Active {
        host: host.cloned(),
        ..Active::clone(active)
    })
}

fn active(
    name: &str,
    config: &DestinationConfig,
    hosts: &BTreeMap<String, Arc<Host>>,
    clock: &Arc<dyn Clock>,
) -> Result<Active, AssembleError> {
    let (destination, batch, timeout) = receiver(name, config, clock).map_err(|source| AssembleError {
        name: name.to_owned(),
        source,
    })?;
    Ok(Active {
        destination,
        policy: config.policy.clone(),
        order: config.order,
        concurrency: usize::try_from(config.concurrency).unwrap_or(usize::MAX),
        shards: config.shards,
        limits: config.limits.clone(),
        batch,
        host: hosts.get(config.receiver.host()).cloned(),
        timeout,
    })
}

/// What receives the deliveries, how they are gathered for it, and how long one request may take.
fn receiver(
    name: &str,
    config: &DestinationConfig,
    clock: &Arc<dyn Clock>,
) -> Result<(Arc<dyn Destination>, Batch, Duration), UnusableDestination> {
    match &config.receiver {
        ReceiverConfig::Webhook(webhook) => {
            let destination = Webhook::new(name, webhook, Arc::clone(clock))?;
            // A webhook takes one delivery a request.
            Ok((Arc::new(destination), Batch::SINGLE, webhook.timeout))
        }
        ReceiverConfig::Salesforce(salesforce) => {
            let destination = Salesforce::new(name, salesforce, Arc::clone(clock))?;
            let crm = &salesforce.crm;
            Ok((Arc::new(destination), batch(crm), crm.transport.timeout))
        }
        ReceiverConfig::Hubspot(hubspot) => {
            let destination = HubSpot::new(name, hubspot, Arc::clone(clock))?;
            let crm = &hubspot.crm;
            Ok((Arc::new(destination), batch(crm), crm.transport.timeout))
        }
    }
}

fn batch(crm: &CrmConfig) -> Batch {
    Batch {
        size: usize::try_from(crm.batch_size).unwrap_or(usize::MAX),
        wait: crm.batch_wait,
    }
}

/// What every part of a new relay shares. Its jitter follows from its id; nobody watches it, and it sends no traces.
pub async fn context(
    relay: RelayId,
    store: Arc<dyn Store>,
    config: &Config,
    clock: Arc<dyn Clock>,
) -> Result<Context, StoreError> {
    let namespace = match &config.database.namespace {
        Some(namespace) => namespace.clone(),
        None => store.namespace().await?,
    };
    Ok(Context {
        relay,
        store,
        clock,
        namespace: namespace.into(),
        limits: config.relay.clone(),
        wakeup: Wakeup::new(),
        sequence: Sequence::default(),
        seed: relay.0.as_u64_pair().0,
        metrics: RelayMetrics::new(),
        traces: Traces::off(),
    })
}

/// What `config` says about the database: topics, routes, limits.
pub fn plan(config: &Config) -> Plan {
    let topics = config.topics.iter();
    let routes = config.destinations.iter().flat_map(|(destination, config)| {
        config.topics.iter().map(|topic| Route {
            topic: topic.clone(),
            destination: destination.clone(),
        })
    });
    Plan {
        topics: topics.map(|(name, topic)| (name.clone(), topic.kind)).collect(),
        routes: routes.collect(),
        max_payload_bytes: config.database.max_payload_bytes,
        namespace: config.database.namespace.clone(),
    }
}

/// Waits until the database answers and has the right schema, saying each time why not, and applies the plan.
/// `None` if `abort` was cancelled first.
pub async fn prepare(
    store: &SqlStore,
    plan: &Plan,
    abort: &CancellationToken,
) -> Option<Result<Applied, StoreError>> {
    reconnect::retrying("start", abort, || async {
        store.database().check().await?;
        store.apply(plan.clone()).await
    })
    .await
}
