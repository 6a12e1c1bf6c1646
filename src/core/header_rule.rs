//! Which header names and values a configuration or an outbox row may supply.
//!
//! What the relay itself says in a request (the key, the signature, the length) must never be overridden from
//! outside, and a value must be one that every receiver reads alike.

/// The longest header value, in bytes.
pub const MAX_VALUE_BYTES: usize = 4096;

/// The longest header name, in bytes.
pub const MAX_NAME_BYTES: usize = 256;

/// So many headers a configuration may set, and as many a row.
pub const MAX_HEADERS: usize = 64;

/// Names that frame the request or steer the connection.
const FORBIDDEN_NAMES: [&str; 7] = [
    "host",
    "content-length",
    "transfer-encoding",
    "connection",
    "te",
    "upgrade",
    "expect",
];

/// What the relay's own headers begin with.
const FORBIDDEN_PREFIXES: [&str; 2] = ["webhook-", "aftercommit-"];

/// Configured headers whose values are no secrets, whatever else may be one.
const OPEN_NAMES: [&str; 4] = ["accept", "accept-language", "content-type", "user-agent"];

/// What stands in the name of a header that gives access.
const ACCESS_WORDS: [&str; 11] = [
    "authorization",
    "auth-",
    "cookie",
    "token",
    "secret",
    "password",
    "credential",
    "signature",
    "api-key",
    "apikey",
    "access-key",
];

/// A header that may not be set. The message never repeats the value, which may be a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("header {name:?} {fault}")]
pub struct BadHeader {
    /// The name as it was given, its start at least.
    pub name: String,
    /// What is wrong with it.
    pub fault: HeaderFault,
}

/// What is wrong with a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HeaderFault {
    /// Not a token of RFC 9110, or too long.
    #[error("has no valid name: 1 to {MAX_NAME_BYTES} letters, digits and !#$%&'*+-.^_`|~")]
    Name,
    /// The relay or the protocol sets it.
    #[error("is set by the relay itself and cannot be set here")]
    Reserved,
    /// Not what every receiver reads alike.
    #[error("has a value that is not printable ASCII")]
    ValueCharacters,
    /// A blank at one end, which receivers cut off.
    #[error("has a value that begins or ends with a blank")]
    ValueBlanks,
    /// Too long.
    #[error("has a value of more than {MAX_VALUE_BYTES} bytes")]
    ValueLength,
}

/// Whether a configuration or a row may set header `name` to `value`, given the name of the key's header.
pub fn check_header(name: &str, value: &str, key_header: &str) -> Result<(), BadHeader> {
    check_name(name)?;
    if name.eq_ignore_ascii_case(key_header) {
        return Err(bad(name, HeaderFault::Reserved));
    }
    check_value(value).map_err(|fault| bad(name, fault))
}

/// Whether a header, the key's own included, may have this name.
pub fn check_name(name: &str) -> Result<(), BadHeader> {
    if name.is_empty() || name.len() > MAX_NAME_BYTES || !name.bytes().all(is_token) {
        return Err(bad(name, HeaderFault::Name));
    }
    let reserved = FORBIDDEN_NAMES
        .iter()
        .any(|forbidden| name.eq_ignore_ascii_case(forbidden))
        || FORBIDDEN_PREFIXES.iter().any(|prefix| begins_with(name, prefix));
    if reserved {
        Err(bad(name, HeaderFault::Reserved))
    } else {
        Ok(())
    }
}

/// Whether the value of a configured header may be shown. Of any other it is only whoever configured it that knows.
pub fn is_open(name: &str) -> bool {
    OPEN_NAMES.iter().any(|open| name.eq_ignore_ascii_case(open))
}

/// Whether the value of a header that a row brings gives access, by its name: it is not shown.
pub fn gives_access(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ACCESS_WORDS.iter().any(|word| name.contains(word))
}

