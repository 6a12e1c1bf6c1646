//! A portal at a fixed time, the calls of a story, and comparison with bodies as they were recorded.

use aftercommit::mock::crm::{Crm as _, Fault, Faults, Request, Schema, parse_rules};
use aftercommit::mock::hubspot::{DEFAULT_SCHEMA, HubSpot, HubSpotFault, HubSpotOptions};
use axum::http::{HeaderValue, Method};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

/// What stands in a recorded body for what differs each time.
const ANYTHING: char = '…';

pub(super) struct Portal {
    pub(super) hubspot: HubSpot,
    faults: Faults<HubSpotFault>,
    now: Timestamp,
    pub(super) authorization: String,
}

#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    headers: Vec<(&'static str, String)>,
    pub(super) text: String,
}

impl Portal {
    pub(super) fn new() -> Self {
        Self::with(|_| {})
    }

    /// A portal with other options than usual.
    pub(super) fn with(change: impl FnOnce(&mut HubSpotOptions)) -> Self {
        let mut options = HubSpotOptions::new(Schema::parse(DEFAULT_SCHEMA).unwrap());
        change(&mut options);
        Self {
            hubspot: HubSpot::new(options),
            faults: Faults::new([], 1),
            now: "2026-06-24T18:05:37.123Z".parse().unwrap(),
            authorization: "Bearer pat-na1-mock".to_owned(),
        }
    }

    pub(super) fn arm(&mut self, rules: &str) {
        self.faults.arm(parse_rules(rules).unwrap());
    }

    pub(super) fn pass(&mut self, seconds: i64) {
        self.now += SignedDuration::from_secs(seconds);
    }

    pub(super) fn send(&mut self, method: &str, target: &str, body: impl Into<String>) -> Reply {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let mut request = Request::new(method, path, body.into());
        query.clone_into(&mut request.query);
        let authorization = HeaderValue::from_str(&self.authorization).unwrap();
        request.headers.insert("authorization", authorization);
        let answer = match self.faults.at_request(&request) {
            Some(Fault::Vendor(fault)) => self.hubspot.refuse(&request, fault),
            _ => self.hubspot.answer(&request, &mut self.faults, self.now),
        };
        Reply {
            status: answer.status,
            headers: answer.headers,
            text: String::from_utf8(answer.body.to_vec()).unwrap(),
        }
    }

    pub(super) fn post(&mut self, path: &str, body: &Value) -> Reply {
        self.send("POST", path, body.to_string())
    }

    pub(super) fn get(&mut self, target: &str) -> Reply {
        self.send("GET", target, "")
    }

    /// Creates a contact and returns its id.
    pub(super) fn contact(&mut self, properties: &Value) -> String {
        let reply = self.post("/crm/v3/objects/contacts", &json!({ "properties": properties }));
        assert_eq!(reply.status, 201, "{}", reply.text);
        reply.json()["id"].as_str().unwrap().to_owned()
    }

    /// The properties of all contacts, ordered by id.
    pub(super) fn contacts(&self) -> Vec<Value> {
        let records = self.hubspot.store().records("contacts");
        records
            .map(|record| serde_json::to_value(&record.fields).unwrap())
            .collect()
    }
}

impl Reply {
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap()
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let header = self.headers.iter().find(|(known, _)| *known == name);
        header.map(|(_, value)| value.as_str())
    }

    /// Status and body are those that were recorded.
    #[track_caller]
    pub(super) fn is(&self, status: u16, recorded: &Value) {
        assert_eq!(self.status, status, "{}", self.text);
        let found = self.json();
        assert!(
            agrees(recorded, &found),
            "recorded: {recorded:#}\nanswered: {found:#}"
        );
    }

    /// The ids of the results, and the trace ids that the errors name.
    pub(super) fn traces(&self) -> (Vec<String>, Vec<String>) {
        let body = self.json();
        let list = |name: &str| body[name].as_array().cloned().unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let results = list("results");
        let errors = list("errors");
        (
            results
                .iter()
                .map(|result| text(&result["objectWriteTraceId"]))
                .collect(),
            errors
                .iter()
                .map(|error| text(&error["context"]["objectWriteTraceId"][0]))
                .collect(),
        )
    }
}

/// Whether both have the same shape and values; a text with `…` agrees with any that begins and ends as it does.
fn agrees(recorded: &Value, found: &Value) -> bool {
    match (recorded, found) {
        (Value::String(recorded), Value::String(found)) => match recorded.split_once(ANYTHING) {
            Some((start, end)) => found.starts_with(start) && found.ends_with(end),
            None => recorded == found,
        },
        (Value::Array(recorded), Value::Array(found)) => {
            recorded.len() == found.len() && recorded.iter().zip(found).all(|(one, other)| agrees(one, other))
        }
        (Value::Object(recorded), Value::Object(found)) => {
            let same =
                |(name, value): (&String, &Value)| found.get(name).is_some_and(|other| agrees(value, other));
            recorded.len() == found.len() && recorded.iter().all(same)
        }
        _ => recorded == found,
    }
}

/// An input of a batch that goes by the address.
pub(super) fn by_email(email: &str, trace: &str, more: &Value) -> Value {
    let mut properties = more.clone();
    properties["email"] = email.into();
    json!({
        "id": email,
        "idProperty": "email",
        "properties": properties,
        "objectWriteTraceId": trace,
    })
}
