//! The configuration: parsed into types, all faults reported at once.
//!
//! The text becomes [`Config`] in four steps, a file each: `section` looks a key up in the text and then in the
//! defaults, `value` and `secret` read what stands there, `reader` says which keys there are and what must fit
//! together, `fault` prints what was wrong.
//!
//! These types are what the rest of the program sees. Every value has been checked: a [`Config`] that exists is one
//! that can run. Durations, sizes and addresses carry their units in their types; secrets are read and wrapped.

mod defaults;
pub mod destination;
mod doubts;
mod effective;
mod fault;
mod node;
mod reader;
mod secret;
mod section;
mod sources;
#[cfg(test)]
mod tests;
mod units;
mod value;

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use secrecy::SecretString;
use toml::de::DeTable;

use crate::core::row::TopicKind;
pub use destination::{
    CrmConfig, DestinationConfig, HostConfig, HubspotConfig, LimitsConfig, OrderMode, ReceiverConfig,
    SalesforceConfig, TransportConfig, WebhookConfig,
};
pub use doubts::TopicDoubt;
pub use fault::{ConfigFaults, Fault};
pub use sources::{Sources, System};
pub use units::duration;

use node::Reading;
use section::Section;

/// The environment variable that goes before `database.url`.
pub const DATABASE_URL: &str = "AFTERCOMMIT_DATABASE_URL";

/// The file beside the configuration in which [`Config::init_text`] expects the admin token.
pub const INIT_TOKEN_FILE: &str = "aftercommit.token";

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
    /// Hosts that several destinations share, by the name that stands in their URLs.
    pub hosts: BTreeMap<String, HostConfig>,
    /// Destinations by name.
    pub destinations: BTreeMap<String, DestinationConfig>,
}

impl Config {
    /// Reads the configuration file at `path`, and the variables and files that it refers to.
    pub fn read(path: &Path) -> Result<Self, ConfigFaults> {
        let system = System::beside(path);
        match fs::read_to_string(path) {
            Ok(text) => Self::parse(&text, &system),
            Err(error) => {
                let problem = match error.kind() {
                    ErrorKind::NotFound => "there is no such file; `aftercommit init` writes one".to_owned(),
                    _ => format!("cannot be read: {error}"),
                };
                Err(ConfigFaults::new(
                    system.name(),
                    vec![Fault {
                        line: None,
                        key: None,
                        problem,
                    }],
                ))
            }
        }
    }

    /// Reads `text`; what it refers to comes from `sources`. Reports everything that is wrong with it at once.
    pub fn parse(text: &str, sources: &dyn Sources) -> Result<Self, ConfigFaults> {
        let reading = Reading::new(text, sources);
        let every_option = defaults::every_option();
        let config = match (reading.table(), DeTable::parse(&every_option)) {
            (Ok(given), Ok(documented)) => {
                Section::root(&reading, given.get_ref(), documented.get_ref()).within(reader::config)
            }
            (Err(faulty), _) => Err(faulty),
            (_, Err(error)) => Err(reading.fault(
                None,
                None,
                format!("aftercommit.default.toml: {}", error.message()),
            )),
        };
        match (config, reading.into_faults()) {
            (Ok(config), faults) if faults.is_empty() => Ok(config),
            (_, faults) => Err(ConfigFaults::new(sources.name(), faults)),
        }
    }

    /// Every option, commented: where the defaults come from.
    pub fn defaults_text() -> &'static str {
        defaults::TEXT
    }

    /// A short configuration to start with: SQLite, one topic, and one webhook on this machine, where
    /// `aftercommit mock receiver` listens. Its admin token is read from [`INIT_TOKEN_FILE`].
    pub fn init_text() -> &'static str {
        include_str!("../../examples/aftercommit.toml")
    }
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
    /// What stands between this program and PostgreSQL.
    pub pooler: Pooler,
}

/// What stands between this program and PostgreSQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pooler {
    /// Nothing, or what gives a connection a session of its own.
    None,
    /// A pooler that lends a session for one transaction, such as pgbouncer with `pool_mode = transaction`.
    Transaction,
}

/// `[admin]`
#[derive(Debug, Clone)]
pub struct AdminConfig {
    /// Where to listen; `None` switches the server off.
    pub listen: Option<SocketAddr>,
    /// What `Authorization: Bearer` must carry. Without it only `/livez` and `/readyz` answer.
    pub token: Option<SecretString>,
    /// Bytes of a body of rows at most, as `POST /v1/outbox` takes it.
    pub max_outbox_body: u32,
    /// Whether `/metrics` answers without a token.
    pub open_metrics: bool,
}

/// `[relay]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelayConfig {
    /// How often the relay says that it lives.
    pub heartbeat: Duration,
    /// A relay that has not said so for so long has lost its leases.
    pub lease_ttl: Duration,
    /// The poll interval right after work was found.
    pub poll_busy: Duration,
    /// The poll interval that idleness grows to.
    pub poll_idle: Duration,
    /// How a relay that has nothing to do hears of new rows.
    pub wakeup: WakeupMode,
    /// How long a shutdown waits for requests in flight.
    pub shutdown_grace: Duration,
    /// Rows that one fetch reads at most.
    pub fetch_rows: u32,
    /// Bytes of payload that one fetch reads at most (a single larger row is still read).
    pub fetch_bytes: u32,
    /// Deliveries of one shard that are held in memory at most: in flight, due, or waiting.
    pub max_held: u32,
}

/// How a relay that has nothing to do hears of new rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WakeupMode {
    /// From the database, and by the poll.
    Notify,
    /// By the poll alone.
    Poll,
}

/// `[log]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogConfig {
    /// For people or for machines.
    pub format: LogFormat,
    /// A filter such as `info` or `aftercommit=debug`.
    pub filter: String,
}

/// How a log line looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// A line for a person.
    Text,
    /// One JSON object a line.
    Json,
}

/// `[topics.NAME]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicConfig {
    /// What the rows of the topic mean.
    pub kind: TopicKind,
}
