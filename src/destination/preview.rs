//! What a request would look like, for people: secrets are left out, and nothing is sent.
//!
//! A [`Sketch`] is made of the very request that would go out. Whatever is marked as sensitive there is not shown.

use reqwest::Request;
use reqwest::header::HeaderValue;
use serde::Serialize;
use url::Url;

use crate::core::outcome::Report;
use crate::core::printable::printable;
use crate::core::secrets::SECRET;

/// What stands in place of a path that can be a secret.
const HIDDEN_PATH: &str = "(path not shown)";
/// No header value is shown at more than this many bytes; none that may be sent is longer.
const MAX_VALUE_BYTES: usize = 4096;

/// What the deliveries of a batch come to.
#[derive(Debug, Default)]
pub struct Preview {
    /// The requests, in the order in which they are sent.
    pub requests: Vec<Sketch>,
    /// By their places in the batch, the deliveries for which nothing is sent with the others, and what goes on record
    /// of them.
    pub left_out: Vec<(usize, Report)>,
}

/// A request as it can be shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[schema(as = Request)]
pub struct Sketch {
    /// The deliveries that it is about, by their places in the batch.
    #[serde(skip)]
    pub places: Vec<usize>,
    /// The method.
    pub method: String,
    /// The URL; what is secret or not known yet stands in brackets.
    pub url: String,
    /// Names and values, in their order; a secret value is `(secret)`.
    pub headers: Vec<(String, String)>,
    /// The body, if there is one.
    pub body: Option<String>,
    /// What a person should know of it.
    pub note: Option<&'static str>,
}

impl Sketch {
    /// `request`, which is about the deliveries at `places`.
    pub(super) fn of(request: &Request, places: Vec<usize>) -> Self {
        let headers = request.headers().iter();
        let body = request.body().and_then(reqwest::Body::as_bytes);
        Self {
            places,
            method: request.method().to_string(),
            url: request.url().to_string(),
            headers: headers
                .map(|(name, value)| (name.to_string(), shown(value)))
                .collect(),
            body: body.map(|body| String::from_utf8_lossy(body).into_owned()),
            note: None,
        }
    }

    /// The same without what follows the host: it is whoever configured it that knows whether it is a secret.
    pub(super) fn without_path(self, url: &Url) -> Self {
        Self {
            url: shown_url(url),
            ..self
        }
    }

    /// The same at a host that is not known yet.
    pub(super) fn at(mut self, host: &str, url: &Url) -> Self {
        let rest = self.url.strip_prefix(&origin(url)).unwrap_or_default();
        self.url = format!("https://{host}{rest}");
        self
    }

    /// The same with a remark.
    pub(super) fn with_note(self, note: &'static str) -> Self {
        Self {
            note: Some(note),
            ..self
        }
    }
}

/// A URL without what follows the host, if anything does.
pub fn shown_url(url: &Url) -> String {
    if url.path() == "/" && url.query().is_none() {
        url.to_string()
    } else {
        format!("{}/{HIDDEN_PATH}", origin(url))
    }
}

/// A credential that nobody has asked for.
pub(super) fn no_credential() -> HeaderValue {
    let mut value = HeaderValue::from_static(SECRET);
    value.set_sensitive(true);
    value
}

fn shown(value: &HeaderValue) -> String {
    if value.is_sensitive() {
        SECRET.to_owned()
    } else {
        printable(value.as_bytes(), MAX_VALUE_BYTES)
    }
}

fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

#[cfg(test)]
mod tests {
    use reqwest::Method;

    use super::*;

    #[test]
    fn what_gives_access_is_shown_nowhere() {
        let url: Url = "https://example.com:8443/hooks/canary?token=canary"
            .parse()
            .unwrap();
        let mut request = Request::new(Method::POST, url.clone());
        let headers = request.headers_mut();
        let mut sensitive = HeaderValue::from_static("canary");
        sensitive.set_sensitive(true);
        headers.insert("x-api-key", sensitive);
        headers.insert("x-trace", HeaderValue::from_static("7"));
        let sketch = Sketch::of(&request, vec![0]).without_path(&url);
        assert!(!format!("{sketch:?}").contains("canary"), "{sketch:?}");
        assert_eq!(sketch.url, "https://example.com:8443/(path not shown)");
        assert_eq!(sketch.headers[1], ("x-trace".to_owned(), "7".to_owned()));
    }

    #[test]
    fn a_url_without_a_path_is_shown_whole_and_an_unknown_host_as_such() {
        let url: Url = "https://example.com".parse().unwrap();
        let request = Request::new(Method::POST, url.clone());
        let sketch = Sketch::of(&request, vec![0]).without_path(&url);
        assert_eq!(sketch.url, "https://example.com/");
        assert_eq!(sketch.at("(the instance)", &url).url, "https://(the instance)/");
    }
}
