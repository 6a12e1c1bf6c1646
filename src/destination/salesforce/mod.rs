//! The Salesforce destination: rows upsert records by an external id, up to 200 a request, or 10,000 a job (`bulk`).
//!
//! ```text
//!  batch ─▶ plan ─▶ one request (upsert of several, upsert or delete of one) ─▶ reading ─▶ reports
//!             │          with the token of `session`
//!             └─▶ what does not fit it comes again alone
//! ```
//!
//! A row is delivered only if an answer says so of that row. One delivery is one request at most: a token that is refused
//! is replaced before the next, so that each request is an attempt on record.

mod bulk;
mod classify;
mod login;
mod plan;
mod preflight;
mod preview;
mod reading;
mod record;
mod rendering;
mod report;
mod request;
mod session;
#[cfg(test)]
mod tests;
mod usage;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use secrecy::ExposeSecret;
use url::Url;

use super::answer::BodyCaps;
use super::bulk::Bulk;
use super::client::{ClientError, Exchange, GuardedClient, Guards};
use super::failure::Failure;
use super::preflight::Finding;
use super::preview::Preview;
use super::resolver::{Lookup, SystemLookup};
use super::secrets::KnownSecrets;
use super::usage::Heard;
use super::{Destination, Outgoing, Rendering, UnknownRendering};
use crate::clock::Clock;
use crate::config::SalesforceConfig;
use crate::config::destination::salesforce::{LoginProof, SalesforceLogin};
use crate::core::key::IdempotencyKey;
use crate::core::outcome::{Outcome, Report};
use crate::core::secrets::Secrets;
use crate::core::target::TargetRule;
use crate::core::time::Timestamp;
use classify::{Judgement, Met, judged};
use login::{BadPrivateKey, Login};
use plan::{Call, Plan};
use reading::{About, Reading};
use rendering::SalesforceRendering;
use report::Evidence;
use session::{Session, Sessions};
use usage::Reserve;

/// What a call of sObject Collections takes.
const MOST_RECORDS: usize = 200;

/// An org, and the object in it that rows go to.
pub struct Salesforce {
    org: Arc<Org>,
    rendering: SalesforceRendering,
}

/// What stays the same under every rendering.
struct Org {
    sessions: Sessions,
    reserve: Reserve,
    login_url: Url,
    /// For a delivery, logging in included.
    timeout: Duration,
    /// Bytes of what is said of a row that an attempt keeps.
    keep_response_bytes: usize,
    /// From so many rows on they go by a job; none: never.
    bulk_threshold: Option<usize>,
    /// For a job as a whole.
    bulk_timeout: Duration,
    clock: Arc<dyn Clock>,
}

