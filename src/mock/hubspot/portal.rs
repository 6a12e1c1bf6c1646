//! A portal: which path is which call, who may make it, and how many of them.
//!
//! ```text
//!  request ──▶ token? ──▶ limits? ──▶ scope? ──▶ batch · objects · properties · account
//!     └──▶ /oauth: no token needed
//! ```

use std::sync::Arc;

use axum::http::Method;
use jiff::Timestamp;
use serde_json::json;

use super::batch::{self, Write};
use super::call::Call;
use super::fault::HubSpotFault;
use super::limits::{App, CallCounts};
use super::records::{ObjectType, Records};
use super::refusal::Refusal;
use super::tokens::Tokens;
use super::values::iso;
use super::{HubSpotOptions, objects, properties};
use crate::mock::crm::{Answer, Crm, Faults, Request, Schema, Store};

/// The beginning of correlation ids; their end counts requests, so that a run repeats.
const CORRELATION: u128 = 0x6828_d000_3d2f_4701_8d90_0000_0000_0000;
/// Seconds after which HubSpot asks to be tried again while it moves a portal.
const MIGRATION_PAUSE: &str = "3600";

/// A HubSpot portal without the wire.
#[derive(Debug)]
pub struct HubSpot {
    options: HubSpotOptions,
    schema: Arc<Schema>,
    records: Records,
    tokens: Tokens,
    private_app: CallCounts,
    oauth_app: CallCounts,
    requests: u128,
}

/// What a path of the CRM stands for.
enum Resource<'a> {
    Objects(&'a str, Rest<'a>),
    Properties(&'a str, Rest<'a>),
}

