//! The HubSpot destination: up to 100 rows a request, found by a property with unique values.
//!
//! ```text
//!  batch ─▶ plan ─┬─ upserts ─▶ batch/upsert ───────────────▶ reading ─▶ reports
//!                 └─ deletes ─▶ batch/read ─▶ batch/archive ─▶ reading ─▶ reports
//!                      every call carries a token of `tokens`
//! ```
//!
//! A row is delivered only if an answer says so of that row. Whatever a call meets, no row is sent twice within one
//! attempt: a token that is refused is replaced before the next.

mod calls;
mod classify;
mod oauth;
mod plan;
mod preflight;
mod preview;
mod reading;
mod rendering;
mod report;
mod request;
#[cfg(test)]
mod tests;
mod tokens;
mod usage;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use reqwest::Request;
use secrecy::ExposeSecret;
use tokio::sync::Mutex;
use url::Url;

use super::answer::BodyCaps;
use super::client::{ClientError, Exchange, GuardedClient, Guards};
use super::credentials::Credentials;
use super::preflight::Finding;
use super::preview::Preview;
use super::resolver::SystemLookup;
use super::secrets::KnownSecrets;
use super::usage::{Heard, LastHeard};
use super::{Destination, Outgoing, Rendering, UnknownRendering};
use crate::clock::Clock;
use crate::config::destination::HubspotConfig;
use crate::config::destination::hubspot::HubspotAccess;
use crate::core::outcome::Report;
use crate::core::secrets::Secrets;
use crate::core::target::TargetRule;
use crate::core::time::Timestamp;
use calls::Sending;
use oauth::{OAuth, RefreshToken};
use plan::Plan;
use rendering::HubSpotRendering;
use tokens::{Source, Tokens};

/// What HubSpot takes in one batch.
const MAX_INPUTS: usize = 100;

/// A portal of HubSpot, and the objects in it that rows go to.
pub struct HubSpot {
    portal: Arc<Portal>,
    rendering: HubSpotRendering,
}

/// What stays the same under every rendering.
struct Portal {
    url: Url,
    client: GuardedClient,
    tokens: Tokens,
    heard: LastHeard,
    /// For a delivery with all its calls.
    timeout: Duration,
    clock: Arc<dyn Clock>,
}

impl HubSpot {
    /// The HubSpot destination `name` as it is configured.
    pub fn new(name: &str, config: &HubspotConfig, clock: Arc<dyn Clock>) -> Result<Self, ClientError> {
        let HubspotConfig { crm, access } = config;
        let client =
            |guards| GuardedClient::new(&crm.url, &guards, Arc::new(SystemLookup), Arc::clone(&clock));
        let guards = guards(name, config);
        let credentials = Arc::new(credentials(name, access));
        let source = match access {
            HubspotAccess::PrivateApp(token) => Source::Private(token.clone()),
            HubspotAccess::OAuth {
                client_id,
                client_secret,
                refresh_token,
            } => Source::OAuth(Box::new(OAuth {
                // What a token call takes is lost to the request that waits for it.
                client: client(Guards {
                    timeout: guards.timeout / 2,
                    ..guards.clone()
                })?,
                url: request::under(&crm.url, &["oauth", "v1", "token"]),
                client_id: client_id.clone(),
                client_secret: client_secret.clone(),
                refresh_token: Mutex::new(RefreshToken::configured(refresh_token)),
                secrets: Arc::clone(&guards.secrets),
                destination: name.to_owned(),
                credentials: Arc::clone(&credentials),
            })),
        };
        let portal = Portal {
            url: crm.url.clone(),
            timeout: guards.timeout,
            client: client(guards)?,
            tokens: Tokens::new(source, credentials, Arc::clone(&clock)),
            heard: LastHeard::default(),
            clock,
        };
        Ok(Self {
            portal: Arc::new(portal),
            rendering: HubSpotRendering::of(crm),
        })
    }
}

