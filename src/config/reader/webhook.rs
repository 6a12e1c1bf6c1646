//! What a destination of `type = "webhook"` may say.

use secrecy::{ExposeSecret, SecretString};

use crate::core::header_rule::{check_header, check_name};
use crate::core::key::KeyForm;
use crate::core::signature::SigningKey;

use super::super::WebhookConfig;
use super::super::destination::SigningSecret;
use super::super::node::{Faulty, Node, Read, all};
use super::super::secret::secret;
use super::super::section::Section;
use super::super::value::word;
use super::Surroundings;
use super::transport::{Reach, transport};

/// Reads what is the webhook's own.
pub(super) fn webhook(
    name: &str,
    section: &mut Section<'_>,
    surroundings: Surroundings,
) -> Read<WebhookConfig> {
    let reach = Reach::of(section);
    let url = section.required("url", |node| reach.target(name, node));
    let method = section.setting("method", word);
    let body = section.setting("body", word);
    let (key_header, key_form) = section.section("idempotency_key", idempotency_key);
    let headers = section.optional("headers", |node| headers(node, key_header.as_deref()));
    let secrets = section.optional("secrets", |node| all(node.elements()?.iter().map(signing_secret)));
    let transport = transport(section, reach, surroundings)?;
    Ok(WebhookConfig {
        url: url?,
        method: method?,
        body: body?,
        headers: headers?.unwrap_or_default(),
        key_header: key_header?,
        key_form: key_form?,
        secrets: secrets?.unwrap_or_default(),
        timeout: transport.timeout,
        connect_timeout: transport.connect_timeout,
        allow_http: transport.allow_http,
        allow_networks: transport.allow_networks,
        proxy: transport.proxy,
        max_response_bytes: transport.max_response_bytes,
        keep_response_bytes: transport.keep_response_bytes,
    })
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
