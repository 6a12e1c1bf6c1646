//! What a configuration says of a destination.
//!
//! Parsed and checked values only; how they are written in TOML stands in the reader beside this file.

pub mod crm;
pub mod hubspot;
pub mod salesforce;

use std::fmt;
use std::time::Duration;

use ipnet::IpNet;
use secrecy::SecretString;
use url::Url;

use crate::core::key::KeyForm;
use crate::core::limit::breaker::BreakerPolicy;
use crate::core::limit::bucket::Rate;
use crate::core::policy::Policy;

use super::secret::{origin, same_secret};
pub use crate::core::queue::OrderMode;
pub use crm::{CrmConfig, TransportConfig};
pub use hubspot::HubspotConfig;
pub use salesforce::SalesforceConfig;

/// `[destinations.NAME]`
#[derive(Debug, Clone)]
pub struct DestinationConfig {
    /// The topics that are routed here.
    pub topics: Vec<String>,
    /// How deliveries of one row key follow one another; `None`: `latest` for state topics, `ordered` for events.
    pub order: Option<OrderMode>,
    /// Requests in flight at most, per shard.
    pub concurrency: u32,
    /// Into how many shards the destination is divided; each is dispatched by one relay at a time.
    pub shards: u32,
    /// What is sent at most, beside `concurrency`.
    pub limits: LimitsConfig,
    /// Retries and unknown outcomes.
    pub policy: Policy,
    /// What it is, and how it is reached.
    pub receiver: ReceiverConfig,
}

impl DestinationConfig {
    /// Whether anything is not the same, secrets included: what a reload asks of each destination.
    pub fn differs(&self, other: &Self) -> bool {
        let Self {
            topics,
            order,
            concurrency,
            shards,
            limits,
            policy,
            receiver,
        } = self;
        *topics != other.topics
            || *order != other.order
            || *concurrency != other.concurrency
            || *shards != other.shards
            || *limits != other.limits
            || *policy != other.policy
            || receiver.differs(&other.receiver)
    }
}

/// What is sent to a destination at most, beside its `concurrency`.
#[derive(Debug, Clone, PartialEq)]
pub struct LimitsConfig {
    /// Requests in any span of time, of all shards together; none: as many as there are.
    pub rate: Option<Rate>,
    /// Payload bytes of the requests in flight, per shard; a single larger request goes alone.
    pub max_in_flight_bytes: u32,
    /// Whether fewer requests are in flight while the receiver slows.
    pub adaptive_concurrency: bool,
    /// Stops sending to a receiver that fails throughout; none: switched off.
    pub breaker: Option<BreakerPolicy>,
}

/// `[hosts.NAME]`: what all destinations whose URL has this host may send together, per relay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostConfig {
    /// Requests in any span of time.
    pub rate: Option<Rate>,
    /// Requests in flight.
    pub concurrency: Option<u32>,
    /// Payload bytes of the requests in flight; a single larger request goes alone.
    pub max_in_flight_bytes: Option<u32>,
}

/// What a destination is. One variant per `type` in the configuration.
#[derive(Debug, Clone)]
pub enum ReceiverConfig {
    /// `type = "webhook"`
    Webhook(Box<WebhookConfig>),
    /// `type = "salesforce"`
    Salesforce(Box<SalesforceConfig>),
    /// `type = "hubspot"`
    Hubspot(Box<HubspotConfig>),
}

