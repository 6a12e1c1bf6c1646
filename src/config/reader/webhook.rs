//! What a destination of `type = "webhook"` may say.

use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use url::Url;

use crate::core::header_rule::{check_header, check_name};
use crate::core::key::KeyForm;
use crate::core::signature::SigningKey;
use crate::core::target::TargetRule;

use super::super::WebhookConfig;
use super::super::destination::SigningSecret;
use super::super::node::{Faulty, Node, Read, all};
use super::super::secret::secret;
use super::super::section::Section;
use super::super::units::{duration_text, size_text};
use super::super::value::{DECADE, MOMENT, duration, flag, network, size, word};
use super::Surroundings;

/// Reads what is the webhook's own.
pub(super) fn webhook(
    name: &str,
    section: &mut Section<'_>,
    surroundings: Surroundings,
) -> Read<WebhookConfig> {
    let allow_http = section.setting("allow_http", flag);
    let allow_networks = section.setting("allow_networks", |node| all(node.elements()?.iter().map(network)));
    let rule = || {
        Ok(TargetRule {
            destination: name.to_owned(),
            allow_http: allow_http?,
            allow_networks: allow_networks.clone()?,
        })
    };
    let url = section.required("url", |node| target(node, rule()));
    let method = section.setting("method", word);
    let body = section.setting("body", word);
    let (key_header, key_form) = section.section("idempotency_key", idempotency_key);
    let headers = section.optional("headers", |node| headers(node, key_header.as_deref()));
    let secrets = section.optional("secrets", |node| all(node.elements()?.iter().map(signing_secret)));
    let deadlines = deadlines(section, surroundings);
    let proxy = section.optional("proxy", proxy);
    let answer = answer(section);
    let (deadlines, answer) = (deadlines?, answer?);
    Ok(WebhookConfig {
        url: url?,
        method: method?,
        body: body?,
        headers: headers?.unwrap_or_default(),
        key_header: key_header?,
        key_form: key_form?,
        secrets: secrets?.unwrap_or_default(),
        timeout: deadlines.timeout,
        connect_timeout: deadlines.connect_timeout,
        allow_http: allow_http?,
        allow_networks: allow_networks?,
        proxy: proxy?,
        max_response_bytes: answer.max_response_bytes,
        keep_response_bytes: answer.keep_response_bytes,
    })
}

fn target(node: &Node<'_>, rule: Read<TargetRule>) -> Read<Url> {
    let url = url(node)?;
    rule?.check_url(&url).map_err(|bad| node.fault(bad.to_string()))?;
    Ok(url)
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

fn idempotency_key(section: &mut Section<'_>) -> (Read<String>, Read<KeyForm>) {
    let header = section.setting("header", |node| {
        let name = node.text()?;
        check_name(name).map_err(|bad| node.fault(bad.to_string()))?;
        Ok(name.to_ascii_lowercase())
    });
    (header, section.setting("form", word))
}

fn headers(node: &Node<'_>, key_header: Result<&str, &Faulty>) -> Read<Vec<(String, SecretString)>> {
    // A key header that is itself faulty forbids no name.
    let key_header = key_header.unwrap_or_default();
    let headers = all(node.entries()?.iter().map(|(name, node)| {
        let value = secret(node)?;
        check_header(name, value.expose_secret(), key_header).map_err(|bad| node.fault(bad.to_string()))?;
        Ok((name.to_ascii_lowercase(), value))
    }))?;
    let repeated = (1..headers.len()).find(|index| {
        headers[..*index]
            .iter()
            .any(|(name, _)| *name == headers[*index].0)
    });
    match repeated {
        Some(index) => Err(node.fault(format!("names the header {} twice", headers[index].0))),
        None => Ok(headers),
    }
}

fn signing_secret(node: &Node<'_>) -> Read<SigningSecret> {
    let text = secret(node)?;
    SigningKey::parse(text.expose_secret()).map_err(|bad| node.fault(bad.to_string()))?;
    Ok(SigningSecret(text))
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
