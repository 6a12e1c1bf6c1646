//! The webhook destination: one request for one delivery.
//!
//! Method, body bytes and key header follow from the delivery and its rendering alone, so that every attempt carries
//! the same; the attempt's number, the time, the signature and, where traces are on, `traceparent` are all that differ.
//!
//! Who wins where two name the same header: the relay's own headers, then the configured ones, then the row's, then
//! the defaults (`content-type: application/json`, `user-agent: aftercommit/…`).

mod envelope;
mod rendering;
mod report;
mod request;
mod row_headers;

use std::sync::Arc;

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue, USER_AGENT};
use secrecy::ExposeSecret;
use url::Url;

use super::answer::BodyCaps;
use super::client::{ClientError, GuardedClient, Guards};
use super::credentials::Credentials;
use super::preview::{Preview, Sketch};
use super::resolver::{Lookup, SystemLookup};
use super::secrets::{KnownSecrets, in_signing, in_url};
use super::signing::Signer;
use super::trial::Tried;
use super::{Destination, Outgoing, Rendering, UnknownRendering};
use crate::clock::Clock;
use crate::config::destination::WebhookConfig;
use crate::core::header_rule::{BadHeader, MAX_HEADERS, is_open};
use crate::core::outcome::Report;
use crate::core::signature::BadSigningSecret;
use crate::core::target::TargetRule;
use rendering::WebhookRendering;

/// A webhook receiver.
pub struct Webhook {
    receiver: Arc<Receiver>,
    rendering: WebhookRendering,
}

/// What stays the same under every rendering.
struct Receiver {
    url: Url,
    client: GuardedClient,
    signer: Option<Signer>,
    /// What the configuration sets; no row overrides it.
    configured: HeaderMap,
    /// The defaults and what the configuration sets: where every request's headers begin.
    base: HeaderMap,
    /// Where what the receiver knows us by stands.
    credentials: Credentials,
}

/// A webhook destination that cannot be made. Messages show no secret.
#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    /// Its URL, proxy or TLS.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// A header that may not be set, or the key header's name.
    #[error(transparent)]
    Header(#[from] BadHeader),
    /// More headers than a request should have.
    #[error("{0} headers are configured; at most {MAX_HEADERS} can be")]
    TooManyHeaders(usize),
    /// A secret that cannot sign.
    #[error(transparent)]
    Secret(#[from] BadSigningSecret),
}

impl Webhook {
    /// The webhook destination `name` as it is configured.
    pub fn new(name: &str, config: &WebhookConfig, clock: Arc<dyn Clock>) -> Result<Self, WebhookError> {
        Self::with_lookup(name, config, clock, Arc::new(SystemLookup))
    }

    /// The same with another look-up of names.
    pub fn with_lookup(
        name: &str,
        config: &WebhookConfig,
        clock: Arc<dyn Clock>,
        lookup: Arc<dyn Lookup>,
    ) -> Result<Self, WebhookError> {
        let rendering = WebhookRendering::of(config)?;
        let configured = configured_headers(config)?;
        let base = with_defaults(&configured);
        let client = GuardedClient::new(&config.url, &guards(name, config), lookup, clock)?;
        let signer = Signer::parse(&config.secrets)?;
        let receiver = Receiver {
            url: config.url.clone(),
            client,
            signer,
            configured,
            base,
            credentials: credentials(name, config),
        };
        Ok(Self {
            receiver: Arc::new(receiver),
            rendering,
        })
    }

    async fn deliver_one(&self, outgoing: &Outgoing) -> Report {
        match request::build(&self.receiver, &self.rendering, outgoing) {
            Ok((request, body_digest)) => {
                let exchange = self.receiver.client.send(request).await;
                Report {
                    body_digest: Some(body_digest),
                    ..report::of(exchange, &self.receiver.credentials, outgoing.now)
                }
            }
            Err(why) => report::not_sent(&why),
        }
    }
}

#[async_trait::async_trait]
impl Destination for Webhook {
    fn batch_limit(&self) -> usize {
        1
    }

    fn rendering(&self) -> Rendering {
        self.rendering.to_text()
    }

    fn under(&self, rendering: &Rendering) -> Result<Box<dyn Destination>, UnknownRendering> {
        let rendering = WebhookRendering::parse(rendering)?;
        Ok(Box::new(Self {
            receiver: Arc::clone(&self.receiver),
            rendering,
        }))
    }

    fn preview(&self, batch: &[Outgoing]) -> Preview {
        let mut preview = Preview::default();
        for (place, outgoing) in batch.iter().enumerate() {
            match request::build(&self.receiver, &self.rendering, outgoing) {
                Ok((request, _)) => {
                    let sketch = Sketch::of(&request, vec![place]);
                    preview.requests.push(sketch.without_path(&self.receiver.url));
                }
                Err(why) => preview.left_out.push((place, report::not_sent(&why))),
            }
        }
        preview
    }

    async fn try_out(&self, ping: &Outgoing) -> Tried {
        Tried::of_ping(&self.deliver_one(ping).await)
    }

    async fn deliver(&self, batch: &[Outgoing]) -> Vec<Report> {
        let mut reports = Vec::with_capacity(batch.len());
        for outgoing in batch {
            reports.push(self.deliver_one(outgoing).await);
        }
        reports
    }
}

fn guards(name: &str, config: &WebhookConfig) -> Guards {
    let bytes = |limit: u32| usize::try_from(limit).unwrap_or(usize::MAX);
    // Configured headers are in every request.
    let mut secrets = in_url(&config.url);
    secrets.extend(&in_signing(&config.secrets));
    Guards {
        rule: TargetRule {
            destination: name.to_owned(),
            allow_http: config.allow_http,
            allow_networks: config.allow_networks.clone(),
        },
        timeout: config.timeout,
        connect_timeout: config.connect_timeout,
        proxy: config.proxy.clone(),
        body: BodyCaps {
            read: bytes(config.max_response_bytes),
            keep: bytes(config.keep_response_bytes),
            parse: 0,
        },
        secrets: KnownSecrets::new(secrets, config.proxy.as_ref()),
    }
}

/// The settings by which the receiver can know us. Some know us by the path of the URL alone.
fn credentials(name: &str, config: &WebhookConfig) -> Credentials {
    let headers = (!config.headers.is_empty()).then_some("headers");
    let secrets = (!config.secrets.is_empty()).then_some("secrets");
    let settings: Vec<&str> = headers.into_iter().chain(secrets).collect();
    let issuer = "what the receiver expects";
    if settings.is_empty() {
        return Credentials::new(name, issuer, &["url", "headers", "secrets"]);
    }
    Credentials::new(name, issuer, &settings)
}

fn configured_headers(config: &WebhookConfig) -> Result<HeaderMap, WebhookError> {
    if config.headers.len() > MAX_HEADERS {
        return Err(WebhookError::TooManyHeaders(config.headers.len()));
    }
    let mut headers = HeaderMap::with_capacity(config.headers.len());
    for (name, value) in &config.headers {
        let (name, mut value) = request::header(name, value.expose_secret(), &config.key_header)?;
        value.set_sensitive(!is_open(name.as_str()));
        headers.insert(name, value);
    }
    Ok(headers)
}

fn with_defaults(configured: &HeaderMap) -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(configured.len() + 16);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(
        USER_AGENT,
        HeaderValue::from_static(concat!("aftercommit/", env!("CARGO_PKG_VERSION"))),
    );
    headers.extend(configured.clone());
    headers
}

#[cfg(test)]
mod tests;