/// `type = "webhook"`
#[derive(Clone)]
pub struct WebhookConfig {
    /// Where requests go: https, or http where `allow_http` says so; no user info.
    pub url: Url,
    /// POST, PUT or PATCH.
    pub method: WebhookMethod,
    /// What the body is.
    pub body: WebhookBody,
    /// Headers of every request, checked; values may be secrets.
    pub headers: Vec<(String, SecretString)>,
    /// The name of the key's header, lower case; `idempotency-key` unless said otherwise.
    pub key_header: String,
    /// The form of the key in that header.
    pub key_form: KeyForm,
    /// What signs the requests; several while a secret is rotated; none: unsigned.
    pub secrets: Vec<SigningSecret>,
    /// From the start of the request to the last byte of the answer.
    pub timeout: Duration,
    /// For the connection alone.
    pub connect_timeout: Duration,
    /// Whether plain http is allowed.
    pub allow_http: bool,
    /// Networks outside the public internet that this destination may reach.
    pub allow_networks: Vec<IpNet>,
    /// A proxy, only by configuration.
    pub proxy: Option<Url>,
    /// Bytes of a response that are read at most; the connection is dropped beyond.
    pub max_response_bytes: u32,
    /// Bytes of a response body that an attempt keeps.
    pub keep_response_bytes: u32,
}

impl ReceiverConfig {
    /// The host that requests go to, as its URL has it.
    pub fn host(&self) -> &str {
        self.url().host_str().unwrap_or_default()
    }

    /// Where requests go, or where one logs in. A webhook's can hold a secret in its path.
    pub fn url(&self) -> &Url {
        match self {
            Self::Webhook(webhook) => &webhook.url,
            Self::Salesforce(salesforce) => &salesforce.crm.url,
            Self::Hubspot(hubspot) => &hubspot.crm.url,
        }
    }

    /// What it is, by the word of the configuration.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Webhook(_) => "webhook",
            Self::Salesforce(_) => "salesforce",
            Self::Hubspot(_) => "hubspot",
        }
    }

    fn differs(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Webhook(one), Self::Webhook(other)) => one.differs(other),
            (Self::Salesforce(one), Self::Salesforce(other)) => one.differs(other),
            (Self::Hubspot(one), Self::Hubspot(other)) => one.differs(other),
            _ => true,
        }
    }
}

impl WebhookConfig {
    fn differs(&self, other: &Self) -> bool {
        // Taken apart, so that no later field is forgotten here.
        let Self {
            url,
            method,
            body,
            headers,
            key_header,
            key_form,
            secrets,
            timeout,
            connect_timeout,
            allow_http,
            allow_networks,
            proxy,
            max_response_bytes,
            keep_response_bytes,
        } = self;
        let same_header = |(one, other): (&(String, SecretString), &(String, SecretString))| {
            one.0 == other.0 && same_secret(&one.1, &other.1)
        };
        *url != other.url
            || *method != other.method
            || *body != other.body
            || headers.len() != other.headers.len()
            || !headers.iter().zip(&other.headers).all(same_header)
            || *key_header != other.key_header
            || *key_form != other.key_form
            || secrets.len() != other.secrets.len()
            || !secrets
                .iter()
                .zip(&other.secrets)
                .all(|(one, other)| same_secret(&one.0, &other.0))
            || *timeout != other.timeout
            || *connect_timeout != other.connect_timeout
            || *allow_http != other.allow_http
            || *allow_networks != other.allow_networks
            || *proxy != other.proxy
            || *max_response_bytes != other.max_response_bytes
            || *keep_response_bytes != other.keep_response_bytes
    }
}

impl fmt::Debug for WebhookConfig {
    /// Without secrets, and without the URL beyond scheme and host: a path can be a secret too.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookConfig")
            .field("url", &origin(&self.url))
            .field("method", &self.method)
            .field("body", &self.body)
            .field("key_header", &self.key_header)
            .field("key_form", &self.key_form)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// A webhook's method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum WebhookMethod {
    /// POST
    Post,
    /// PUT
    Put,
    /// PATCH
    Patch,
}

/// What a webhook's body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WebhookBody {
    /// The payload, byte for byte.
    Payload,
    /// `{"type":topic,"timestamp":created_at,"data":payload}`, the payload byte for byte.
    Envelope,
}

/// A secret that signs, as it was written: `whsec_…` or `whsk_…`, checked.
#[derive(Debug, Clone)]
pub struct SigningSecret(pub SecretString);
