//! What any destination may say about how it is reached, and how much of its answers is read.

use std::time::Duration;

use ipnet::IpNet;
use secrecy::ExposeSecret;
use url::Url;

use crate::core::target::TargetRule;

use super::super::TransportConfig;
use super::super::node::{Node, Read, all};
use super::super::secret::secret;
use super::super::section::Section;
use super::super::units::{duration_text, size_text};
use super::super::value::{DECADE, MOMENT, duration, flag, network, size};
use super::Surroundings;

/// What may be reached: read first, since the URL is held to it.
pub(super) struct Reach {
    allow_http: Read<bool>,
    allow_networks: Read<Vec<IpNet>>,
}

impl Reach {
    /// Reads `allow_http` and `allow_networks`.
    pub(super) fn of(section: &mut Section<'_>) -> Self {
        Self {
            allow_http: section.setting("allow_http", flag),
            allow_networks: section
                .setting("allow_networks", |node| all(node.elements()?.iter().map(network))),
        }
    }

    /// Reads a URL that the destination `name` may have.
    pub(super) fn target(&self, name: &str, node: &Node<'_>) -> Read<Url> {
        let url = url(node)?;
        let rule = TargetRule {
            destination: name.to_owned(),
            allow_http: self.allow_http?,
            allow_networks: self.allow_networks.clone()?,
        };
        rule.check_url(&url).map_err(|bad| node.fault(bad.to_string()))?;
        Ok(url)
    }
}

/// Reads the deadlines, the proxy, and what is read of answers.
pub(super) fn transport(
    section: &mut Section<'_>,
    reach: Reach,
    surroundings: Surroundings,
) -> Read<TransportConfig> {
    let deadlines = deadlines(section, surroundings);
    let proxy = section.optional("proxy", proxy);
    let answer = answer(section);
    let (deadlines, answer) = (deadlines?, answer?);
    Ok(TransportConfig {
        timeout: deadlines.timeout,
        connect_timeout: deadlines.connect_timeout,
        allow_http: reach.allow_http?,
        allow_networks: reach.allow_networks?,
        proxy: proxy?,
        max_response_bytes: answer.max_response_bytes,
        keep_response_bytes: answer.keep_response_bytes,
    })
}

/// A proxy stands inside the network as often as not: the rule for targets is not for it.
fn proxy(node: &Node<'_>) -> Read<Url> {
    let url = url(node)?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(node.fault("must be an http or https URL"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(node.fault("must not hold a user name or password; such a proxy is not supported"));
    }
    Ok(url)
}

/// A URL can hold a secret anywhere, so that no fault repeats it.
fn url(node: &Node<'_>) -> Read<Url> {
    let text = secret(node)?;
    Url::parse(text.expose_secret()).map_err(|error| node.fault(format!("is not a URL: {error}")))
}

struct Deadlines {
    timeout: Duration,
    connect_timeout: Duration,
}

fn deadlines(section: &mut Section<'_>, surroundings: Surroundings) -> Read<Deadlines> {
    let timeout = section.setting("timeout", duration(MOMENT..=DECADE));
    let connect_timeout = section.setting("connect_timeout", duration(MOMENT..=DECADE));
    if let (Ok(timeout), Ok(lease_ttl)) = (timeout, surroundings.lease_ttl)
        && timeout > lease_ttl / 2
    {
        let [timeout, lease_ttl] = [timeout, lease_ttl].map(duration_text);
        section.fault(
            "timeout",
            format!(
                "{timeout} is more than half of relay.lease_ttl, {lease_ttl}; shorten it or lengthen that"
            ),
        );
    }
    let timeout = timeout?;
    Ok(Deadlines {
        timeout,
        // Below the deadline of the whole, which says no more than that the outcome is unknown: a connection that did
        // not come about proves that nothing was sent.
        connect_timeout: connect_timeout?.min(timeout * 9 / 10),
    })
}

struct Answer {
    max_response_bytes: u32,
    keep_response_bytes: u32,
}

fn answer(section: &mut Section<'_>) -> Read<Answer> {
    let max_response_bytes = section.setting("max_response_bytes", size(0..=16 << 20));
    let keep_response_bytes = section.setting("keep_response_bytes", size(0..=16 << 20));
    if let (Ok(max), Ok(keep)) = (max_response_bytes, keep_response_bytes)
        && keep > max
    {
        let [max, keep] = [max, keep].map(|bytes| size_text(u64::from(bytes)));
        section.fault(
            "keep_response_bytes",
            format!("{keep} is more than max_response_bytes, {max}"),
        );
    }
    Ok(Answer {
        max_response_bytes: max_response_bytes?,
        keep_response_bytes: keep_response_bytes?,
    })
}
