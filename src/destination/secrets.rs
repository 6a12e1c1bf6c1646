//! A token endpoint's own words in a sentence for people: one short line, without the secrets that were sent. Pure.
//!
//! The endpoint may repeat what it was asked with, and the sentence goes into logs and into the reason of a pause.

use std::cmp::Reverse;

use reqwest::Request;
use secrecy::{ExposeSecret as _, SecretString};
use url::form_urlencoded;

/// No more bytes than this of what an endpoint says are repeated.
const MAX_WORDS_BYTES: usize = 200;

/// What stands for a secret.
const REDACTED: &str = "[redacted]";

/// The secrets that a form carries. Never shown.
pub(super) struct SentSecrets(Vec<SecretString>);

impl SentSecrets {
    /// All values of the form in `request`, but for the kind of grant.
    pub(super) fn in_form(request: &Request) -> Self {
        let body = request.body().and_then(|body| body.as_bytes());
        let form = form_urlencoded::parse(body.unwrap_or_default());
        let mut secrets: Vec<SecretString> = form
            .filter(|(name, _)| name != "grant_type")
            .map(|(_, value)| one_line(&value))
            .filter(|value| !value.is_empty())
            .map(SecretString::from)
            .collect();
        // The longest first: one may hold another.
        secrets.sort_by_key(|secret| Reverse(secret.expose_secret().len()));
        Self(secrets)
    }

    /// `said` on one line, without any of the secrets as they are or as a form has them.
    pub(super) fn redact(&self, said: &str) -> String {
        // Between the one and the other: what is taken out could put a secret together, and a cut leave half of one.
        let mut words = one_line(said);
        for secret in &self.0 {
            let secret = secret.expose_secret();
            let encoded: String = form_urlencoded::byte_serialize(secret.as_bytes()).collect();
            words = words.replace(secret, REDACTED).replace(&encoded, REDACTED);
        }
        words.truncate(words.floor_char_boundary(MAX_WORDS_BYTES));
        words
    }
}

/// `HTTP 400 invalid_client from the token endpoint (invalid client credentials)`; what the endpoint does not say is left
/// out.
pub(super) fn refusal(status: u16, code: &str, reason: &str, sent: &SentSecrets) -> String {
    let (code, reason) = (sent.redact(code), sent.redact(reason));
    let code = Some(code).filter(|code| !code.is_empty());
    let reason = Some(reason).filter(|reason| !reason.is_empty());
    format!(
        "HTTP {status}{} from the token endpoint{}",
        code.map(|code| format!(" {code}")).unwrap_or_default(),
        reason.map(|reason| format!(" ({reason})")).unwrap_or_default(),
    )
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

    fn sent(form: &str) -> SentSecrets {
        let mut request = Request::new(Method::POST, "https://example.com".parse().unwrap());
        *request.body_mut() = Some(form.to_owned().into());
        SentSecrets::in_form(&request)
    }

    #[test]
    fn no_secret_that_was_sent_is_repeated_whichever_way_it_is_written() {
        let sent = sent("grant_type=refresh_token&client_id=app-7&client_secret=s%2Be%26c%0A&refresh_token=");
        for said in ["app-7 and s+e&c", "app-7 and s%2Be%26c", "ap\u{0}p-7"] {
            let words = sent.redact(said);
            assert!(
                !words.contains("app-7") && !words.contains("s+e&c") && !words.contains("%2Be"),
                "{words}"
            );
        }
        assert_eq!(
            sent.redact("bad app-7: no refresh_token"),
            "bad [redacted]: no refresh_token"
        );
    }

    #[test]
    fn nothing_is_left_of_a_secret_that_holds_another() {
        assert_eq!(
            sent("client_id=app&client_secret=app-7").redact("app-7"),
            "[redacted]"
        );
    }

    #[test]
    fn no_part_of_a_secret_is_left_where_the_words_are_cut() {
        let said = format!("{}app-7", "x".repeat(MAX_WORDS_BYTES - 2));
        let words = sent("client_id=app-7").redact(&said);
        assert!(words.len() <= MAX_WORDS_BYTES && !words.contains("ap"), "{words}");
    }

    #[test]
    fn words_are_one_short_line() {
        let nothing = sent("");
        assert_eq!(nothing.redact(" a\u{1b}[2J\r\n\tb "), "a [2J b");
        assert_eq!(nothing.redact(&"ä".repeat(200)), "ä".repeat(100));
    }

    #[test]
    fn a_refusal_says_what_the_endpoint_says_and_no_more() {
        let nothing = sent("");
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
