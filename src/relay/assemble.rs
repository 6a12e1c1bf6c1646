//! From a configuration to what a relay needs: destinations that can send, and the plan that the store applies.
//!
//! The only place where a kind of receiver in the configuration becomes a `Destination`.

use std::sync::Arc;

use super::{Active, Destinations};
use crate::clock::Clock;
use crate::config::{Config, DestinationConfig, ReceiverConfig};
use crate::destination::Destination;
use crate::destination::webhook::{Webhook, WebhookError};

/// A destination that is configured but cannot be made.
#[derive(Debug, thiserror::Error)]
#[error("destination `{name}`: {why}")]
pub struct AssembleError {
    /// Its name.
    pub name: String,
    /// What is wrong with it.
    #[source]
    pub why: WebhookError,
}

/// Every destination of `config`, ready to send.
pub fn destinations(config: &Config, clock: &Arc<dyn Clock>) -> Result<Destinations, AssembleError> {
    let ready = config.destinations.iter().map(|(name, destination)| {
        let active = active(name, destination, clock).map_err(|why| AssembleError {
            name: name.clone(),
            why,
        })?;
        Ok((Arc::from(name.as_str()), Arc::new(active)))
    });
    ready.collect()
}

fn active(name: &str, config: &DestinationConfig, clock: &Arc<dyn Clock>) -> Result<Active, WebhookError> {
    let ReceiverConfig::Webhook(webhook) = &config.receiver;
    let destination: Arc<dyn Destination> = Arc::new(Webhook::new(name, webhook, clock.clone())?);
    Ok(Active {
        destination,
        policy: config.policy.clone(),
        order: config.order,
        concurrency: usize::try_from(config.concurrency).unwrap_or(usize::MAX),
        shards: config.shards,
        timeout: webhook.timeout,
    })
}
