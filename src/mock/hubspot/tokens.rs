//! Who may call: the private app's token, and OAuth access tokens that really expire.
//!
//! Time is an argument, and so is nothing else: a token is a serial number, so that a run repeats.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

use super::limits::App;
use super::refusal::Refusal;
use crate::mock::crm::Request;

/// What a portal gives access to, and for how long.
#[derive(Debug, Clone)]
pub struct Access {
    /// The private app's token.
    pub private_app_token: SecretString,
    /// The OAuth app.
    pub client_id: String,
    /// Its secret.
    pub client_secret: SecretString,
    /// The refresh token of its installation.
    pub refresh_token: SecretString,
    /// How long an access token is good; `expires_in`.
    pub lifetime: Duration,
    /// What both apps may do.
    pub scopes: Vec<String>,
}

impl Default for Access {
    fn default() -> Self {
        let types = ["contacts", "companies", "deals", "products", "custom"];
        let scopes = types.iter().flat_map(|object| {
            ["objects", "schemas"].map(|part| {
                let read = format!("crm.{part}.{object}.read");
                let write = format!("crm.{part}.{object}.write");
                [read, write]
            })
        });
        Self {
            private_app_token: "pat-na1-mock".into(),
            client_id: "mock-client-id".into(),
            client_secret: "mock-client-secret".into(),
            refresh_token: "mock-refresh-token".into(),
            lifetime: Duration::from_mins(30),
            scopes: std::iter::once("oauth".to_owned())
                .chain(scopes.flatten())
                .collect(),
        }
    }
}

/// The tokens of one portal.
#[derive(Debug)]
pub(super) struct Tokens {
    access: Access,
    portal: u64,
    /// Access tokens that were given out, and when they end.
    issued: BTreeMap<String, Timestamp>,
    serial: u64,
    /// The latest time that was seen here.
    seen: Timestamp,
}

impl Tokens {
    pub(super) fn new(access: Access, portal: u64) -> Self {
        Self {
            access,
            portal,
            issued: BTreeMap::new(),
            serial: 0,
            seen: Timestamp::MIN,
        }
    }

    /// The app whose token the `Authorization` header carries.
    pub(super) fn app(&mut self, authorization: Option<&str>, now: Timestamp) -> Result<App, Refusal> {
        self.seen = now;
        let token = authorization
            .and_then(|value| value.split_once(' '))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
            .map(|(_, token)| token.trim())
            .ok_or(Refusal::BadToken)?;
        if token == self.access.private_app_token.expose_secret() {
            return Ok(App::Private);
        }
        let end = self.issued.get(token).ok_or(Refusal::BadToken)?;
        if now < *end {
            return Ok(App::OAuth);
        }
        Err(Refusal::ExpiredToken {
            ago: now.duration_since(*end),
        })
    }

    /// Whether both apps may do what needs this scope.
    pub(super) fn require(&self, scope: &str) -> Result<(), Refusal> {
        if self.access.scopes.iter().any(|granted| granted == scope) {
            return Ok(());
        }
        Err(Refusal::MissingScopes(vec![scope.to_owned()]))
    }

    /// Takes scopes away, or gives them: the list counts from now on.
    pub(super) fn set_scopes(&mut self, scopes: Vec<String>) {
        self.access.scopes = scopes;
    }

    /// Ends all access tokens that were given out, as of the last call.
    pub(super) fn expire(&mut self) {
        for end in self.issued.values_mut() {
            *end = self.seen.min(*end);
        }
    }

    /// Forgets all access tokens; serial numbers go on.
    pub(super) fn clear(&mut self) {
        self.issued.clear();
    }

    /// Answers the token endpoint's form.
    pub(super) fn grant(&mut self, form: &Request, now: Timestamp) -> Result<Value, Refusal> {
        let given = |name: &str, wanted: &str| form.form(name).as_deref() == Some(wanted);
        let refused = |status, message: &str| {
            Err(Refusal::Grant {
                status,
                message: message.to_owned(),
            })
        };
        if !given("grant_type", "refresh_token") {
            return refused("BAD_GRANT_TYPE", "missing or unknown grant type");
        }
        if !given("client_id", &self.access.client_id) {
            return refused("BAD_CLIENT_ID", "missing or unknown client id");
        }
        if !given("client_secret", self.access.client_secret.expose_secret()) {
            return refused("BAD_CLIENT_SECRET", "missing or invalid client secret");
        }
        if !given("refresh_token", self.access.refresh_token.expose_secret()) {
            return refused("BAD_REFRESH_TOKEN", "missing or invalid refresh token");
        }
        self.serial += 1;
        self.seen = now;
        let token = format!("mock-access-token-{}", self.serial);
        let end = now.checked_add(self.access.lifetime).unwrap_or(Timestamp::MAX);
        self.issued.insert(token.clone(), end);
        Ok(json!({
            "token_type": "bearer",
            "refresh_token": self.access.refresh_token.expose_secret(),
            "access_token": token,
            "hub_id": self.portal,
            "scopes": self.access.scopes,
            "token_use": "access_token",
            "expires_in": self.access.lifetime.as_secs(),
        }))
    }