fn check_value(value: &str) -> Result<(), HeaderFault> {
    if value.len() > MAX_VALUE_BYTES {
        return Err(HeaderFault::ValueLength);
    }
    if !value.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        return Err(HeaderFault::ValueCharacters);
    }
    if value.starts_with(' ') || value.ends_with(' ') {
        return Err(HeaderFault::ValueBlanks);
    }
    Ok(())
}

fn begins_with(name: &str, prefix: &str) -> bool {
    name.get(..prefix.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Names from rows can be of any length; a message needs no more than the start.
fn bad(name: &str, fault: HeaderFault) -> BadHeader {
    BadHeader {
        name: name.chars().take(64).collect(),
        fault,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(name: &str, value: &str) -> Option<HeaderFault> {
        check_header(name, value, "idempotency-key")
            .err()
            .map(|bad| bad.fault)
    }

    #[test]
    fn ordinary_headers_may_be_set() {
        for (name, value) in [
            ("x-tenant", "acme"),
            ("Authorization", "Bearer a b c"),
            (
                "traceparent",
                "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            ),
            ("x-empty", ""),
            ("x-long", &"v".repeat(MAX_VALUE_BYTES)),
            ("webhook", "a name that only resembles a reserved one"),
        ] {
            assert_eq!(fault(name, value), None, "{name}");
        }
    }

    #[test]
    fn what_the_relay_says_itself_cannot_be_overridden() {
        for name in [
            "host",
            "Content-Length",
            "transfer-encoding",
            "CONNECTION",
            "te",
            "upgrade",
            "expect",
            "idempotency-key",
            "Idempotency-Key",
            "webhook-signature",
            "Webhook-Id",
            "aftercommit-topic",
            "AFTERCOMMIT-ANYTHING",
        ] {
            assert_eq!(fault(name, "v"), Some(HeaderFault::Reserved), "{name}");
        }
    }

    #[test]
    fn what_gives_access_is_told_by_its_name() {
        for name in [
            "Authorization",
            "proxy-authorization",
            "Cookie",
            "X-Api-Key",
            "x-auth-key",
            "x-hub-signature-256",
        ] {
            assert!(gives_access(name) && !is_open(name), "{name}");
        }
        for name in ["traceparent", "x-tenant", "idempotency-key", "x-author", "accept"] {
            assert!(!gives_access(name), "{name}");
        }
        assert!(is_open("Content-Type"));
    }

    #[test]
    fn a_name_is_a_token() {
        for name in [
            "",
            "a b",
            "a:b",
            "x-ü",
            "a\r\nb",
            "a\0",
            &"n".repeat(MAX_NAME_BYTES + 1),
        ] {
            assert_eq!(fault(name, "v"), Some(HeaderFault::Name), "{name:?}");
        }
    }

    #[test]
    fn a_value_is_printable_ascii_without_blanks_at_its_ends_and_of_bounded_length() {
        for (value, expected) in [
            ("a\r\nx-injected: 1", HeaderFault::ValueCharacters),
            ("a\tb", HeaderFault::ValueCharacters),
            ("gr\u{fc}n", HeaderFault::ValueCharacters),
            ("a\0", HeaderFault::ValueCharacters),
            ("a\u{7f}", HeaderFault::ValueCharacters),
            (" a", HeaderFault::ValueBlanks),
            ("a ", HeaderFault::ValueBlanks),
            (&"v".repeat(MAX_VALUE_BYTES + 1), HeaderFault::ValueLength),
        ] {
            assert_eq!(fault("x-tenant", value), Some(expected), "{value:?}");
        }
    }

    #[test]
    fn the_message_names_the_header_and_never_its_value() {
        let error = check_header("x-token", "canary-s3cret\u{7}", "idempotency-key").unwrap_err();
        assert_eq!(
            error.to_string(),
            "header \"x-token\" has a value that is not printable ASCII"
        );
        assert!(!format!("{error:?}").contains("canary"));
    }
}
