//! The mock org against bodies that were recorded from real ones, or that the vendor documents. No socket.

mod assertion;
mod bulk;
mod collections;
mod describe;
mod login;
mod refusals;
mod rows;

use axum::http::{HeaderValue, Method};
use jiff::Timestamp;
use serde_json::Value as Json;

use super::*;
use crate::mock::crm::{Fault, parse_rules};

/// An org, somebody who is logged in to it, and what time it is.
struct Desk {
    org: Salesforce,
    faults: Faults<SalesforceFault>,
    now: Timestamp,
    token: String,
    headers: Vec<(&'static str, String)>,
}

/// An answer, its body read as JSON where it is some.
#[derive(Debug)]
struct Told {
    status: u16,
    body: Json,
    text: String,
    headers: Vec<(&'static str, String)>,
}

fn options() -> SalesforceOptions {
    SalesforceOptions::new(Schema::parse(DEFAULT_SCHEMA).unwrap())
}

impl Desk {
    fn new() -> Self {
        Self::with(options())
    }

    fn with(options: SalesforceOptions) -> Self {
        let mut desk = Self::logged_out(options);
        desk.log_in();
        desk
    }

    fn logged_out(options: SalesforceOptions) -> Self {
        Self {
            org: Salesforce::new(options),
            faults: Faults::new([], 0),
            now: "2026-01-01T00:00:00Z".parse().unwrap(),
            token: String::new(),
            headers: Vec::new(),
        }
    }

    fn log_in(&mut self) {
        let told = self.ask_for_token("grant_type=client_credentials&client_id=app&client_secret=s");
        self.token = told.body["access_token"].as_str().unwrap().to_owned();
    }

    fn ask_for_token(&mut self, form: &str) -> Told {
        self.send("POST", "/services/oauth2/token", form)
    }

    fn arm(&mut self, rules: &str) {
        self.faults.arm(parse_rules(rules).unwrap());
    }

    /// A request below `/services/data/v62.0/`.
    fn data(&mut self, method: &str, resource: &str, body: &str) -> Told {
        self.send(method, &format!("/services/data/v62.0/{resource}"), body)
    }

    fn send(&mut self, method: &str, target: &str, body: &str) -> Told {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let method: Method = method.parse().unwrap();
        let mut request = Request::new(method, path, body.to_owned());
        request.query = query.to_owned();
        let mut header = |name, value: &str| {
            request
                .headers
                .insert(name, HeaderValue::from_str(value).unwrap());
        };
        header("host", "127.0.0.1:9401");
        if !self.token.is_empty() {
            header("authorization", &format!("Bearer {}", self.token));
        }
        for (name, value) in &self.headers {
            header(name, value);
        }
        let answer = match self.faults.at_request(&request) {
            Some(Fault::Vendor(fault)) => self.org.refuse(&request, fault),
            _ => self.org.answer(&request, &mut self.faults, self.now),
        };
        Told {
            status: answer.status,
            body: serde_json::from_slice(&answer.body).unwrap_or_default(),
            text: String::from_utf8(answer.body.to_vec()).unwrap(),
            headers: answer.headers,
        }
    }
}

impl Told {
    fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value.as_str())
    }

    fn id(&self) -> String {
        self.body["id"].as_str().unwrap().to_owned()
    }
}
