//! The configuration: parsed into types, all faults reported at once.
//!
//! These types are what the rest of the program sees. Every value has been checked: a [`Config`] that exists is one
//! that can run. Durations, sizes and addresses carry their units in their types; secrets are read and wrapped.

pub mod destination;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use secrecy::SecretString;

use crate::core::row::TopicKind;
pub use destination::{DestinationConfig, OrderMode, ReceiverConfig, WebhookConfig};

/// A whole configuration.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where the outbox is.
    pub database: DatabaseConfig,
    /// The admin HTTP server.
    pub admin: AdminConfig,
    /// The relay's own limits.
    pub relay: RelayConfig,
    /// Logs.
    pub log: LogConfig,
    /// Topics by name. A topic that only a destination names is registered by its first row.
    pub topics: BTreeMap<String, TopicConfig>,
    /// Destinations by name.
    pub destinations: BTreeMap<String, DestinationConfig>,
}

/// `[database]`
#[derive(Debug, Clone)]
pub struct DatabaseConfig {
    /// `sqlite:PATH` or `postgres://…`; may hold a password.
    pub url: SecretString,
    /// Connections at most (PostgreSQL); SQLite has one writer and a few readers.
    pub max_connections: u32,
    /// Goes into every key; random per database where the configuration names none.
    pub namespace: Option<String>,
    /// Bytes of a payload at most, checked in the pipeline's transaction.
    pub max_payload_bytes: u32,
    /// The database ends a statement after so long.
    pub statement_timeout: Duration,
}

/// `[admin]`
#[derive(Debug, Clone)]
pub struct AdminConfig {
    /// Where to listen; `None` switches the server off.
    pub listen: Option<SocketAddr>,
    /// What `Authorization: Bearer` must carry. Without it only `/livez` and `/readyz` answer.
    pub token: Option<SecretString>,
}

/// `[relay]`
#[derive(Debug, Clone)]
pub struct RelayConfig {
    /// How often the relay says that it lives.
    pub heartbeat: Duration,
    /// A relay that has not said so for so long has lost its leases.
    pub lease_ttl: Duration,
    /// The poll interval right after work was found.
    pub poll_busy: Duration,
    /// The poll interval that idleness grows to.
    pub poll_idle: Duration,
    /// How long a shutdown waits for requests in flight.
    pub shutdown_grace: Duration,
    /// Rows that one fetch reads at most.
    pub fetch_rows: u32,
    /// Bytes of payload that one fetch reads at most (a single larger row is still read).
    pub fetch_bytes: u32,
    /// Deliveries of one shard that are held in memory at most: in flight, due, or waiting.
    pub max_held: u32,
}

/// `[log]`
#[derive(Debug, Clone)]
pub struct LogConfig {
    /// For people or for machines.
    pub format: LogFormat,
    /// A filter such as `info` or `aftercommit=debug`.
    pub filter: String,
}

/// How a log line looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// A line for a person.
    Text,
    /// One JSON object a line.
    Json,
}

/// `[topics.NAME]`
#[derive(Debug, Clone)]
pub struct TopicConfig {
    /// What the rows of the topic mean.
    pub kind: TopicKind,
}