/// What follows the object type in a path.
type Rest<'a> = &'a [&'a str];

impl HubSpot {
    /// An empty portal.
    pub fn new(options: HubSpotOptions) -> Self {
        let schema = Arc::new(options.schema.clone());
        Self {
            records: Records::new(options.portal, Arc::clone(&schema)),
            schema,
            tokens: Tokens::new(options.access.clone(), options.portal),
            private_app: CallCounts::new(App::Private, options.limits),
            oauth_app: CallCounts::new(App::OAuth, options.limits),
            requests: 0,
            options,
        }
    }

    /// Gives both apps exactly these scopes from now on.
    pub fn set_scopes(&mut self, scopes: Vec<String>) {
        self.tokens.set_scopes(scopes);
    }

    fn route(&mut self, call: &mut Call<'_>) -> Result<Answer, Refusal> {
        let segments = call.request.segments();
        let path: Vec<&str> = segments.iter().map(String::as_str).collect();
        if path.first() == Some(&"oauth") {
            return self.oauth(&path[1..], call);
        }
        let app = self.tokens.app(call.request.header("authorization"), call.now)?;
        let counts = match app {
            App::Private => &mut self.private_app,
            App::OAuth => &mut self.oauth_app,
        };
        let counted = counts.count(call.now);
        let headers = counts.headers(call.now);
        let answer = match counted {
            Ok(()) => self.authorized(&path, call),
            Err(policy) => Err(Refusal::rate_limited(policy)),
        };
        let mut answer = answer.unwrap_or_else(|refusal| self.refusal(&refusal));
        answer.headers.extend(headers);
        Ok(answer)
    }

    fn authorized(&mut self, path: &[&str], call: &mut Call<'_>) -> Result<Answer, Refusal> {
        if let ["account-info", "v3", "api-usage", "daily", "private-apps"] = path {
            return Ok(self.usage(call.now));
        }
        let schema = Arc::clone(&self.schema);
        match Resource::of(path) {
            Some(Resource::Objects(name, rest)) => {
                self.tokens.require(&scope("objects", name, call.request, rest))?;
                let of = ObjectType::of(&schema, name)?;
                self.objects(of, rest, call)
            }
            Some(Resource::Properties(name, rest)) => {
                self.tokens
                    .require(&format!("crm.schemas.{}.read", scoped(name)))?;
                let of = ObjectType::of(&schema, name)?;
                match (&call.request.method, rest) {
                    (&Method::GET, []) => Ok(properties::list(of)),
                    (&Method::GET, [property]) => properties::get(of, property),
                    (_, [] | [_]) => Err(Refusal::MethodNotAllowed),
                    _ => Err(no_such_path()),
                }
            }
            None => Err(no_such_path()),
        }
    }

    fn objects(
        &mut self,
        of: ObjectType<'_>,
        rest: Rest<'_>,
        call: &mut Call<'_>,
    ) -> Result<Answer, Refusal> {
        let records = &mut self.records;
        match (call.request.method.as_str(), rest) {
            ("POST", ["batch", "upsert"]) => batch::write(records, of, Write::Upsert, call),
            ("POST", ["batch", "create"]) => batch::write(records, of, Write::Create, call),
            ("POST", ["batch", "update"]) => batch::write(records, of, Write::Update, call),
            ("POST", ["batch", "read"]) => batch::read(records, of, call),
            ("POST", ["batch", "archive"]) => batch::archive(records, of, call),
            ("POST", ["merge"]) => objects::merge(records, of, call),
            ("POST", []) => objects::create(records, of, call),
            ("GET", []) => objects::list(records, of, call),
            (_, ["search"]) => Err(no_such_path()),
            ("GET", [id]) => objects::get(records, of, id, call),
            ("PATCH", [id]) => objects::update(records, of, id, call),
            ("DELETE", [id]) => objects::archive(records, of, id, call),
            (_, [] | [_] | ["batch", _]) => Err(Refusal::MethodNotAllowed),
            _ => Err(no_such_path()),
        }
    }

    fn oauth(&mut self, path: &[&str], call: &Call<'_>) -> Result<Answer, Refusal> {
        let token = call.request.form("token").unwrap_or_default();
        let body = match (call.request.method.as_str(), path) {
            ("POST", ["v1" | "v3", "token"]) => self.tokens.grant(call.request, call.now)?,
            ("POST", ["v3", "token", "introspect"] | ["v3", "introspect"]) => {
                self.tokens.introspect(&token, call.now)
            }
            ("POST", ["v3", "token", "revoke"] | ["v3", "revoke"]) => {
                self.tokens.revoke(&token);
                return Ok(Answer::empty(204));
            }
            ("GET", ["v1", "access-tokens", token]) => self.tokens.describe(token, call.now)?,
            ("POST", ["v2", "private-apps", "get", "access-token-info"]) => {
                let body: serde_json::Value = super::wire::read(&call.request.body)?;
                let token = body["tokenKey"].as_str().unwrap_or_default();
                self.tokens.describe_private_app(token)?
            }
            _ => return Err(no_such_path()),
        };
        Ok(Answer::json(200, &body))
    }

    fn usage(&mut self, now: Timestamp) -> Answer {
        let used = self.private_app.today(now);
        let midnight = Timestamp::from_second((now.as_second().div_euclid(86_400) + 1) * 86_400);
        Answer::json(
            200,
            &json!({ "results": [{
                "name": "private-apps-api-calls-daily",
                "usageLimit": self.options.limits.daily,
                "currentUsage": used,
                "collectedAt": iso(now),
                "fetchStatus": "SUCCESS",
                "resetsAt": iso(midnight.unwrap_or(now)),
            }] }),
        )
    }

    fn refusal(&self, refusal: &Refusal) -> Answer {
        let status = refusal.status();
        let answer = match refusal.page() {
            Some(page) => Answer::of(status, "text/html; charset=UTF-8", page),
            None => Answer::json(status, &refusal.body(&self.correlation_id())),
        };
        match refusal {
            Refusal::Migrating => answer.with("retry-after", MIGRATION_PAUSE),
            _ => answer,
        }
    }

    fn correlation_id(&self) -> String {
        uuid::Uuid::from_u128(CORRELATION + self.requests).to_string()
    }
}

impl Crm for HubSpot {
    type Fault = HubSpotFault;

    fn answer(&mut self, request: &Request, faults: &mut Faults<HubSpotFault>, now: Timestamp) -> Answer {
        self.requests += 1;
        let mut call = Call { request, faults, now };
        let answer = self.route(&mut call);
        let answer = answer.unwrap_or_else(|refusal| self.refusal(&refusal));
        answer.with("x-hubspot-correlation-id", self.correlation_id())
    }

    fn refuse(&mut self, request: &Request, fault: HubSpotFault) -> Answer {
        self.requests += 1;
        let answer = match fault.refusal() {
            Some(Refusal::MissingScopes(_)) => self.refusal(&Refusal::MissingScopes(missing_scopes(request))),
            Some(refusal) => self.refusal(&refusal),
            // Seen in the field: a success that says nothing of any input.
            None => Answer::json(200, &json!({ "status": "COMPLETE", "results": [], "errors": [] })),
        };
        answer.with("x-hubspot-correlation-id", self.correlation_id())
    }

    fn failure(&self, status: u16) -> Answer {
        let refusal = match status {
            423 => Refusal::Locked,
            477 => Refusal::Migrating,
            // What a proxy in front of HubSpot answers is a page.
            502..=504 | 520..=530 => Refusal::Page { status },
            _ => Refusal::Failed { status },
        };
        self.refusal(&refusal)
    }

    fn store(&self) -> &Store {
        &self.records.store
    }

    fn expire_tokens(&mut self) {
        self.tokens.expire();
    }

    fn reset(&mut self) {
        self.records.clear();
        self.tokens.clear();
        self.private_app.clear();
        self.oauth_app.clear();
    }
}

impl<'a> Resource<'a> {
    /// `/crm/v3/objects/…`, and the same under the dated names of versions: `/crm/objects/2026-03/…`.
    fn of(path: &'a [&'a str]) -> Option<Self> {
        let (resource, name, rest) = match path {
            ["crm", "v3", resource, name, rest @ ..] => (resource, name, rest),
            ["crm", resource, version, name, rest @ ..] if is_version(version) => (resource, name, rest),
            _ => return None,
        };
        match *resource {
            "objects" => Some(Self::Objects(name, rest)),
            "properties" => Some(Self::Properties(name, rest)),
            _ => None,
        }
    }
}

fn is_version(text: &str) -> bool {
    text == "v3" || text.starts_with("20")
}

fn scope(part: &str, name: &str, request: &Request, rest: Rest<'_>) -> String {
    let reads = request.method == Method::GET || rest == ["batch", "read"];
    let access = if reads { "read" } else { "write" };
    format!("crm.{part}.{}.{access}", scoped(name))
}

/// The name under which scopes know an object type.
fn scoped(name: &str) -> &str {
    match name {
        "contacts" | "contact" | "0-1" => "contacts",
        "companies" | "company" | "0-2" => "companies",
        "deals" | "deal" | "0-3" => "deals",
        "products" | "product" | "0-7" => "products",
        _ => "custom",
    }
}

/// The scope that a request would need.
fn missing_scopes(request: &Request) -> Vec<String> {
    let segments = request.segments();
    let path: Vec<&str> = segments.iter().map(String::as_str).collect();
    let needed = Resource::of(&path).map(|resource| match resource {
        Resource::Objects(name, rest) => scope("objects", name, request, rest),
        Resource::Properties(name, _) => format!("crm.schemas.{}.read", scoped(name)),
    });
    needed.into_iter().collect()
}

fn no_such_path() -> Refusal {
    Refusal::NotFound {
        message: "resource not found".into(),
    }
}
