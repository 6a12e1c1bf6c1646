//! The headers that a row brings along: trace context, a content type.
//!
//! They come from whoever may write to the outbox, so they are checked here, at the last moment before a request is
//! made of them.

use std::collections::BTreeMap;

use reqwest::header::{HeaderName, HeaderValue};

use super::request::{NotSendable, header};
use crate::core::header_rule::{MAX_HEADERS, gives_access};

/// Reads `json`, an object of texts, into headers that a request may have beside the key's.
pub(super) fn read(json: &str, key_header: &str) -> Result<Vec<(HeaderName, HeaderValue)>, NotSendable> {
    // The reader's own message could repeat a value.
    let headers: BTreeMap<String, String> =
        serde_json::from_str(json).map_err(|error| NotSendable::RowHeaders {
            line: error.line(),
            column: error.column(),
        })?;
    if headers.len() > MAX_HEADERS {
        return Err(NotSendable::TooManyRowHeaders(headers.len()));
    }
    headers
        .iter()
        .map(|(name, value)| {
            let (name, mut value) = header(name, value, key_header)?;
            value.set_sensitive(gives_access(name.as_str()));
            Ok((name, value))
        })
        .collect()
}
