//! Which secrets an answer may repeat: those of the destination, and what gave access in the request itself.
//!
//! The one place that says what of a configuration and of a request is a secret. What becomes of it is
//! [`Secrets`]' affair.

use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD};
use bytes::Bytes;
use reqwest::Request;
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use secrecy::ExposeSecret;
use url::{Url, form_urlencoded};

use crate::config::destination::SigningSecret;
use crate::core::hex::Hex;
use crate::core::secrets::Secrets;

/// No more bytes than this of what a token endpoint says are repeated.
const MAX_WORDS_BYTES: usize = 200;

/// A part of a path that has no digit and no capital is taken for a name, unless it is longer.
const MOST_NAME_BYTES: usize = 20;

/// What a destination knows and must not be repeated, shared by its clients.
#[derive(Default)]
pub struct KnownSecrets {
    configured: Secrets,
    /// What the receiver gave in the place of a configured one.
    given: Mutex<Secrets>,
}

/// What gave access in a request, its sensitive headers and its form: taken from it before it goes, looked at only if something
/// comes back.
pub(super) struct Sent {
    headers: Vec<HeaderValue>,
    form: Option<Bytes>,
}

impl KnownSecrets {
    /// Those of a destination that is configured with `secrets`, and is reached through `proxy`.
    pub(super) fn new(mut secrets: Secrets, proxy: Option<&Url>) -> Arc<Self> {
        if let Some(proxy) = proxy
            && let Some(password) = proxy.password()
        {
            let pair = format!("{}:{password}", proxy.username());
            secrets.add(password.as_bytes());
            secrets.add(BASE64_STANDARD.encode(pair).as_bytes());
        }
        Arc::new(Self {
            configured: secrets,
            given: Mutex::default(),
        })
    }

    /// From now on `secret` is one of them, in the place of what was given before.
    pub(super) fn take_over(&self, secret: &str) {
        let given = Secrets::of([without_org(secret.as_bytes())]);
        *self.given.lock().unwrap_or_else(PoisonError::into_inner) = given;
    }

    /// All.
    pub(super) fn all(&self) -> Secrets {
        let mut all = self.configured.clone();
        all.extend(&self.given.lock().unwrap_or_else(PoisonError::into_inner));
        all
    }

    /// All, and what was `sent`.
    pub(super) fn and(&self, sent: &Sent) -> Secrets {
        let mut all = self.all();
        for value in &sent.headers {
            add_value(&mut all, value.as_bytes());
        }
        for (name, value) in form_urlencoded::parse(sent.form.as_deref().unwrap_or_default()) {
            if name != "grant_type" {
                all.add(value.as_bytes());
            }
        }
        all
    }
}

impl Sent {
    pub(super) fn with(request: &Request) -> Self {
        let headers = request.headers();
        let is_form = headers
            .get(CONTENT_TYPE)
            .is_some_and(|kind| kind == "application/x-www-form-urlencoded");
        let body = request.body().and_then(reqwest::Body::as_bytes);
        Self {
            headers: headers
                .values()
                .filter(|value| value.is_sensitive())
                .cloned()
                .collect(),
            form: body.filter(|_| is_form).map(Bytes::copy_from_slice),
        }
    }
}

