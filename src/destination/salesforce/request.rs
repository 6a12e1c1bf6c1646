//! The requests of the data interface. Pure.

use std::fmt::Write;

use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, InvalidHeaderValue, USER_AGENT,
};
use reqwest::{Method, Request};
use sha2::{Digest, Sha256};
use url::Url;

use super::plan::Call;
use super::rendering::SalesforceRendering;
use crate::core::key::{IdempotencyKey, KeyForm};

static DUPLICATE_RULE: HeaderName = HeaderName::from_static("sforce-duplicate-rule-header");
static CALL_OPTIONS: HeaderName = HeaderName::from_static("sforce-call-options");
static IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const USER_AGENT_VALUE: HeaderValue =
    HeaderValue::from_static(concat!("aftercommit/", env!("CARGO_PKG_VERSION")));

/// The request of `call` at `instance`, and the SHA-256 of its body. `keys` are those of its deliveries.
pub(super) fn build(
    instance: &Url,
    rendering: &SalesforceRendering,
    call: Call,
    keys: &[IdempotencyKey],
    authorization: HeaderValue,
) -> Result<(Request, [u8; 32]), InvalidHeaderValue> {
    let (object, field) = (&rendering.object, &rendering.external_id);
    let (method, path, body) = match call {
        Call::UpsertOne { id, body } => {
            let path = format!("sobjects/{object}/{field}/{}", encoded(&id));
            (Method::PATCH, path, Some(body))
        }
        Call::UpsertAll { body } => (
            Method::PATCH,
            format!("composite/sobjects/{object}/{field}"),
            Some(body),
        ),
        Call::DeleteOne { id } => {
            let path = format!("sobjects/{object}/{field}/{}", encoded(&id));
            (Method::DELETE, path, None)
        }
    };
    let mut url = instance.clone();
    url.set_path(&format!("/services/data/v{}/{path}", rendering.api_version));
    if rendering.update_only && method == Method::PATCH {
        url.set_query(Some("updateOnly=true"));
    }
    let body = body.unwrap_or_default();
    let digest = Sha256::digest(&body).into();
    let mut request = Request::new(method, url);
    *request.headers_mut() = headers(rendering, keys, authorization)?;
    if !body.is_empty() {
        let json = HeaderValue::from_static("application/json");
        request.headers_mut().insert(CONTENT_TYPE, json);
        *request.body_mut() = Some(body.into());
    }
    Ok((request, digest))
}

/// What every request says beside its body.
pub(super) fn headers(
    rendering: &SalesforceRendering,
    keys: &[IdempotencyKey],
    authorization: HeaderValue,
) -> Result<HeaderMap, InvalidHeaderValue> {
    let mut headers = HeaderMap::with_capacity(8);
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    headers.insert(AUTHORIZATION, authorization);
    headers.insert(USER_AGENT, USER_AGENT_VALUE);
    if let Some(rule) = &rendering.duplicate_rule {
        headers.insert(DUPLICATE_RULE.clone(), HeaderValue::from_str(rule)?);
    }
    if let Some(options) = &rendering.call_options {
        headers.insert(CALL_OPTIONS.clone(), HeaderValue::from_str(options)?);
    }
    if let Some(key) = IdempotencyKey::of_batch(keys).filter(|_| rendering.send_key) {
        let key = HeaderValue::try_from(key.wire(KeyForm::Uuid))?;
        headers.insert(IDEMPOTENCY_KEY.clone(), key);
    }
    Ok(headers)
}

/// `text` as one step of a path: every byte but letters, digits and `-_.~` as `%XX`. A plus stays no plus, and a slash no
/// slash.
fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}
