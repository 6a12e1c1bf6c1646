//! The reader: which keys there are, what each takes, and what must fit together.
//!
//! A value that is wrong does not end the reading: it is on record, and the checks that need it are skipped.

mod crm;
mod destination;
mod fields;
mod hubspot;
mod limits;
mod salesforce;
mod transport;
mod webhook;

use std::env::VarError;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use tracing_subscriber::EnvFilter;

use super::node::{Node, Read};
use super::secret::{secret, variable};
use super::section::Section;
use super::units::duration_text;
use super::value::{DECADE, MOMENT, duration, flag, listen, number, size, word};
use super::{AdminConfig, Config, DATABASE_URL, DatabaseConfig, LogConfig, RelayConfig, TopicConfig};

/// Which database keeps the outbox.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DatabaseKind {
    Sqlite,
    Postgres,
}

impl DatabaseKind {
    fn of(url: &SecretString) -> Option<Self> {
        let url = url.expose_secret();
        if url.starts_with("sqlite:") {
            Some(Self::Sqlite)
        } else if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            Some(Self::Postgres)
        } else {
            None
        }
    }
}

/// What a destination must fit.
#[derive(Clone, Copy)]
struct Surroundings {
    database: Read<DatabaseKind>,
    lease_ttl: Read<Duration>,
}

/// Reads the whole configuration.
pub(super) fn config(root: &mut Section<'_>) -> Read<Config> {
    let (kind, database) = root.section("database", database);
    let admin = root.section("admin", admin);
    let (lease_ttl, relay) = root.section("relay", relay);
    let log = root.section("log", log);
    let topics = root.each("topics", topic);
    let surroundings = Surroundings {
        database: kind,
        lease_ttl,
    };
    let destinations = root.each("destinations", |name, section| {
        destination::destination(name, section, surroundings)
    });
    let hosts = root.each("hosts", |name, section| {
        limits::host(name, section, destinations.as_ref().ok())
    });
    Ok(Config {
        database: database?,
        admin: admin?,
        relay: relay?,
        log: log?,
        topics: topics?,
        hosts: hosts?,
        destinations: destinations?,
    })
}

fn database(section: &mut Section<'_>) -> (Read<DatabaseKind>, Read<DatabaseConfig>) {
    let url = section.setting("url", database_url);
    let kind = url.as_ref().map(|(kind, _)| *kind).map_err(|faulty| *faulty);
    let max_connections = section.setting("max_connections", number(2..=1000));
    let namespace = section.optional("namespace", namespace);
    let max_payload_bytes = section.setting("max_payload_bytes", size(1..=256 << 20));
    let statement_timeout = section.setting(
        "statement_timeout",
        duration(Duration::from_secs(1)..=Duration::from_hours(24)),
    );
    let pooler = section.setting("pooler", word);
    let config = || {
        Ok(DatabaseConfig {
            url: url?.1,
            max_connections: max_connections?,
            namespace: namespace?,
            max_payload_bytes: max_payload_bytes?,
            statement_timeout: statement_timeout?,
            pooler: pooler?,
        })
    };
    (kind, config())
}

/// The variable goes before the text, even before text that could not be read.
fn database_url(node: &Node<'_>) -> Read<(DatabaseKind, SecretString)> {
    let overriding = node.reading.sources.variable(DATABASE_URL) != Err(VarError::NotPresent);
    let (node, url) = if overriding {
        let node = Node {
            path: DATABASE_URL.to_owned(),
            line: None,
            ..node.clone()
        };
        let url = variable(&node, DATABASE_URL)?;
        (node, url)
    } else {
        (node.clone(), secret(node)?)
    };
    match DatabaseKind::of(&url) {
        Some(kind) => Ok((kind, url)),
        None => Err(node.fault("must begin with sqlite: or postgres://")),
    }
}

