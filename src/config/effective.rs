//! The configuration as it is in effect, written as TOML: defaults filled in, secrets left out.
//!
//! For people to read and for logs. A URL shows scheme and host, a secret shows that it is there.

mod crm;

use std::fmt::{self, Display, Formatter};
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use url::Url;

use super::destination::{DestinationConfig, HostConfig, LimitsConfig, ReceiverConfig, WebhookConfig};
use super::node::segment;
use super::secret::origin;
use super::units::{UNBOUNDED, duration_text, rate_text, size_text};
use super::{AdminConfig, Config, DatabaseConfig, LogConfig, RelayConfig};
use crate::core::policy::IdempotencyWindow;
use crate::core::secrets::SECRET;

impl Display for Config {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self {
            database,
            admin,
            relay,
            log,
            topics,
            hosts,
            destinations,
        } = self;
        database.write(f)?;
        admin.write(f)?;
        relay.write(f)?;
        log.write(f)?;
        for (name, topic) in topics {
            writeln!(f, "\n[topics.{}]\nkind = {}", segment(name), text(topic.kind))?;
        }
        for (name, host) in hosts {
            host.write(name, f)?;
        }
        for (name, destination) in destinations {
            destination.write(name, f)?;
        }
        Ok(())
    }
}

impl DatabaseConfig {
    fn write(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self {
            url,
            max_connections,
            namespace,
            max_payload_bytes,
            statement_timeout,
            pooler,
        } = self;
        writeln!(f, "[database]\nurl = {}", text(database(url)))?;
        writeln!(f, "max_connections = {max_connections}")?;
        if let Some(namespace) = namespace {
            writeln!(f, "namespace = {}", text(namespace))?;
        }
        writeln!(f, "max_payload_bytes = {}", bytes(*max_payload_bytes))?;
        writeln!(f, "statement_timeout = {}", span(*statement_timeout))?;
        writeln!(f, "pooler = {}", text(pooler))
    }
}

impl AdminConfig {
    fn write(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self {
            listen,
            token,
            max_outbox_body,
            open_metrics,
        } = self;
        let listen = listen.map_or_else(|| "off".to_owned(), |address| address.to_string());
        writeln!(f, "\n[admin]\nlisten = {}", text(listen))?;
        if token.is_some() {
            writeln!(f, "token = {}", text(SECRET))?;
        }
        writeln!(f, "max_outbox_body = {}", bytes(*max_outbox_body))?;
        writeln!(f, "open_metrics = {open_metrics}")
    }
}

impl RelayConfig {
    fn write(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self {
            heartbeat,
            lease_ttl,
            poll_busy,
            poll_idle,
            wakeup,
            shutdown_grace,
            fetch_rows,
            fetch_bytes,
            max_held,
        } = self;
        writeln!(
            f,
            "\n[relay]\nheartbeat = {}\nlease_ttl = {}",
            span(*heartbeat),
            span(*lease_ttl)
        )?;
        writeln!(
            f,
            "poll_busy = {}\npoll_idle = {}",
            span(*poll_busy),
            span(*poll_idle)
        )?;
        writeln!(
            f,
            "wakeup = {}\nshutdown_grace = {}",
            text(wakeup),
            span(*shutdown_grace)
        )?;
        writeln!(
            f,
            "fetch_rows = {fetch_rows}\nfetch_bytes = {}\nmax_held = {max_held}",
            bytes(*fetch_bytes)
        )
    }
}

impl LogConfig {
    fn write(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { format, filter } = self;
        writeln!(f, "\n[log]\nformat = {}\nfilter = {}", text(format), text(filter))
    }
}

impl DestinationConfig {
    fn write(&self, name: &str, f: &mut Formatter<'_>) -> fmt::Result {
        let Self {
            topics,
            order,
            concurrency,
            shards,
            limits,
            policy,
            receiver,
        } = self;
        let name = segment(name);
        let kind = match receiver {
            ReceiverConfig::Webhook(_) => "webhook",
            ReceiverConfig::Salesforce(_) => "salesforce",
            ReceiverConfig::Hubspot(_) => "hubspot",
        };
        writeln!(
            f,
            "\n[destinations.{name}]\ntype = {}\ntopics = {}",
            text(kind),
            text(topics)
        )?;
        if let Some(order) = order {
            writeln!(f, "order = {}", text(order))?;
        }
        writeln!(f, "concurrency = {concurrency}\nshards = {shards}")?;
        writeln!(f, "uncertain_policy = {}", text(policy.uncertain))?;
        writeln!(f, "idempotency_window = {}", window(policy.idempotency_window))?;
        limits.write(f)?;
        match receiver {
            ReceiverConfig::Webhook(webhook) => webhook.write(f)?,
            ReceiverConfig::Salesforce(salesforce) => salesforce.write(f)?,
            ReceiverConfig::Hubspot(hubspot) => hubspot.write(f)?,
        }
        limits.write_breaker(&name, f)?;
        let retry = &policy.retry;
        writeln!(f, "\n[destinations.{name}.retry]\nfirst = {}", span(retry.first))?;
        writeln!(
            f,
            "factor = {:?}\nmax_delay = {}",
            retry.factor,
            span(retry.max_delay)
        )?;
        writeln!(
            f,
            "max_attempts = {}\nmax_age = {}",
            retry.max_attempts,
            span(retry.max_age)
        )?;
        writeln!(f, "max_retry_after = {}", span(retry.max_retry_after))?;
        match receiver {
            ReceiverConfig::Webhook(webhook) => webhook.write_tables(&name, f),
            ReceiverConfig::Salesforce(salesforce) => salesforce.crm.write_fields(&name, f),
            ReceiverConfig::Hubspot(hubspot) => hubspot.crm.write_fields(&name, f),
        }
    }
}

