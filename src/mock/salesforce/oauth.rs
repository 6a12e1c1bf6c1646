//! The token endpoint, and which tokens are good.

use std::collections::HashMap;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use jiff::Timestamp;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::json;

use super::error::refusal;
use super::id;
use super::jwt::{self, PublicKey};
use crate::mock::crm::{Answer, Request};

const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/// Who may have a token.
#[derive(Debug, Clone)]
pub struct Access {
    /// The connected app; any may if there is none.
    pub client: Option<ConnectedApp>,
    /// The key by which assertions are checked; any signature will do if there is none.
    pub public_key: Option<PublicKey>,
    /// How long a token is good.
    pub session: Duration,
    /// Where tokens send their clients; by default where the token was asked for.
    pub instance_url: Option<String>,
}

/// What a client shows to be known.
#[derive(Debug, Clone)]
pub struct ConnectedApp {
    /// The consumer key.
    pub id: String,
    /// The consumer secret.
    pub secret: SecretString,
}

impl Default for Access {
    /// Anybody, for two hours.
    fn default() -> Self {
        Self {
            client: None,
            public_key: None,
            session: Duration::from_hours(2),
            instance_url: None,
        }
    }
}

impl Default for ConnectedApp {
    /// The one that the mock takes where it is a process of its own.
    fn default() -> Self {
        Self {
            id: "mock-client-id".into(),
            secret: "mock-client-secret".into(),
        }
    }
}

/// The tokens that were given out.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    expiries: HashMap<String, Timestamp>,
    given: u64,
}

impl Sessions {
    /// Answers a request for a token.
    pub(super) fn give(&mut self, request: &Request, access: &Access, now: Timestamp) -> Answer {
        match grant(request, access, now) {
            Ok(()) => self.token(request, access, now),
            Err(Refused { error, description }) => {
                Answer::json(400, &json!({ "error": error, "error_description": description }))
            }
        }
    }

    /// The refusal, if the request carries no good token.
    pub(super) fn check(&self, request: &Request, now: Timestamp) -> Option<Answer> {
        let header = request.header("authorization").unwrap_or_default();
        let token = header
            .strip_prefix("Bearer ")
            .or_else(|| header.strip_prefix("OAuth "));
        let Some(token) = token else {
            return Some(refusal(401, "INVALID_AUTH_HEADER", "INVALID_HEADER_TYPE"));
        };
        let good = self.expiries.get(token).is_some_and(|expiry| now < *expiry);
        (!good).then(|| refusal(401, "INVALID_SESSION_ID", "Session expired or invalid"))
    }

    pub(super) fn expire(&mut self) {
        self.expiries.clear();
    }

    fn token(&mut self, request: &Request, access: &Access, now: Timestamp) -> Answer {
        self.given += 1;
        let (org, user) = (id::make("00D", 1), id::make("005", 1));
        let token = format!("{}!AR8AQ.{:08}", &org[..15], self.given);
        let expiry = now.checked_add(access.session).unwrap_or(Timestamp::MAX);
        self.expiries.insert(token.clone(), expiry);
        let here = format!("http://{}", request.header("host").unwrap_or("localhost"));
        Answer::json(
            200,
            &json!({
                "access_token": token,
                // Nobody checks it, and the org's secret is none of ours.
                "signature": BASE64_STANDARD.encode([0; 32]),
                "scope": "api",
                "instance_url": access.instance_url.as_ref().unwrap_or(&here),
                "id": format!("{here}/id/{org}/{user}"),
                "token_type": "Bearer",
                "issued_at": now.as_millisecond().to_string(),
            }),
        )
        .with("cache-control", "no-store")
    }
}

/// What the token endpoint says no with.
struct Refused {
    error: &'static str,
    description: &'static str,
}

fn grant(request: &Request, access: &Access, now: Timestamp) -> Result<(), Refused> {
    let invalid_grant = |description| Refused {
        error: "invalid_grant",
        description,
    };
    match request.form("grant_type").as_deref() {
        Some("client_credentials") => {
            let (id, secret) = shown(request);
            secret.as_ref().ok_or(UNKNOWN_CLIENT)?;
            check_client(access, id.as_deref(), secret.as_deref())
        }
        Some(JWT_BEARER) => {
            let assertion = request.form("assertion").unwrap_or_default();
            let claims = jwt::read(&assertion, access.public_key.as_ref(), now).map_err(invalid_grant)?;
            if claims.sub.is_empty() {
                return Err(invalid_grant("user hasn't approved this consumer"));
            }
            check_client(access, Some(&claims.iss), None)
        }
        Some("refresh_token") => {
            let (id, secret) = shown(request);
            check_client(access, id.as_deref(), secret.as_deref())?;
            match request.form("refresh_token") {
                Some(token) if !token.is_empty() => Ok(()),
                _ => Err(invalid_grant("expired access/refresh token")),
            }
        }
        _ => Err(Refused {
            error: "unsupported_grant_type",
            description: "grant type not supported",
        }),
    }
}

const UNKNOWN_CLIENT: Refused = Refused {
    error: "invalid_client",
    description: "invalid client credentials",
};

/// Client id and secret, from the `Authorization` header or from the body: clients differ.
fn shown(request: &Request) -> (Option<String>, Option<String>) {
    let basic = request
        .header("authorization")
        .and_then(|header| header.strip_prefix("Basic "))
        .and_then(|encoded| BASE64_STANDARD.decode(encoded).ok())
        .and_then(|decoded| String::from_utf8(decoded).ok());
    match basic.as_deref().and_then(|pair| pair.split_once(':')) {
        Some((id, secret)) => (Some(id.to_owned()), Some(secret.to_owned())),
        None => (request.form("client_id"), request.form("client_secret")),
    }
}

fn check_client(access: &Access, id: Option<&str>, secret: Option<&str>) -> Result<(), Refused> {
    match (&access.client, id) {
        (_, None | Some("")) => Err(UNKNOWN_CLIENT),
        (None, Some(_)) => Ok(()),
        (Some(known), Some(id)) if known.id != id => Err(Refused {
            error: "invalid_client_id",
            description: "client identifier invalid",
        }),
        (Some(known), _) => match secret {
            Some(secret) if secret != known.secret.expose_secret() => Err(UNKNOWN_CLIENT),
            _ => Ok(()),
        },
    }
}
