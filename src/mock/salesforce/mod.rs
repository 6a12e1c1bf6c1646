//! A mock Salesforce org that real clients believe: tokens, single records, collections, bulk jobs, limits.
//!
//! It answers as the REST API does, down to the bodies and their misspellings, for the interfaces that a client needs
//! which writes records. There is no query language, no sharing, no triggers. Not for production.
//!
//! ```text
//!  oauth ─▶ token            rows         one record
//!  route ─▶ session, limit ─▶ collections  up to 200            ─▶ org ─▶ check, store
//!                            bulk         a file
//!                            describe     what there is
//! ```

mod bulk;
mod check;
mod collections;
mod describe;
mod error;
mod fault;
mod id;
mod jwt;
mod oauth;
mod org;
mod route;
mod rows;
#[cfg(test)]
mod tests;
mod usage;

use std::sync::Arc;

use axum::http::Method;
use jiff::Timestamp;

pub use fault::SalesforceFault;
pub use jwt::{NoPublicKey, PublicKey};
pub use oauth::{Access, ConnectedApp};

use super::crm::{Answer, Crm, Faults, Request, Schema, Store};
use bulk::Jobs;
use check::Source;
use error::wrong_method;
use oauth::Sessions;
use org::{Arrival, Org};
use route::Route;
use usage::Usage;

/// How a mock org is set up.
#[derive(Debug, Clone)]
pub struct SalesforceOptions {
    /// Its objects and fields.
    pub schema: Schema,
    /// Who may have a token.
    pub access: Access,
    /// How many requests it takes in 24 hours.
    pub daily_limit: u64,
    /// What a value of a wrong type does to the records that share its call.
    pub type_errors: TypeErrors,
    /// How many looks at a bulk job find it still in progress.
    pub polls: u32,
}

/// What a value of a wrong type does to the records that share its call. Real orgs have been seen to do either.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TypeErrors {
    /// Only its record is refused.
    #[default]
    PerRecord,
    /// The call is refused as a whole, since the body could not be parsed.
    WholeCall,
}

impl SalesforceOptions {
    /// An org with this schema, open to anybody.
    pub fn new(schema: Schema) -> Self {
        Self {
            schema,
            access: Access::default(),
            daily_limit: 15_000,
            type_errors: TypeErrors::default(),
            polls: 1,
        }
    }
}

/// The schema of an org that was not told otherwise, as TOML: Account, Contact, Lead, Opportunity and a custom object.
pub const DEFAULT_SCHEMA: &str = include_str!("schema.toml");

/// A mock org.
#[derive(Debug)]
pub struct Salesforce {
    options: SalesforceOptions,
    org: Org,
    sessions: Sessions,
    jobs: Jobs,
    usage: Usage,
}

/// A request to the data interface, and what is known of it.
#[derive(Debug, Clone, Copy)]
struct Call<'a> {
    request: &'a Request,
    /// The version in its path, such as 62.
    version: u32,
    now: Timestamp,
}

impl Salesforce {
    /// An empty org.
    pub fn new(options: SalesforceOptions) -> Self {
        Self {
            org: Org::new(Arc::new(options.schema.clone())),
            sessions: Sessions::default(),
            jobs: Jobs::new(options.polls),
            usage: Usage::new(options.daily_limit),
            options,
        }
    }

    /// From now on so many looks at a bulk job find it still in progress.
    pub fn set_polls(&mut self, polls: u32) {
        self.jobs.set_polls(polls);
    }

    /// Forgets all bulk jobs, as an org does after a week; what they wrote stays.
    pub fn forget_jobs(&mut self) {
        self.jobs.clear();
    }

    fn data(&mut self, request: &Request, faults: &mut Faults<SalesforceFault>, now: Timestamp) -> Answer {
        let segments = request.segments();
        let parts: Vec<&str> = segments.iter().skip(2).map(String::as_str).collect();
        let Some((version, parts)) = route::version(&parts) else {
            return describe::versions(&parts);
        };
        if let Some(refused) = self.sessions.check(request, now) {
            return refused;
        }
        if let Err(refused) = self.usage.count(now) {
            return refused;
        }
        let call = Call {
            request,
            version,
            now,
        };
        let answer = match Route::of(parts, version) {
            None => error::not_found(),
            Some(route) if !route.takes(&request.method) => {
                wrong_method(request.method.as_str(), route.allowed())
            }
            Some(route) => self.dispatch(route, call, faults),
        };
        answer.with("sforce-limit-info", self.usage.header())
    }

    fn dispatch(&mut self, route: Route<'_>, call: Call<'_>, faults: &mut Faults<SalesforceFault>) -> Answer {
        match route {
            Route::Resources => describe::resources(call),
            Route::Limits => self.usage.limits(),
            Route::Objects => describe::objects(&self.org.schema, call),
            Route::Describe { object } => describe::object(&self.org.schema, object, call),
            Route::Object { object } => self.object(object, call, faults),
            Route::Record { object, id } => self.row(object, id, call, faults),
            Route::ByExternalId { object, field, value } => {
                self.row_by_external_id(object, org::ExternalId { field, value }, call, faults)
            }
            Route::Collection => self.collection(call, faults),
            Route::CollectionUpsert { object, field } => self.collection_upsert(object, field, call, faults),
            Route::Jobs => self.jobs.open(&self.org, call),
            Route::Job { id } => self.jobs.one(&mut self.org, id, call, faults),
            Route::JobData { id } => self.jobs.upload(id, call),
            Route::JobResults { id, results } => self.jobs.results(id, results),
        }
    }
}

impl Call<'_> {
    /// That the record came in JSON, now.
    fn arrival(&self) -> Arrival {
        Arrival {
            source: Source::Json,
            now: self.now,
        }
    }

    fn is_get(&self) -> bool {
        self.request.method == Method::GET || self.request.method == Method::HEAD
    }

    /// The path of a resource of the same version.
    fn path_of(&self, resource: &str) -> String {
        format!("/services/data/v{}.0/{resource}", self.version)
    }
}

impl Crm for Salesforce {
    type Fault = SalesforceFault;

    fn answer(&mut self, request: &Request, faults: &mut Faults<SalesforceFault>, now: Timestamp) -> Answer {
        match request.path.as_str() {
            path if path.len() > route::LONGEST_PATH => error::refusal(414, "URI_TOO_LONG", "URI Too Long"),
            "/services/oauth2/token" if request.method == Method::POST => {
                self.sessions.give(request, &self.options.access, now)
            }
            "/services/oauth2/token" => wrong_method(request.method.as_str(), "POST"),
            path if path == "/services/data" || path.starts_with("/services/data/") => {
                self.data(request, faults, now)
            }
            _ => error::not_found(),
        }
    }

    fn refuse(&mut self, request: &Request, fault: SalesforceFault) -> Answer {
        fault.answer(request)
    }

    fn failure(&self, status: u16) -> Answer {
        match status {
            502.. => fault::page(status, "The server cannot serve this request now."),
            _ => error::refusal(status, "UNKNOWN_EXCEPTION", "An unexpected error occurred."),
        }
    }

    fn store(&self) -> &Store {
        &self.org.store
    }

    fn expire_tokens(&mut self) {
        self.sessions.expire();
    }

    fn reset(&mut self) {
        self.org.clear();
        self.sessions.expire();
        self.jobs.clear();
        self.usage.clear();
    }
}
