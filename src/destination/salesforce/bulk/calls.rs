//! The requests about jobs. Pure.

use bytes::Bytes;
use reqwest::header::{CONTENT_TYPE, HeaderValue, InvalidHeaderValue};
use reqwest::{Method, Request};
use serde::Deserialize;
use serde_json::json;
use url::Url;

use crate::destination::salesforce::rendering::SalesforceRendering;
use crate::destination::salesforce::request::headers;

/// One request about jobs. A job is named by its id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Call<'a> {
    /// Creates one.
    Open,
    /// Gives it its data.
    Data(&'a str, Bytes),
    /// Moves it to another state.
    Move(&'a str, &'static str),
    /// Asks for its state.
    Look(&'a str),
    /// Asks for a file of its results.
    Results(&'a str, &'static str),
}

/// What Salesforce says of a job, as far as it is read.
#[derive(Debug, Deserialize)]
pub(super) struct Job {
    pub(super) id: String,
    pub(super) state: String,
}

impl Job {
    /// Whether its id can stand in a path.
    pub(super) fn is_sane(&self) -> bool {
        (1..=64).contains(&self.id.len()) && self.id.bytes().all(|byte| byte.is_ascii_alphanumeric())
    }
}

/// The request of `call` at `instance`.
pub(super) fn build(
    instance: &Url,
    rendering: &SalesforceRendering,
    call: Call<'_>,
    authorization: HeaderValue,
) -> Result<Request, InvalidHeaderValue> {
    let (method, step, body) = match call {
        Call::Open => (
            Method::POST,
            String::new(),
            Some(("application/json", opening(rendering))),
        ),
        Call::Data(job, data) => {
            let csv = "text/csv; charset=UTF-8";
            (Method::PUT, format!("/{job}/batches"), Some((csv, data)))
        }
        Call::Move(job, state) => {
            let body = json!({ "state": state }).to_string().into();
            (Method::PATCH, format!("/{job}"), Some(("application/json", body)))
        }
        Call::Look(job) => (Method::GET, format!("/{job}"), None),
        Call::Results(job, file) => (Method::GET, format!("/{job}/{file}"), None),
    };
    let mut url = instance.clone();
    url.set_path(&format!(
        "/services/data/v{}/jobs/ingest{step}",
        rendering.api_version
    ));
    let mut request = Request::new(method, url);
    *request.headers_mut() = headers(rendering, &[], authorization)?;
    if let Some((kind, body)) = body {
        request
            .headers_mut()
            .insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        *request.body_mut() = Some(body.into());
    }
    Ok(request)
}

fn opening(rendering: &SalesforceRendering) -> Bytes {
    let job = json!({
        "object": rendering.object,
        "operation": "upsert",
        "externalIdFieldName": rendering.external_id,
        "contentType": "CSV",
        "lineEnding": "LF",
        "columnDelimiter": "COMMA",
    });
    job.to_string().into()
}
