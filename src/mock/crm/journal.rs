//! What a mock was asked and what it answered, without secrets. The oldest entries make way for the newest.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use url::form_urlencoded;

use super::request::Request;

/// Entries that are kept at most.
const NEWEST: usize = 20_000;
/// Bytes of bodies that are kept at most.
const BODY_BYTES: usize = 256 * 1024 * 1024;
/// Headers whose values are secret.
const SECRET_HEADERS: [&str; 3] = ["authorization", "cookie", "proxy-authorization"];
/// Values of a form that are secret.
const SECRET_VALUES: [&str; 6] = [
    "client_secret",
    "assertion",
    "refresh_token",
    "access_token",
    "token",
    "password",
];
const REDACTED: &str = "[redacted]";

/// One request and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Counts from 1, in the order in which they were processed.
    pub number: u64,
    /// The method.
    pub method: String,
    /// Path and query, as they were sent.
    pub target: String,
    /// Names in lower case with their values; secrets are redacted.
    pub headers: Vec<(String, String)>,
    /// The body, secrets of a form redacted; what is not UTF-8 is made so.
    pub body: String,
    /// The status that was answered; none where no answer was sent.
    pub status: Option<u16>,
    /// The name of a fault that the request, or one of its records, met.
    pub fault: Option<String>,
}

/// The newest entries.
#[derive(Debug, Default)]
pub struct Journal {
    entries: VecDeque<Arc<Entry>>,
    bytes: usize,
    number: u64,
}

impl Journal {
    /// The entries that are kept, the oldest first.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = &Arc<Entry>> {
        self.entries.iter()
    }

    /// How many requests there have been since the start, those before a reset included.
    pub fn count(&self) -> u64 {
        self.number
    }

    pub(super) fn add(&mut self, request: &Request, status: Option<u16>, fault: Option<String>) {
        self.number += 1;
        let entry = Entry {
            number: self.number,
            method: request.method.to_string(),
            target: target(request),
            headers: headers(request),
            body: body(request),
            status,
            fault,
        };
        self.bytes += entry.body.len();
        self.entries.push_back(Arc::new(entry));
        while self.entries.len() > NEWEST || self.bytes > BODY_BYTES {
            let Some(oldest) = self.entries.pop_front() else {
                break;
            };
            self.bytes -= oldest.body.len();
        }
    }

    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.bytes = 0;
    }
}

fn target(request: &Request) -> String {
    match request.query.as_str() {
        "" => request.path.clone(),
        query => format!("{}?{query}", request.path),
    }
}

fn headers(request: &Request) -> Vec<(String, String)> {
    let shown = |(name, value): (&axum::http::HeaderName, &axum::http::HeaderValue)| {
        let value = if SECRET_HEADERS.contains(&name.as_str()) {
            REDACTED.into()
        } else {
            String::from_utf8_lossy(value.as_bytes())
        };
        (name.as_str().to_owned(), value.into_owned())
    };
    request.headers.iter().map(shown).collect()
}

fn body(request: &Request) -> String {
    let is_form = request
        .header("content-type")
        .is_some_and(|kind| kind.starts_with("application/x-www-form-urlencoded"));
    if !is_form {
        return String::from_utf8_lossy(&request.body).into_owned();
    }
    let pairs = form_urlencoded::parse(&request.body).map(|(name, value)| {
        let secret = SECRET_VALUES.contains(&&*name);
        (name, if secret { REDACTED.into() } else { value })
    });
    form_urlencoded::Serializer::new(String::new())
        .extend_pairs(pairs)
        .finish()
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderValue, Method};

    use super::*;

    #[test]
    fn the_journal_shows_no_secret() {
        let form = "grant_type=client_credentials&client_id=app&client_secret=s3cret";
        let mut request = Request::new(Method::POST, "/token", form);
        let headers = [
            ("authorization", "Bearer s3cret"),
            ("content-type", "application/x-www-form-urlencoded"),
        ];
        for (name, value) in headers {
            request.headers.insert(name, HeaderValue::from_static(value));
        }
        let mut journal = Journal::default();
        journal.add(&request, Some(200), None);
        let entry = journal.entries().next().unwrap();
        assert!(!serde_json::to_string(entry.as_ref()).unwrap().contains("s3cret"));
        assert!(
            entry
                .body
                .starts_with("grant_type=client_credentials&client_id=app&")
        );
    }
}
