//! What `[destinations.NAME]` may say, whatever the destination is.

use std::time::Duration;

use crate::core::policy::{IdempotencyWindow, Policy, RetryPolicy};

use super::super::node::{Node, Read, all};
use super::super::section::Section;
use super::super::units::{UNBOUNDED, duration_text};
use super::super::value::{DECADE, MOMENT, duration, factor, number, word};
use super::super::{DestinationConfig, ReceiverConfig};
use super::{DatabaseKind, Surroundings, hubspot, limits, salesforce, topic_name, webhook};

/// What a destination can be.
#[derive(Clone, Copy, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
enum DestinationType {
    Webhook,
    Salesforce,
    Hubspot,
}

/// Reads the destination `name`.
pub(super) fn destination(
    name: &str,
    section: &mut Section<'_>,
    surroundings: Surroundings,
) -> Read<DestinationConfig> {
    check_name(name, section);
    let kind = section.required("type", word);
    let topics = section.required("topics", topics);
    let order = section.optional("order", word);
    let concurrency = section.setting("concurrency", number(1..=4096));
    let shards = section.setting("shards", number(1..=64));
    if let (Ok(2..), Ok(DatabaseKind::Sqlite)) = (shards, surroundings.database) {
        section.fault(
            "shards",
            "must be 1 on SQLite, which one relay serves; set database.url to PostgreSQL for more",
        );
    }
    let limits = limits::limits(section);
    let policy = policy(section);
    let receiver = receiver(kind, name, section, surroundings);
    Ok(DestinationConfig {
        topics: topics?,
        order: order?,
        concurrency: concurrency?,
        shards: shards?,
        limits: limits?,
        policy: policy?,
        receiver: receiver?,
    })
}

fn receiver(
    kind: Read<DestinationType>,
    name: &str,
    section: &mut Section<'_>,
    surroundings: Surroundings,
) -> Read<ReceiverConfig> {
    match kind {
        Ok(DestinationType::Salesforce) => {
            let salesforce = salesforce::salesforce(name, section, surroundings)?;
            Ok(ReceiverConfig::Salesforce(Box::new(salesforce)))
        }
        Ok(DestinationType::Hubspot) => {
            let hubspot = hubspot::hubspot(name, section, surroundings)?;
            Ok(ReceiverConfig::Hubspot(Box::new(hubspot)))
        }
        // A destination of no known type is most likely a misspelt webhook: its other faults are worth knowing.
        Ok(DestinationType::Webhook) | Err(_) => {
            let webhook = webhook::webhook(name, section, surroundings);
            kind.and(Ok(ReceiverConfig::Webhook(Box::new(webhook?))))
        }
    }
}

fn check_name(name: &str, section: &Section<'_>) {
    let allowed =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_' || byte == b'-';
    if !(1..=64).contains(&name.len()) || !name.bytes().all(allowed) {
        section.fault_here("a destination's name must have 1 to 64 of a-z, 0-9, _ and -");
    }
}

fn topics(node: &Node<'_>) -> Read<Vec<String>> {
    let elements = node.elements()?;
    let names = all(elements.iter().map(|element| {
        let name = element.text()?;
        topic_name(name).map_err(|problem| element.fault(problem))?;
        Ok(name.to_owned())
    }))?;
    let repeated = (1..names.len()).find(|index| names[..*index].contains(&names[*index]));
    match repeated {
        Some(index) => Err(elements[index].fault("names the same topic again; remove it")),
        None => Ok(names),
    }
}

fn policy(section: &mut Section<'_>) -> Read<Policy> {
    let retry = section.section("retry", retry);
    let uncertain = section.setting("uncertain_policy", word);
    let idempotency_window = section.setting("idempotency_window", window);
    Ok(Policy {
        retry: retry?,
        uncertain: uncertain?,
        idempotency_window: idempotency_window?,
    })
}

fn window(node: &Node<'_>) -> Read<IdempotencyWindow> {
    if node.value.as_str() == Some(UNBOUNDED) {
        return Ok(IdempotencyWindow::Unbounded);
    }
    duration(Duration::ZERO..=DECADE)(node).map(IdempotencyWindow::For)
}

fn retry(section: &mut Section<'_>) -> Read<RetryPolicy> {
    let first = section.setting("first", duration(MOMENT..=DECADE));
    let factor = section.setting("factor", factor);
    let max_delay = section.setting("max_delay", duration(MOMENT..=DECADE));
    let max_attempts = section.setting("max_attempts", number(1..=1_000_000));
    let max_age = section.setting("max_age", duration(MOMENT..=DECADE));
    let max_retry_after = section.setting("max_retry_after", duration(MOMENT..=DECADE));
    if let (Ok(first), Ok(max_delay)) = (first, max_delay)
        && max_delay < first
    {
        section.fault(
            "max_delay",
            format!("must not be below first, {}", duration_text(first)),
        );
    }
    Ok(RetryPolicy {
        first: first?,
        factor: factor?,
        max_delay: max_delay?,
        max_attempts: max_attempts?,
        max_age: max_age?,
        max_retry_after: max_retry_after?,
    })
}