/// A Salesforce destination that cannot be made. Messages show no secret.
#[derive(Debug, thiserror::Error)]
pub enum SalesforceError {
    /// Its URL, proxy or TLS.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// Its key.
    #[error(transparent)]
    PrivateKey(#[from] BadPrivateKey),
}

impl Salesforce {
    /// The destination `name` as it is configured.
    pub fn new(
        name: &str,
        config: &SalesforceConfig,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, SalesforceError> {
        Self::with_lookup(name, config, clock, Arc::new(SystemLookup))
    }

    /// The same with another look-up of names.
    pub fn with_lookup(
        name: &str,
        config: &SalesforceConfig,
        clock: Arc<dyn Clock>,
        lookup: Arc<dyn Lookup>,
    ) -> Result<Self, SalesforceError> {
        let crm = &config.crm;
        let guards = guards(name, config);
        // Half of the time is for logging in, so that the rest is for the request.
        let at_login = Guards {
            timeout: guards.timeout / 2,
            ..guards.clone()
        };
        let keep_response_bytes = guards.body.keep;
        let login = Login::new(name, &crm.url, &config.login)?;
        let client = GuardedClient::new(&crm.url, &at_login, Arc::clone(&lookup), Arc::clone(&clock))?;
        let org = Org {
            sessions: Sessions::new(login, client, guards, lookup, Arc::clone(&clock)),
            reserve: Reserve::new(config.daily_limit_reserve),
            login_url: crm.url.clone(),
            timeout: crm.transport.timeout,
            keep_response_bytes,
            bulk_threshold: config.bulk_threshold,
            bulk_timeout: config.bulk_timeout,
            clock,
        };
        Ok(Self {
            org: Arc::new(org),
            rendering: SalesforceRendering::of(config),
        })
    }

    /// Sends `call`, which is about the rows at `places`, and reports on each.
    async fn send(
        &self,
        call: Call,
        places: &[usize],
        batch: &[Outgoing],
        deadline: Duration,
    ) -> Vec<Report> {
        let about = About::of(&call, places.len(), &self.rendering);
        let now = batch[0].now;
        let all_alike = |report: Report| vec![report; places.len()];
        if let Some(left) = self.org.reserve.rest(self.org.clock.monotonic()) {
            return all_alike(report::resting(left));
        }
        let session = match self.org.sessions.get(now).await {
            Ok(session) => session,
            Err(trouble) => return all_alike(report::without_session(&trouble)),
        };
        let left = deadline.saturating_sub(self.org.clock.monotonic());
        if left.is_zero() {
            return all_alike(report::too_late());
        }
        let keys: Vec<IdempotencyKey> = places.iter().map(|place| batch[*place].key).collect();
        let authorization = session.authorization.clone();
        let built = request::build(&session.instance.url, &self.rendering, call, &keys, authorization);
        let Ok((mut request, digest)) = built else {
            return all_alike(report::unmakeable());
        };
        *request.timeout_mut() = Some(left);
        let Exchange { result, duration } = session.instance.client.send(request).await;
        let mut evidence = Evidence {
            status: None,
            excerpt: None,
            secrets: Secrets::none(),
            keep: self.org.keep_response_bytes,
            digest,
            duration,
        };
        let reading = match result {
            Ok(answer) => {
                evidence.status = Some(answer.status);
                evidence.excerpt.clone_from(&answer.excerpt);
                evidence.secrets.clone_from(&answer.secrets);
                self.org.reserve.note(&answer.headers, self.org.clock.monotonic());
                reading::read(&answer, about, now)
            }
            Err(failure) => Reading::Alike(unanswered(failure)),
        };
        self.reports(reading, places.len(), &session, &evidence)
    }

    fn reports(&self, reading: Reading, rows: usize, session: &Session, evidence: &Evidence) -> Vec<Report> {
        let sessions = &self.org.sessions;
        match reading {
            Reading::Each(judgements) => {
                sessions.taken(session);
                let evidence = evidence.of_each(rows);
                let report = |judgement| report::of(judgement, &evidence);
                judgements.into_iter().map(report).collect()
            }
            Reading::Alike(judgement) => {
                let judgement = if judgement.met == Met::TokenRefused {
                    sessions.about_token(judgement, session)
                } else {
                    if evidence.status.is_some() {
                        sessions.taken(session);
                    }
                    judgement
                };
                vec![report::of(judgement, evidence); rows]
            }
        }
    }
}

#[async_trait::async_trait]
impl Destination for Salesforce {
    fn batch_limit(&self) -> usize {
        // Only the call about one record can forbid to create it.
        if self.rendering.update_only {
            1
        } else {
            MOST_RECORDS
        }
    }

    fn rendering(&self) -> Rendering {
        self.rendering.to_text()
    }

    fn under(&self, rendering: &Rendering) -> Result<Box<dyn Destination>, UnknownRendering> {
        Ok(Box::new(Self {
            org: Arc::clone(&self.org),
            rendering: SalesforceRendering::parse(rendering)?,
        }))
    }

    fn bulk(&self) -> Option<&dyn Bulk> {
        Some(self)
    }

    async fn preflight(&self, now: Timestamp) -> Vec<Finding> {
        preflight::look(&self.org, &self.rendering, now).await
    }

    fn usage(&self) -> Option<Heard> {
        self.org.reserve.heard()
    }

    fn preview(&self, batch: &[Outgoing]) -> Preview {
        preview::preview(&self.org.login_url, &self.rendering, batch)
    }

    async fn deliver(&self, batch: &[Outgoing]) -> Vec<Report> {
        let deadline = self.org.clock.monotonic().saturating_add(self.org.timeout);
        let Plan {
            places,
            call,
            left_out,
        } = Plan::of(&self.rendering, batch);
        let mut reports: Vec<Option<Report>> = vec![None; batch.len()];
        for (place, why) in &left_out {
            reports[*place] = Some(report::left_out(why));
        }
        if let Some(call) = call {
            let sent = self.send(call, &places, batch, deadline).await;
            for (place, report) in places.iter().zip(sent) {
                reports[*place] = Some(report);
            }
        }
        let missing = || Report::unknown("the answer says nothing of this row");
        reports
            .into_iter()
            .map(|report| report.unwrap_or_else(missing))
            .collect()
    }
}

fn unanswered(failure: Failure) -> Judgement {
    match failure {
        Failure::Unreachable(why) => judged(Outcome::Unreachable, why),
        Failure::Unknown(why) => judged(Outcome::Unknown, why),
    }
}

fn guards(name: &str, config: &SalesforceConfig) -> Guards {
    let bytes = |limit: u32| usize::try_from(limit).unwrap_or(usize::MAX);
    let transport = &config.crm.transport;
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
            read: bytes(transport.max_response_bytes),
            keep: bytes(transport.keep_response_bytes),
            parse: bytes(transport.max_response_bytes),
        },
        secrets: KnownSecrets::new(secrets(&config.login), transport.proxy.as_ref()),
    }
}

fn secrets(login: &SalesforceLogin) -> Secrets {
    let proof = match &login.proof {
        LoginProof::ClientSecret(secret) => secret,
        LoginProof::PrivateKey { pem, .. } => pem,
    };
    Secrets::of([login.client_id.expose_secret(), proof.expose_secret()])
}