fn namespace(node: &Node<'_>) -> Read<String> {
    match node.text()? {
        text if (1..=255).contains(&text.len()) => Ok(text.to_owned()),
        _ => Err(node.fault("must have 1 to 255 bytes")),
    }
}

fn admin(section: &mut Section<'_>) -> Read<AdminConfig> {
    let listen = section.setting("listen", listen);
    let token = section.optional("token", token);
    let max_outbox_body = section.setting("max_outbox_body", size(1..=1 << 30));
    let open_metrics = section.setting("open_metrics", flag);
    Ok(AdminConfig {
        listen: listen?,
        token: token?,
        max_outbox_body: max_outbox_body?,
        open_metrics: open_metrics?,
    })
}

/// A request could never carry another token.
fn token(node: &Node<'_>) -> Read<SecretString> {
    let token = secret(node)?;
    if token.expose_secret().bytes().all(|byte| byte.is_ascii_graphic()) {
        Ok(token)
    } else {
        Err(node.fault("must be printable ASCII without blanks"))
    }
}

fn relay(section: &mut Section<'_>) -> (Read<Duration>, Read<RelayConfig>) {
    let heartbeat = section.setting("heartbeat", duration(MOMENT..=DECADE));
    let lease_ttl = section.setting("lease_ttl", duration(MOMENT..=DECADE));
    let poll_busy = section.setting("poll_busy", duration(MOMENT..=DECADE));
    let poll_idle = section.setting("poll_idle", duration(MOMENT..=DECADE));
    let wakeup = section.setting("wakeup", word);
    let shutdown_grace = section.setting("shutdown_grace", duration(Duration::ZERO..=DECADE));
    let fetch_rows = section.setting("fetch_rows", number(1..=100_000));
    let fetch_bytes = section.setting("fetch_bytes", size(1..=1 << 30));
    let max_held = section.setting("max_held", number(1..=10_000_000));
    if let (Ok(heartbeat), Ok(lease_ttl)) = (heartbeat, lease_ttl)
        && lease_ttl < 3 * heartbeat
    {
        let least = duration_text(3 * heartbeat);
        section.fault("lease_ttl", format!("must be at least three heartbeats, {least}"));
    }
    if let (Ok(busy), Ok(idle)) = (poll_busy, poll_idle)
        && idle < busy
    {
        section.fault(
            "poll_idle",
            format!("must not be below poll_busy, {}", duration_text(busy)),
        );
    }
    let config = || {
        Ok(RelayConfig {
            heartbeat: heartbeat?,
            lease_ttl: lease_ttl?,
            poll_busy: poll_busy?,
            poll_idle: poll_idle?,
            wakeup: wakeup?,
            shutdown_grace: shutdown_grace?,
            fetch_rows: fetch_rows?,
            fetch_bytes: fetch_bytes?,
            max_held: max_held?,
        })
    };
    (lease_ttl, config())
}

fn log(section: &mut Section<'_>) -> Read<LogConfig> {
    let format = section.setting("format", word);
    let filter = section.setting("filter", filter);
    Ok(LogConfig {
        format: format?,
        filter: filter?,
    })
}

fn filter(node: &Node<'_>) -> Read<String> {
    let text = node.text()?;
    EnvFilter::try_new(text).map_err(|error| node.fault(format!("is not a filter: {error}")))?;
    Ok(text.to_owned())
}

fn topic(name: &str, section: &mut Section<'_>) -> Read<TopicConfig> {
    let kind = section.required("kind", word);
    if let Err(problem) = topic_name(name) {
        section.fault_here(problem);
    }
    Ok(TopicConfig { kind: kind? })
}

/// What the outbox takes as a topic.
fn topic_name(name: &str) -> Result<(), &'static str> {
    if !(1..=255).contains(&name.len()) {
        return Err("a topic's name must have 1 to 255 bytes");
    }
    if name.contains('\0') {
        Err("a topic's name must not hold NUL")
    } else {
        Ok(())
    }
}
