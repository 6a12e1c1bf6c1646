//! The guarded HTTP client: the only place that sends.
//!
//! It connects to checked addresses only, follows no redirect, heeds no proxy of the environment, keeps no cookie,
//! decompresses nothing, never sends a request a second time by itself, and is done with a request by its deadline,
//! body included.
//!
//! The idle time-out of a pooled connection lies below the 5 s after which common servers close theirs, since a close
//! that crosses a request leaves its outcome unknown.

use std::sync::Arc;
use std::time::Duration;

use reqwest::{Client, Proxy, Request};
use url::Url;

use super::answer::{Answer, BodyCaps};
use super::failure::{Failure, cause};
use super::resolver::{GuardedResolver, Lookup};
use super::secrets::{KnownSecrets, Sent};
use crate::clock::Clock;
use crate::core::target::{BadTarget, TargetRule};

/// After so long without a request a pooled connection is closed.
const POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(4);

/// What a client is held to.
#[derive(Clone)]
pub struct Guards {
    /// Where it may connect to.
    pub rule: TargetRule,
    /// From the start of a request to the last byte of its answer.
    pub timeout: Duration,
    /// For the connection alone, name resolution and TLS included.
    pub connect_timeout: Duration,
    /// A proxy, http or https. Whoever names one means it, wherever it stands: its address is not held to the rule.
    /// The destination's name is then resolved by the proxy, out of this client's sight.
    pub proxy: Option<Url>,
    /// Of the response.
    pub body: BodyCaps,
    /// What nothing that is kept of an answer may hold.
    pub secrets: Arc<KnownSecrets>,
}

/// An HTTP client for one URL.
pub struct GuardedClient {
    http: Client,
    origin: String,
    body: BodyCaps,
    secrets: Arc<KnownSecrets>,
    clock: Arc<dyn Clock>,
}

/// One request and what came of it.
pub struct Exchange {
    /// The answer, or why there is none.
    pub result: Result<Answer, Failure>,
    /// From the start of the request to the last byte in, or to the failure.
    pub duration: Duration,
}

/// A client that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Requests may not go to its URL.
    #[error(transparent)]
    Target(#[from] BadTarget),
    /// Its proxy cannot be used.
    #[error("cannot use the proxy: {0}")]
    Proxy(String),
    /// The platform lacks something, certificates for example.
    #[error("cannot set up TLS: {0}; are the system's CA certificates installed?")]
    Setup(String),
}

impl GuardedClient {
    /// A client for requests to `url`.
    pub fn new(
        url: &Url,
        guards: &Guards,
        lookup: Arc<dyn Lookup>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, ClientError> {
        guards.rule.check_url(url)?;
        let http = build(url, guards, lookup)?;
        let origin = url.origin().ascii_serialization();
        Ok(Self {
            http,
            origin,
            body: guards.body,
            secrets: Arc::clone(&guards.secrets),
            clock,
        })
    }

    /// How much of an answer is read and kept.
    pub fn caps(&self) -> BodyCaps {
        self.body
    }

    /// Sends `request`, once, and reads its answer. Returns by the deadline.
    pub async fn send(&self, request: Request) -> Exchange {
        self.send_for(request, self.body).await
    }

    /// The same for an answer that is read within other caps.
    pub async fn send_for(&self, request: Request, body: BodyCaps) -> Exchange {
        let sent = Sent::with(&request);
        let start = self.clock.monotonic();
        #[expect(
            clippy::disallowed_methods,
            reason = "this is the guarded client that everything else sends with"
        )]
        let result = match self.http.execute(request).await {
            Ok(response) => Ok(Answer::read(response, body, &self.secrets, &sent).await),
            Err(error) => Err(Failure::of(error, &self.origin)),
        };
        Exchange {
            result,
            duration: self.clock.monotonic().saturating_sub(start),
        }
    }
}

fn build(url: &Url, guards: &Guards, lookup: Arc<dyn Lookup>) -> Result<Client, ClientError> {
    install_crypto();
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the guarded client that everything else sends with"
    )]
    let mut builder = Client::builder()
        .http1_only()
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        // Without a limit of 0 the layer that would retry still copies every request.
        .retry(reqwest::retry::never().max_retries_per_request(0))
        .no_proxy()
        .timeout(guards.timeout)
        .connect_timeout(guards.connect_timeout.min(guards.timeout))
        .pool_idle_timeout(POOL_IDLE_TIMEOUT)
        .tcp_nodelay(true)
        .dns_resolver(GuardedResolver::new(&guards.rule, guards.proxy.as_ref(), lookup));
    let proxy = guards.proxy.as_ref();
    if let Some(proxy) = proxy {
        let all = Proxy::all(proxy.clone()).map_err(|error| ClientError::Proxy(cause(&error)))?;
        builder = builder.proxy(all);
    }
    let needs_tls = [Some(url), proxy]
        .into_iter()
        .flatten()
        .any(|url| url.scheme() == "https");
    if !needs_tls {
        // Plain http needs no certificates, so a system without any can still do it.
        builder = builder.tls_certs_only([]);
    }
    builder.build().map_err(|error| ClientError::Setup(cause(&error)))
}

/// Makes ring the process's cryptography, unless somebody has chosen another before.
fn install_crypto() {
    let _already_chosen = rustls::crypto::ring::default_provider().install_default();
}
