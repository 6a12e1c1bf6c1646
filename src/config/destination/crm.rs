//! What the configuration of any CRM says: object, id, fields, batches, and how it is reached.

use std::time::Duration;

use ipnet::IpNet;
use url::Url;

use crate::core::mapping::Mapping;

/// What Salesforce and HubSpot have in common.
#[derive(Debug, Clone, PartialEq)]
pub struct CrmConfig {
    /// Scheme, host and port alone: where one logs in (Salesforce), or the API (HubSpot).
    pub url: Url,
    /// The type of the records, as the CRM's API names it.
    pub object: String,
    /// The field that holds a record's id: an external id field, or a unique property.
    pub id_field: String,
    /// Where in the payload a record's id stands; none: it is the row key.
    pub id_from: Option<Vec<String>>,
    /// Which field comes from where.
    pub mapping: Mapping,
    /// Whether requests carry an `Idempotency-Key` in the form of a UUID.
    pub send_idempotency_key: bool,
    /// Records of one request at most.
    pub batch_size: u32,
    /// How long a row waits for others, so that fewer requests are sent.
    pub batch_wait: Duration,
    /// How it is reached.
    pub transport: TransportConfig,
}

/// How a receiver is reached, and how much of its answers is read.
#[derive(Debug, Clone, PartialEq)]
pub struct TransportConfig {
    /// From the start of a request to the last byte of the answer.
    pub timeout: Duration,
    /// For the connection alone.
    pub connect_timeout: Duration,
    /// Whether plain http is allowed.
    pub allow_http: bool,
    /// Networks outside the public internet that may be reached.
    pub allow_networks: Vec<IpNet>,
    /// A proxy, only by configuration.
    pub proxy: Option<Url>,
    /// Bytes of a response that are read at most; the connection is dropped beyond.
    pub max_response_bytes: u32,
    /// Bytes of a response body that an attempt keeps.
    pub keep_response_bytes: u32,
}