    /// What is known of an access token: `GET /oauth/v1/access-tokens/{token}`.
    pub(super) fn describe(&self, token: &str, now: Timestamp) -> Result<Value, Refusal> {
        let end = self.issued.get(token).filter(|end| now < **end);
        let end = end.ok_or_else(|| Refusal::NotFound {
            message: "access token is invalid or expired".into(),
        })?;
        Ok(json!({
            "token": token,
            "token_type": "access",
            "user": "mock@example.com",
            "user_id": 1,
            "hub_domain": "mock.example.com",
            "hub_id": self.portal,
            "app_id": 1,
            "scopes": self.access.scopes,
            "expires_in": end.duration_since(now).as_secs(),
        }))
    }

    /// What is known of the private app's token: `POST /oauth/v2/private-apps/get/access-token-info`.
    pub(super) fn describe_private_app(&self, token: &str) -> Result<Value, Refusal> {
        if token != self.access.private_app_token.expose_secret() {
            return Err(Refusal::BadToken);
        }
        Ok(json!({
            "userId": 1,
            "hubId": self.portal,
            "appId": 1,
            "scopes": self.access.scopes,
        }))
    }

    /// `POST /oauth/v3/introspect`: what a token is good for, or that it is good for nothing.
    pub(super) fn introspect(&self, token: &str, now: Timestamp) -> Value {
        match self.issued.get(token).filter(|end| now < **end) {
            Some(end) => json!({
                "active": true,
                "token_use": "access_token",
                "token_type": "bearer",
                "client_id": self.access.client_id,
                "hub_id": self.portal,
                "scopes": self.access.scopes,
                "exp": end.as_second(),
            }),
            None => json!({ "active": false }),
        }
    }

    /// Ends one access token.
    pub(super) fn revoke(&mut self, token: &str) {
        self.issued.remove(token);
    }
}

#[cfg(test)]
mod tests {
    use axum::http::Method;
    use jiff::SignedDuration;

    use super::*;

    fn start() -> Timestamp {
        Timestamp::from_second(1_782_324_337).unwrap()
    }

    fn form(refresh_token: &str) -> Request {
        let form = "grant_type=refresh_token&client_id=mock-client-id&client_secret=mock-client-secret";
        let form = format!("{form}&refresh_token={refresh_token}");
        Request::new(Method::POST, "/oauth/v1/token", form)
    }

    fn bearer(tokens: &mut Tokens) -> String {
        let granted = tokens.grant(&form("mock-refresh-token"), start()).unwrap();
        format!("Bearer {}", granted["access_token"].as_str().unwrap())
    }

    #[test]
    fn an_access_token_is_good_until_it_expires_and_then_says_since_when_it_is_not() {
        let mut tokens = Tokens::new(Access::default(), 1);
        let bearer = bearer(&mut tokens);
        let mut app = |after| tokens.app(Some(&bearer), start() + SignedDuration::from_secs(after));
        assert_eq!(app(1799), Ok(App::OAuth));
        assert_eq!(
            app(1807),
            Err(Refusal::ExpiredToken {
                ago: SignedDuration::from_secs(7)
            })
        );
    }

    #[test]
    fn tokens_can_be_expired_at_once_and_the_private_app_is_not_touched() {
        let mut tokens = Tokens::new(Access::default(), 1);
        let bearer = bearer(&mut tokens);
        tokens.expire();
        assert_eq!(
            tokens.app(Some(&bearer), start()),
            Err(Refusal::ExpiredToken {
                ago: SignedDuration::ZERO
            })
        );
        assert_eq!(tokens.app(Some("bearer pat-na1-mock"), start()), Ok(App::Private));
        assert_eq!(
            tokens.app(Some("Bearer nobody's"), start()),
            Err(Refusal::BadToken)
        );
        assert_eq!(tokens.app(None, start()), Err(Refusal::BadToken));
    }

    #[test]
    fn a_wrong_refresh_token_is_refused_by_name() {
        let mut tokens = Tokens::new(Access::default(), 1);
        let refused = tokens.grant(&form("stale"), start()).unwrap_err();
        assert_eq!(refused.status(), 400);
        assert_eq!(refused.body("c")["status"], "BAD_REFRESH_TOKEN");
    }

    #[test]
    fn no_secret_is_printed() {
        let printed = format!("{:?}", Access::default());
        assert!(
            !printed.contains("mock-client-secret") && !printed.contains("pat-na1"),
            "{printed}"
        );
    }
}
