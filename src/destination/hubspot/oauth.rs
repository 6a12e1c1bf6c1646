//! `POST /oauth/v1/token`: a new access token for a refresh token.
//!
//! A refresh token that HubSpot replaces is kept in memory and used from then on, and nowhere else: the database is read by
//! more people than may have it, and a file of secrets is not ours to write. The configuration still has the old one, which
//! is what a restart begins with, so the log says once that it was replaced.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderValue};
use reqwest::{Method, Request};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use tokio::sync::Mutex;
use url::{Url, form_urlencoded};

use super::tokens::bearer;
use crate::core::time::Timestamp;
use crate::destination::answer::Answer;
use crate::destination::client::GuardedClient;
use crate::destination::credentials::Credentials;
use crate::destination::failure::Failure;
use crate::destination::secrets::{KnownSecrets, refusal};
use crate::destination::status::asked_wait;

/// What the token endpoint needs to be asked.
pub(super) struct OAuth {
    /// The destination, for the log.
    pub(super) destination: String,
    pub(super) client: GuardedClient,
    pub(super) url: Url,
    pub(super) client_id: SecretString,
    pub(super) client_secret: SecretString,
    pub(super) refresh_token: Mutex<RefreshToken>,
    /// Where a token that is replaced is made known.
    pub(super) secrets: Arc<KnownSecrets>,
    pub(super) credentials: Arc<Credentials>,
}

/// The refresh token in use. Never shown: it derives no `Debug`.
pub(super) struct RefreshToken {
    token: SecretString,
    origin: Origin,
}

/// Where the refresh token in use comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    Configuration,
    Endpoint,
}

/// What became of the refresh token in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Handover {
    /// It is still good.
    Kept,
    /// The configuration's was replaced.
    Replaced,
    /// One that was itself a replacement was.
    ReplacedAgain,
}

/// A token, fresh from its source.
pub(super) struct Granted {
    pub(super) header: HeaderValue,
    /// From the answer on; none: it does not end.
    pub(super) lifetime: Option<Duration>,
}

/// Why there is no token. The sentences hold no secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TokenTrouble {
    /// The credentials are not good: a person must mend them.
    Refused(String),
    /// The endpoint asks to wait.
    Throttled(String, Option<Duration>),
    /// No answer that says anything. Nothing was sent of any row.
    Unreachable(String),
}

/// Never shown: it derives no `Debug`.
#[derive(Deserialize)]
struct TokenAnswer {
    access_token: String,
    expires_in: u32,
    #[serde(default)]
    refresh_token: Option<String>,
}

/// How the endpoint says no: `{"status":"BAD_REFRESH_TOKEN","message":…}`, or in OAuth's own members.
#[derive(Default, Deserialize)]
struct TokenError {
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    error: Option<String>,
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    error_description: Option<String>,
}

impl Granted {
    /// A token that does not end.
    pub(super) fn forever(token: &SecretString) -> Result<Self, TokenTrouble> {
        Self::of(token, None)
    }

    fn of(token: &SecretString, lifetime: Option<Duration>) -> Result<Self, TokenTrouble> {
        match bearer(token) {
            Some(header) => Ok(Self { header, lifetime }),
            None => Err(TokenTrouble::Refused(
                "the access token holds characters that no header can carry; write it anew".to_owned(),
            )),
        }
    }
}

impl RefreshToken {
    /// The one that the configuration has.
    pub(super) fn configured(token: &SecretString) -> Self {
        Self {
            token: token.clone(),
            origin: Origin::Configuration,
        }
    }

    fn hand_over(&mut self, given: Option<String>) -> Handover {
        let Some(given) = given.filter(|given| given != self.token.expose_secret()) else {
            return Handover::Kept;
        };
        self.token = SecretString::from(given);
        match std::mem::replace(&mut self.origin, Origin::Endpoint) {
            Origin::Configuration => Handover::Replaced,
            Origin::Endpoint => Handover::ReplacedAgain,
        }
    }
}

impl OAuth {
    /// Asks for a token, once.
    pub(super) async fn renew(&self, now: Timestamp) -> Result<Granted, TokenTrouble> {
        let mut refresh_token = self.refresh_token.lock().await;
        let request = self.request(&refresh_token.token);
        let answer = match self.client.send(request).await.result {
            Ok(answer) => answer,
            Err(Failure::Unreachable(why) | Failure::Unknown(why)) => {
                return Err(TokenTrouble::Unreachable(format!("no access token: {why}")));
            }
        };
        let granted = self.read(&answer, now)?;
        let handover = refresh_token.hand_over(granted.refresh_token);
        self.secrets.take_over(refresh_token.token.expose_secret());
        if handover == Handover::Replaced {
            tracing::warn!(
                destination = self.destination,
                "HubSpot has replaced the refresh token; the new one is kept in memory only, so a restart begins with the \
                 configured one: if HubSpot no longer takes that, connect the app anew and configure what it gives",
            );
        }
        let lifetime = Duration::from_secs(granted.expires_in.into());
        Granted::of(&SecretString::from(granted.access_token), Some(lifetime))
    }

    fn request(&self, refresh_token: &SecretString) -> Request {
        let form = form_urlencoded::Serializer::new(String::new())
            .append_pair("grant_type", "refresh_token")
            .append_pair("client_id", self.client_id.expose_secret())
            .append_pair("client_secret", self.client_secret.expose_secret())
            .append_pair("refresh_token", refresh_token.expose_secret())
            .finish();
        let mut request = Request::new(Method::POST, self.url.clone());
        let form_type = HeaderValue::from_static("application/x-www-form-urlencoded");
        request.headers_mut().insert(CONTENT_TYPE, form_type);
        *request.body_mut() = Some(form.into());
        request
    }

    fn read(&self, answer: &Answer, now: Timestamp) -> Result<TokenAnswer, TokenTrouble> {
        let status = answer.status;
        match status {
            200..=299 => serde_json::from_slice(&answer.body).map_err(|_| {
                TokenTrouble::Unreachable(format!(
                    "no access token: HTTP {status}, but the answer holds none that can be read"
                ))
            }),
            429 => Err(TokenTrouble::Throttled(
                "no access token: HTTP 429 from the token endpoint".to_owned(),
                asked_wait(&answer.headers, now),
            )),
            400..=499 => {
                let error: TokenError = serde_json::from_slice(&answer.body).unwrap_or_default();
                let code = error.status.or(error.error).unwrap_or_default();
                let reason = error.message.or(error.error_description).unwrap_or_default();
                let refusal = refusal(status, &code, &reason, &answer.secrets);
                let way_out = self.credentials.way_out();
                Err(TokenTrouble::Refused(format!(
                    "no access token: {refusal}; {way_out}, then resume"
                )))
            }
            _ => Err(TokenTrouble::Unreachable(format!(
                "no access token: HTTP {status} from the token endpoint"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refresh_token_that_is_replaced_is_told_of_once_and_one_that_is_repeated_never() {
        let mut in_use = RefreshToken::configured(&"configured".into());
        let mut given = |token: Option<&str>| in_use.hand_over(token.map(str::to_owned));
        assert_eq!(given(None), Handover::Kept);
        assert_eq!(given(Some("configured")), Handover::Kept);
        assert_eq!(given(Some("second")), Handover::Replaced);
        assert_eq!(given(Some("second")), Handover::Kept);
        assert_eq!(given(Some("third")), Handover::ReplacedAgain);
        assert_eq!(in_use.token.expose_secret(), "third");
    }
}