/// What is secret in the URL of a webhook: all that follows the host, as a whole and by pieces. A part of the path by
/// itself only if it looks like a token: what is called `customers` may be named.
pub(super) fn in_url(url: &Url) -> Secrets {
    let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
    let mut secrets = Secrets::of([format!("{}{query}", url.path())]);
    let is_token = |part: &&str| {
        part.len() > MOST_NAME_BYTES
            || part
                .bytes()
                .any(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
    };
    for part in url.path().split('/').filter(is_token) {
        secrets.add(part.as_bytes());
    }
    for (name, value) in url.query_pairs() {
        let secret = if value.is_empty() { name } else { value };
        secrets.add(secret.as_bytes());
    }
    secrets
}

/// The signing secrets as they are written, and the keys that they stand for.
pub(super) fn in_signing(signing: &[SigningSecret]) -> Secrets {
    let mut secrets = Secrets::none();
    for secret in signing {
        let text = secret.0.expose_secret();
        let encoded = text.split_once('_').map_or(text, |(_, encoded)| encoded);
        secrets.add(encoded.as_bytes());
        // People lose the trailing `=`.
        if let Ok(key) = BASE64_STANDARD_NO_PAD.decode(encoded.trim_end_matches('=')) {
            secrets.add(&key);
            secrets.add(Hex(&key).to_string().as_bytes());
        }
    }
    secrets
}

/// `HTTP 400 invalid_client from the token endpoint (invalid client credentials)`; what the endpoint does not say is left
/// out.
pub(super) fn refusal(status: u16, code: &str, reason: &str, secrets: &Secrets) -> String {
    let (code, reason) = (words(code, secrets), words(reason, secrets));
    let code = Some(code).filter(|code| !code.is_empty());
    let reason = Some(reason).filter(|reason| !reason.is_empty());
    format!(
        "HTTP {status}{} from the token endpoint{}",
        code.map(|code| format!(" {code}")).unwrap_or_default(),
        reason.map(|reason| format!(" ({reason})")).unwrap_or_default(),
    )
}

/// The credential in the value of a header, without the word for its kind, and the texts that it is made of.
fn add_value(secrets: &mut Secrets, value: &[u8]) {
    let blank = value.iter().position(|byte| *byte == b' ');
    let scheme = blank.filter(|end| value[..*end].iter().all(u8::is_ascii_alphabetic));
    let credential = scheme.map_or(value, |end| value[end..].trim_ascii_start());
    secrets.add(without_org(credential));
    let is_pair = scheme.is_some_and(|end| value[..end].eq_ignore_ascii_case(b"basic"));
    if is_pair
        && let Ok(pair) = BASE64_STANDARD.decode(credential)
        && let Some(colon) = pair.iter().position(|byte| *byte == b':')
    {
        secrets.add(&pair);
        secrets.add(&pair[colon + 1..]);
    }
    for part in credential.split(|byte| b"; ,".contains(byte)) {
        if let Some(equals) = part.iter().position(|byte| *byte == b'=') {
            secrets.add(part[equals + 1..].trim_ascii());
        }
    }
}

/// A session of Salesforce without what stands before its `!`: the id of the org, of which every record's id has a part.
fn without_org(credential: &[u8]) -> &[u8] {
    match credential.iter().position(|byte| *byte == b'!') {
        Some(end @ (15 | 18)) if credential.starts_with(b"00D") => &credential[end + 1..],
        _ => credential,
    }
}

/// What was `said`, on one short line.
fn words(said: &str, secrets: &Secrets) -> String {
    // Twice: what is taken out could put a secret together, and one may hold a line break itself.
    let mut words = secrets.without(&one_line(&secrets.without(said)));
    words.truncate(words.floor_char_boundary(MAX_WORDS_BYTES));
    words
}

/// `text` with one blank for each run of blanks, line breaks and control characters.
fn one_line(text: &str) -> String {
    let parts = text.split(|character: char| character.is_whitespace() || character.is_control());
    let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    parts.join(" ")
}

#[cfg(test)]
mod tests {
    use reqwest::Method;

    use super::*;
    use crate::core::secrets::SECRET;

    fn request(headers: &[(&'static str, &str)], form: Option<&str>) -> Request {
        let mut request = Request::new(Method::POST, "https://example.com".parse().unwrap());
        for (name, value) in headers {
            let mut value: HeaderValue = value.parse().unwrap();
            value.set_sensitive(*name != "x-tenant" && *name != "content-type");
            request.headers_mut().insert(*name, value);
        }
        *request.body_mut() = form.map(|form| form.to_owned().into());
        request
    }

    fn sent(headers: &[(&'static str, &str)], form: Option<&str>) -> Secrets {
        KnownSecrets::default().and(&Sent::with(&request(headers, form)))
    }

    fn in_form(form: &str) -> Secrets {
        sent(
            &[("content-type", "application/x-www-form-urlencoded")],
            Some(form),
        )
    }

    #[test]
    fn what_gives_access_in_a_header_is_found_without_the_word_for_its_kind() {
        let secrets = sent(
            &[
                ("authorization", "Bearer token-7"),
                ("proxy-authorization", "Basic YWRhOmxvdmVsYWNl"),
                ("cookie", "session=abcdef; theme=dark"),
                ("x-tenant", "tenant-7"),
            ],
            None,
        );
        for said in [
            "token-7",
            "YWRhOmxvdmVsYWNl",
            "ada:lovelace",
            "lovelace",
            "abcdef",
        ] {
            assert_eq!(secrets.without(said), SECRET, "{said}");
        }
        let said = "a Bearer is wanted, not Basic, from tenant-7, dark";
        assert_eq!(secrets.without(said), said);
    }

    #[test]
    fn the_id_of_an_org_is_no_secret_though_its_sessions_begin_with_it() {
        let secrets = sent(
            &[("authorization", "Bearer 00D000000000001EAA!AQcAQH0dMHEX")],
            None,
        );
        let said = "001000000000001EAA at 00D000000000001EAA!AQcAQH0dMHEX";
        assert_eq!(
            secrets.without(said),
            "001000000000001EAA at 00D000000000001EAA!(secret)"
        );
        let known = KnownSecrets::default();
        known.take_over("00D000000000001EAA!AQcAQH0dMHEX");
        assert_eq!(
            known.all().without("001000000000001EAA AQcAQH0dMHEX"),
            "001000000000001EAA (secret)"
        );
    }

    #[test]
    fn of_a_url_what_follows_the_host_is_secret_but_no_plain_name_by_itself() {
        let url = "https://example.com/hooks/customers/T024BE7LD?key=k-123456&s3cr3tkey"
            .parse()
            .unwrap();
        let secrets = in_url(&url);
        for said in [
            "/hooks/customers/T024BE7LD",
            "customers/T024BE7LD",
            "T024BE7LD",
            "k-123456",
            "s3cr3tkey",
        ] {
            assert_eq!(secrets.without(said), SECRET, "{said}");
        }
        let said = "no customers at example.com";
        assert_eq!(secrets.without(said), said);
        assert_eq!(in_url(&"https://example.com".parse().unwrap()).without("/"), "/");
    }

    #[test]
    fn a_signing_secret_is_found_as_it_is_written_and_as_the_key_that_it_is() {
        let secrets = in_signing(&[SigningSecret("whsec_YWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4".into())]);
        for said in [
            "whsec_YWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4",
            "abcdefghijklmnopqrstuvwx",
            "6162636465666768",
        ] {
            assert!(secrets.without(said).ends_with(SECRET), "{said}");
        }
    }

    #[test]
    fn the_password_of_a_proxy_is_a_secret_and_so_is_what_was_given_in_place_of_a_configured_one() {
        let proxy = "http://ada:lovelace@proxy.example.com".parse().unwrap();
        let known = KnownSecrets::new(Secrets::none(), Some(&proxy));
        known.take_over("first-token");
        known.take_over("second-token");
        let secrets = known.and(&Sent::with(&request(&[], None)));
        for said in ["lovelace", "YWRhOmxvdmVsYWNl", "second-token"] {
            assert_eq!(secrets.without(said), SECRET, "{said}");
        }
    }

    #[test]
    fn no_secret_that_was_sent_to_a_token_endpoint_is_repeated() {
        let secrets =
            in_form("grant_type=refresh_token&client_id=app-17&client_secret=s%2Be%26cr%0A&refresh_token=");
        for said in ["app-17", "s+e&cr\n", "s%2Be%26cr%0A"] {
            assert_eq!(words(said, &secrets), SECRET, "{said}");
        }
        assert_eq!(words("no s+e&cr\n, please", &secrets), "no (secret), please");
        assert_eq!(
            words("bad app-17: no refresh_token", &secrets),
            "bad (secret): no refresh_token"
        );
    }

    #[test]
    fn nothing_is_left_of_a_secret_that_holds_another_or_that_is_cut() {
        let secrets = in_form("client_id=app-17&client_secret=app-17-two");
        assert_eq!(words("app-17-two", &secrets), SECRET);
        let said = format!("{}app-17", "x".repeat(MAX_WORDS_BYTES - 2));
        let words = words(&said, &secrets);
        assert!(words.len() <= MAX_WORDS_BYTES && !words.contains("ap"), "{words}");
    }

    #[test]
    fn words_are_one_short_line() {
        let nothing = Secrets::none();
        assert_eq!(words(" a\u{1b}[2J\r\n\tb ", &nothing), "a [2J b");
        assert_eq!(words(&"ä".repeat(200), &nothing), "ä".repeat(100));
    }

    #[test]
    fn a_refusal_says_what_the_endpoint_says_and_no_more() {
        let nothing = Secrets::none();
        assert_eq!(
            refusal(
                400,
                "invalid_grant",
                "user hasn't approved this consumer",
                &nothing
            ),
            "HTTP 400 invalid_grant from the token endpoint (user hasn't approved this consumer)"
        );
        assert_eq!(refusal(404, "", "", &nothing), "HTTP 404 from the token endpoint");
    }
}