impl Portal {
    /// Sends `request`, once, and takes note of what the answer says of the daily limit.
    async fn send(&self, request: Request) -> Exchange {
        let exchange = self.client.send(request).await;
        let headers = exchange.result.as_ref().map(|answer| &answer.headers);
        if let Some(usage) = headers.ok().and_then(usage::usage) {
            let at = self.clock.monotonic();
            self.heard.set(Heard { usage, at });
        }
        exchange
    }
}

/// The settings that `access` stands in.
fn credentials(name: &str, access: &HubspotAccess) -> Credentials {
    match access {
        HubspotAccess::PrivateApp(_) => {
            Credentials::new(name, "the private app in HubSpot", &["access_token"])
        }
        HubspotAccess::OAuth { .. } => {
            let settings = ["client_id", "client_secret", "refresh_token"];
            Credentials::new(name, "the app in HubSpot", &settings)
        }
    }
}

fn guards(name: &str, config: &HubspotConfig) -> Guards {
    let bytes = |limit: u32| usize::try_from(limit).unwrap_or(usize::MAX);
    let transport = &config.crm.transport;
    let read = bytes(transport.max_response_bytes);
    Guards {
        rule: TargetRule {
            destination: name.to_owned(),
            allow_http: transport.allow_http,
            allow_networks: transport.allow_networks.clone(),
        },
        timeout: transport.timeout,
        connect_timeout: transport.connect_timeout,
        proxy: transport.proxy.clone(),
        body: BodyCaps {
            read,
            keep: bytes(transport.keep_response_bytes),
            parse: read,
        },
        secrets: KnownSecrets::new(secrets(&config.access), transport.proxy.as_ref()),
    }
}

fn secrets(access: &HubspotAccess) -> Secrets {
    let secrets = match access {
        HubspotAccess::PrivateApp(token) => vec![token],
        HubspotAccess::OAuth {
            client_id,
            client_secret,
            refresh_token,
        } => vec![client_id, client_secret, refresh_token],
    };
    Secrets::of(secrets.into_iter().map(ExposeSecret::expose_secret))
}

#[async_trait::async_trait]
impl Destination for HubSpot {
    fn batch_limit(&self) -> usize {
        MAX_INPUTS
    }

    fn rendering(&self) -> Rendering {
        self.rendering.to_text()
    }

    fn under(&self, rendering: &Rendering) -> Result<Box<dyn Destination>, UnknownRendering> {
        Ok(Box::new(Self {
            portal: Arc::clone(&self.portal),
            rendering: HubSpotRendering::parse(rendering)?,
        }))
    }

    async fn preflight(&self, now: Timestamp) -> Vec<Finding> {
        preflight::look(&self.portal, &self.rendering, now).await
    }

    fn usage(&self) -> Option<Heard> {
        self.portal.heard.get()
    }

    fn preview(&self, batch: &[Outgoing]) -> Preview {
        preview::preview(&self.portal.url, &self.rendering, batch)
    }

    async fn deliver(&self, batch: &[Outgoing]) -> Vec<Report> {
        let Some(first) = batch.first() else {
            return vec![];
        };
        let deadline = self.portal.clock.monotonic().saturating_add(self.portal.timeout);
        let plan = Plan::of(&self.rendering, batch);
        let mut reports: Vec<Option<Report>> = vec![None; batch.len()];
        for (place, why) in &plan.left_out {
            reports[*place] = Some(report::left_out(why));
        }
        let unreported = match self.portal.tokens.get(first.now).await {
            Ok(token) => {
                let sending = Sending {
                    portal: &self.portal,
                    rendering: &self.rendering,
                    token: &token,
                    batch,
                    now: first.now,
                    deadline,
                };
                for (place, report) in sending.all(&plan).await {
                    reports[place] = Some(report);
                }
                Report::unknown("the answer says nothing of this row")
            }
            Err(trouble) => report::without_token(&trouble),
        };
        let reported = |report: Option<Report>| report.unwrap_or_else(|| unreported.clone());
        reports.into_iter().map(reported).collect()
    }
}
