//! What a configuration says of a destination.
//!
//! Parsed and checked values only; how they are written in TOML stands in the reader beside this file.

use std::time::Duration;

use ipnet::IpNet;
use secrecy::SecretString;
use url::Url;

use crate::core::key::KeyForm;
use crate::core::policy::Policy;
pub use crate::core::queue::OrderMode;

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
    /// Retries and unknown outcomes.
    pub policy: Policy,
    /// What it is, and how it is reached.
    pub receiver: ReceiverConfig,
}

/// What a destination is. One variant per `type` in the configuration.
#[derive(Debug, Clone)]
pub enum ReceiverConfig {
    /// `type = "webhook"`
    Webhook(Box<WebhookConfig>),
}

/// `type = "webhook"`
#[derive(Debug, Clone)]
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