impl LimitsConfig {
    fn write(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(rate) = self.rate {
            writeln!(f, "rate = {}", text(rate_text(rate)))?;
        }
        writeln!(f, "max_in_flight_bytes = {}", bytes(self.max_in_flight_bytes))?;
        writeln!(f, "adaptive_concurrency = {}", self.adaptive_concurrency)
    }

    fn write_breaker(&self, name: &str, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "\n[destinations.{name}.breaker]\nenabled = {}",
            self.breaker.is_some()
        )?;
        let Some(breaker) = self.breaker else {
            return Ok(());
        };
        writeln!(
            f,
            "failing_share = {:?}\nwindow = {}",
            breaker.failing_share,
            span(breaker.window)
        )?;
        writeln!(
            f,
            "min_requests = {}\nopen_for = {}",
            breaker.min_requests,
            span(breaker.open_for)
        )
    }
}

impl HostConfig {
    fn write(&self, name: &str, f: &mut Formatter<'_>) -> fmt::Result {
        let Self {
            rate,
            concurrency,
            max_in_flight_bytes,
        } = self;
        writeln!(f, "\n[hosts.{}]", segment(name))?;
        if let Some(rate) = rate {
            writeln!(f, "rate = {}", text(rate_text(*rate)))?;
        }
        if let Some(concurrency) = concurrency {
            writeln!(f, "concurrency = {concurrency}")?;
        }
        if let Some(most) = max_in_flight_bytes {
            writeln!(f, "max_in_flight_bytes = {}", bytes(*most))?;
        }
        Ok(())
    }
}

impl WebhookConfig {
    fn write(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "url = {}", text(origin(&self.url)))?;
        writeln!(f, "method = {}\nbody = {}", text(self.method), text(self.body))?;
        writeln!(
            f,
            "timeout = {}\nconnect_timeout = {}",
            span(self.timeout),
            span(self.connect_timeout)
        )?;
        writeln!(
            f,
            "allow_http = {}\nallow_networks = {}",
            self.allow_http,
            text(self.allow_networks_text())
        )?;
        if let Some(proxy) = &self.proxy {
            writeln!(f, "proxy = {}", text(origin(proxy)))?;
        }
        writeln!(f, "max_response_bytes = {}", bytes(self.max_response_bytes))?;
        writeln!(f, "keep_response_bytes = {}", bytes(self.keep_response_bytes))?;
        if self.secrets.is_empty() {
            return Ok(());
        }
        writeln!(f, "secrets = {}", text(vec![SECRET; self.secrets.len()]))
    }

    fn write_tables(&self, name: &str, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "\n[destinations.{name}.idempotency_key]\nheader = {}",
            text(&self.key_header)
        )?;
        writeln!(f, "form = {}", text(self.key_form))?;
        if self.headers.is_empty() {
            return Ok(());
        }
        writeln!(f, "\n[destinations.{name}.headers]")?;
        self.headers
            .iter()
            .try_for_each(|(header, _)| writeln!(f, "{} = {}", segment(header), text(SECRET)))
    }

    fn allow_networks_text(&self) -> Vec<String> {
        self.allow_networks.iter().map(ToString::to_string).collect()
    }
}

/// A value as JSON writes it, which TOML reads alike for texts and arrays of texts.
fn text(value: impl Serialize) -> String {
    serde_json::to_string(&value).unwrap_or_default()
}

fn span(duration: Duration) -> String {
    text(duration_text(duration))
}

fn window(window: IdempotencyWindow) -> String {
    match window {
        IdempotencyWindow::For(duration) => span(duration),
        IdempotencyWindow::Unbounded => text(UNBOUNDED),
    }
}

fn bytes(bytes: u32) -> String {
    text(size_text(u64::from(bytes)))
}

/// A path to a file holds no secret; of a server only scheme and host are shown.
fn database(url: &SecretString) -> String {
    let url = url.expose_secret();
    if url.starts_with("sqlite:") {
        return url.to_owned();
    }
    Url::parse(url).map_or_else(|_| SECRET.to_owned(), |url| origin(&url))
}
