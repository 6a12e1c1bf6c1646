//! Makes the request of one attempt. Pure: no clock, no network.

use std::borrow::Cow;
use std::fmt::Write;

use bytes::Bytes;
use reqwest::Request;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue, InvalidHeaderValue};
use sha2::{Digest, Sha256};

use super::rendering::WebhookRendering;
use super::{Receiver, envelope, row_headers};
use crate::config::destination::WebhookBody;
use crate::core::header_rule::{BadHeader, HeaderFault, MAX_HEADERS, check_header};
use crate::core::key::KeyForm;
use crate::core::row::Op;
use crate::destination::Outgoing;

static TOPIC: HeaderName = HeaderName::from_static("aftercommit-topic");
static ROW_KEY: HeaderName = HeaderName::from_static("aftercommit-row-key");
static ROW_VERSION: HeaderName = HeaderName::from_static("aftercommit-row-version");
static ATTEMPT: HeaderName = HeaderName::from_static("aftercommit-attempt");
static OP: HeaderName = HeaderName::from_static("aftercommit-op");
static TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
static WEBHOOK_ID: HeaderName = HeaderName::from_static("webhook-id");
static WEBHOOK_TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
static WEBHOOK_SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");

/// A row of which no request can be made.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotSendable {
    #[error("the row's headers are no JSON object of texts (line {line}, column {column})")]
    RowHeaders { line: usize, column: usize },
    #[error("the row brings {0} headers; at most {MAX_HEADERS} can be sent")]
    TooManyRowHeaders(usize),
    #[error("the row's {0}")]
    RowHeader(#[from] BadHeader),
    #[error("the row, its key or its signature cannot be written into a header")]
    Value(#[from] InvalidHeaderValue),
}

/// The request of the attempt `outgoing`, and the SHA-256 of its body.
pub(super) fn build(
    receiver: &Receiver,
    rendering: &WebhookRendering,
    outgoing: &Outgoing,
) -> Result<(Request, [u8; 32]), NotSendable> {
    let body = match rendering.body {
        WebhookBody::Payload => envelope::payload(&outgoing.row),
        WebhookBody::Envelope => envelope::envelope(&outgoing.row),
    };
    let mut headers = receiver.base.clone();
    if let Some(json) = &outgoing.row.headers {
        for (name, value) in row_headers::read(json, rendering.key_header.as_str())? {
            if !receiver.configured.contains_key(&name) {
                headers.insert(name, value);
            }
        }
    }
    if let Some(traceparent) = &outgoing.traceparent {
        headers.insert(TRACEPARENT.clone(), HeaderValue::from_str(traceparent)?);
    }
    describe_row(&mut headers, outgoing)?;
    headers.insert(
        rendering.key_header.clone(),
        HeaderValue::try_from(outgoing.key.wire(rendering.key_form))?,
    );
    sign(&mut headers, receiver, outgoing, &body)?;

    let body_digest = Sha256::digest(&body).into();
    let mut request = Request::new(rendering.method.clone(), receiver.url.clone());
    *request.headers_mut() = headers;
    *request.body_mut() = Some(body.into());
    Ok((request, body_digest))
}

/// A header that a configuration or a row supplies, checked.
pub(super) fn header(
    name: &str,
    value: &str,
    key_header: &str,
) -> Result<(HeaderName, HeaderValue), BadHeader> {
    check_header(name, value, key_header)?;
    let bad_value = |_| BadHeader {
        name: name.to_owned(),
        fault: HeaderFault::ValueCharacters,
    };
    Ok((
        header_name(name)?,
        HeaderValue::from_str(value).map_err(bad_value)?,
    ))
}

/// `name`, checked before, in the client's own type.
pub(super) fn header_name(name: &str) -> Result<HeaderName, BadHeader> {
    name.parse().map_err(|_| BadHeader {
        name: name.to_owned(),
        fault: HeaderFault::Name,
    })
}

/// `Aftercommit-Topic`, `-Row-Key`, `-Row-Version` (if the row has one), `-Op`, `-Attempt`.
fn describe_row(headers: &mut HeaderMap, outgoing: &Outgoing) -> Result<(), InvalidHeaderValue> {
    let row = &outgoing.row;
    headers.insert(
        TOPIC.clone(),
        HeaderValue::from_str(&percent_encoded(&row.row.topic))?,
    );
    headers.insert(
        ROW_KEY.clone(),
        HeaderValue::from_str(&percent_encoded(&row.row.row_key))?,
    );
    if let Some(version) = row.row_version {
        headers.insert(ROW_VERSION.clone(), HeaderValue::from(version));
    }
    let op = match row.op {
        Op::Upsert => HeaderValue::from_static("upsert"),
        Op::Delete => HeaderValue::from_static("delete"),
        Op::Event => HeaderValue::from_static("event"),
    };
    headers.insert(OP.clone(), op);
    headers.insert(ATTEMPT.clone(), HeaderValue::from(outgoing.attempt));
    Ok(())
}

/// The three headers of Standard Webhooks, if the destination has secrets. The id is the key as a token: constant
/// over attempts.
fn sign(
    headers: &mut HeaderMap,
    receiver: &Receiver,
    outgoing: &Outgoing,
    body: &Bytes,
) -> Result<(), InvalidHeaderValue> {
    let Some(signer) = &receiver.signer else {
        return Ok(());
    };
    let id = outgoing.key.wire(KeyForm::Token);
    let timestamp = outgoing.now.as_seconds();
    let signature = signer.signature(&id, timestamp, body);
    let mut signature = HeaderValue::try_from(signature)?;
    signature.set_sensitive(true);
    headers.insert(WEBHOOK_SIGNATURE.clone(), signature);
    headers.insert(WEBHOOK_TIMESTAMP.clone(), HeaderValue::from(timestamp));
    headers.insert(WEBHOOK_ID.clone(), HeaderValue::try_from(id)?);
    Ok(())
}

/// `text` for a header: every byte but the visible ASCII characters, and `%` itself, as `%XX` of its UTF-8, so that
/// decoding always gives back the text.
fn percent_encoded(text: &str) -> Cow<'_, str> {
    let plain = |byte: u8| byte.is_ascii_graphic() && byte != b'%';
    if text.bytes().all(plain) {
        return Cow::Borrowed(text);
    }
    let mut encoded = String::with_capacity(text.len() * 3);
    for byte in text.bytes() {
        if plain(byte) {
            encoded.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    Cow::Owned(encoded)
}
