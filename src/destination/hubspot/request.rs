//! The bodies of HubSpot's batch calls, and the requests that carry them. Pure.

use std::collections::BTreeMap;

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue, USER_AGENT};
use reqwest::{Method, Request};
use serde::Serialize;
use sha2::{Digest, Sha256};
use url::Url;

/// One row of an upsert.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UpsertRow {
    /// What the answer names the row by: it follows from the row's idempotency key.
    pub(super) trace: String,
    /// The value of the id property.
    pub(super) id: String,
    /// Every value is text; the empty one clears.
    pub(super) properties: BTreeMap<String, String>,
}

/// The calls that are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Call {
    Upsert,
    LookUp,
    Archive,
}

impl Call {
    fn path(self) -> &'static str {
        match self {
            Self::Upsert => "upsert",
            Self::LookUp => "read",
            Self::Archive => "archive",
        }
    }
}

/// A body, and its SHA-256.
pub(super) struct Body {
    pub(super) bytes: Vec<u8>,
    pub(super) digest: [u8; 32],
}

#[derive(Serialize)]
struct Inputs<T> {
    inputs: Vec<T>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct UpsertInput<'a> {
    id: &'a str,
    id_property: &'a str,
    object_write_trace_id: &'a str,
    properties: &'a BTreeMap<String, String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LookUp<'a> {
    id_property: &'a str,
    inputs: Vec<Id<'a>>,
    properties: [&'a str; 1],
}

#[derive(Serialize)]
struct Id<'a> {
    id: &'a str,
}

/// The body of an upsert by `id_property`.
pub(super) fn upsert(rows: &[UpsertRow], id_property: &str) -> Body {
    fn input<'a>(row: &'a UpsertRow, id_property: &'a str) -> UpsertInput<'a> {
        UpsertInput {
            id: &row.id,
            id_property,
            object_write_trace_id: &row.trace,
            properties: &row.properties,
        }
    }
    body(&Inputs {
        inputs: rows.iter().map(|row| input(row, id_property)).collect(),
    })
}

/// The body of a look-up of records by `id_property`.
pub(super) fn look_up(ids: &[&str], id_property: &str) -> Body {
    body(&LookUp {
        id_property,
        inputs: ids.iter().map(|id| Id { id }).collect(),
        properties: [id_property],
    })
}

/// The body that archives records by HubSpot's own ids.
pub(super) fn archive(ids: &[&str]) -> Body {
    body(&Inputs {
        inputs: ids.iter().map(|id| Id { id }).collect(),
    })
}

/// The request of `call` for records of the type `object`.
pub(super) fn request(
    base: &Url,
    object: &str,
    call: Call,
    body: Body,
    authorization: HeaderValue,
) -> Request {
    let url = under(base, &["crm", "v3", "objects", object, "batch", call.path()]);
    plain(Method::POST, url, Some(body), authorization)
}

/// Any request to HubSpot.
pub(super) fn plain(method: Method, url: Url, body: Option<Body>, authorization: HeaderValue) -> Request {
    let mut request = Request::new(method, url);
    let headers = request.headers_mut();
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    headers.insert(AUTHORIZATION, authorization);
    headers.insert(USER_AGENT, USER_AGENT_VALUE);
    if let Some(body) = body {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        *request.body_mut() = Some(body.bytes.into());
    }
    request
}

/// `base` with `segments` behind its path, each encoded.
pub(super) fn under(base: &Url, segments: &[&str]) -> Url {
    let mut url = base.clone();
    // Only a URL that cannot be a base has no path; http and https can.
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty().extend(segments);
    }
    url
}

const USER_AGENT_VALUE: HeaderValue =
    HeaderValue::from_static(concat!("aftercommit/", env!("CARGO_PKG_VERSION")));

fn body(value: &impl Serialize) -> Body {
    // Texts, and maps of texts: there is nothing that JSON could not hold.
    let bytes = serde_json::to_vec(value).unwrap_or_default();
    Body {
        digest: Sha256::digest(&bytes).into(),
        bytes,
    }
}
