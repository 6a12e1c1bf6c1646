//! A request that has arrived whole, and what is answered: values, apart from any socket.

use axum::http::{HeaderMap, Method};
use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;
use url::form_urlencoded;

use super::value::Value;

/// A request with its body.
#[derive(Debug, Clone)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// The path as it was sent, still encoded.
    pub path: String,
    /// What stands behind the `?`, or nothing.
    pub query: String,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, its chunks put together.
    pub body: Bytes,
}

/// What is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// Names in lower case with their values, without those that frame the body.
    pub headers: Vec<(&'static str, String)>,
    /// The body; empty for none.
    pub body: Bytes,
}

impl Request {
    /// A request without query and headers.
    pub fn new(method: Method, path: impl Into<String>, body: impl Into<Bytes>) -> Self {
        Self {
            method,
            path: path.into(),
            query: String::new(),
            headers: HeaderMap::new(),
            body: body.into(),
        }
    }

    /// The path's parts, decoded. A `%2F` is no divider; what is not UTF-8 is made so.
    pub fn segments(&self) -> Vec<String> {
        let path = self.path.strip_prefix('/').unwrap_or(&self.path);
        path.split('/').map(decode).collect()
    }

    /// The first value of this name in the query.
    pub fn query(&self, name: &str) -> Option<String> {
        find(self.query.as_bytes(), name)
    }

    /// The first value of this name in a form that is the body.
    pub fn form(&self, name: &str) -> Option<String> {
        find(&self.body, name)
    }

    /// A header's value; none if it is not ASCII.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The body as JSON.
    pub fn json<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        serde_json::from_slice(&self.body)
    }

    /// Whether some record that the request carries has this value in this field: anywhere in a JSON body, or as two
    /// parts of the path that follow one another.
    pub fn mentions(&self, field: &str, value: &str) -> bool {
        let segments = self.segments();
        let in_path = segments
            .windows(2)
            .any(|pair| pair[0] == field && pair[1] == value);
        in_path || self.json().is_ok_and(|body: Value| holds(&body, field, value))
    }
}

impl Answer {
    /// An answer without a body.
    pub fn empty(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: Bytes::new(),
        }
    }

    /// An answer in JSON.
    pub fn json(status: u16, body: &impl Serialize) -> Self {
        // The mocks' own types have no maps with odd keys and no failing `Serialize`, so the fallback is never seen.
        let body = serde_json::to_vec(body).unwrap_or_default();
        Self::of(status, "application/json;charset=UTF-8", body)
    }

    /// An answer in another format.
    pub fn of(status: u16, content_type: &str, body: impl Into<Bytes>) -> Self {
        Self {
            status,
            headers: vec![("content-type", content_type.to_owned())],
            body: body.into(),
        }
    }

    /// The same with one more header.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

fn find(form: &[u8], name: &str) -> Option<String> {
    form_urlencoded::parse(form)
        .find(|(known, _)| known == name)
        .map(|(_, value)| value.into_owned())
}

fn holds(body: &Value, field: &str, value: &str) -> bool {
    match body {
        Value::Object(fields) => {
            fields.get(field).and_then(Value::as_text) == Some(value)
                || fields.values().any(|inner| holds(inner, field, value))
        }
        Value::List(items) => items.iter().any(|inner| holds(inner, field, value)),
        _ => false,
    }
}

/// Takes `%2F` and its like out of a part of a path. A plus is a plus there.
fn decode(part: &str) -> String {
    let bytes = part.as_bytes();
    let (mut decoded, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while at < bytes.len() {
        let escape = bytes.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        let byte = escape
            .and_then(|digits| str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        decoded.push(byte.unwrap_or(bytes[at]));
        at += if byte.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_path_are_decoded_after_it_is_cut() {
        let request = Request::new(Method::GET, "/x/a%2Fb%20c+%C3%A9%/", "");
        assert_eq!(request.segments(), ["x", "a/b c+é%", ""]);
    }

    #[test]
    fn a_record_is_found_in_the_path_and_anywhere_in_the_body() {
        let body = r#"{"records":[{"attributes":{"type":"A"},"Ext":"1"},{"properties":{"n":5}}]}"#;
        let request = Request::new(Method::PATCH, "/sobjects/A/Key/v%201", body);
        assert!(request.mentions("Key", "v 1") && request.mentions("Ext", "1") && request.mentions("n", "5"));
        assert!(!request.mentions("Ext", "2") && !request.mentions("v 1", "Key"));
    }
}
