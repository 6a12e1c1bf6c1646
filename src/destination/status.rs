//! What an HTTP answer means for the delivery. Pure.

use reqwest::header::{HeaderMap, RETRY_AFTER};

use crate::core::outcome::{Outcome, Refusal, Scope};
use crate::core::retry_after::retry_after;
use crate::core::time::Timestamp;

/// The outcome that a status and its headers stand for. Only 2xx is accepted. `now` is what a date in `Retry-After`
/// counts from.
pub fn classify(status: u16, headers: &HeaderMap, now: Timestamp) -> Outcome {
    let throttled = |scope| Outcome::Throttled {
        scope,
        retry_after: asked_wait(headers, now),
    };
    match status {
        200..=299 => Outcome::Accepted,
        500..=599 if is_replayed(headers) => Outcome::Refused(Refusal::Stored),
        // The first request under this key is still running.
        409 => throttled(Scope::Row),
        429 | 503 => throttled(Scope::Destination),
        // A gateway gave up on a receiver that may have done the work all the same.
        502 | 504 => Outcome::Unknown,
        410 => Outcome::Refused(Refusal::Gone),
        // The same bytes can only meet the same answer.
        400 | 413 | 414 | 415 | 422 | 431 => Outcome::Refused(Refusal::Final),
        300..=599 => Outcome::Refused(Refusal::Retryable),
        // 101, and numbers that HTTP does not know: no yes, and no no.
        _ => Outcome::Unknown,
    }
}

/// A sentence on an answer that is not 2xx.
pub fn describe(status: u16, headers: &HeaderMap) -> String {
    match status {
        300..=399 => {
            format!("HTTP {status}: redirects are never followed; configure the URL that they lead to")
        }
        409 => "HTTP 409: a request with this key is still running, or the row conflicts".to_owned(),
        410 => "HTTP 410: the receiver is gone for good".to_owned(),
        500..=599 if is_replayed(headers) => {
            format!("HTTP {status}, a failure that the receiver stored under this key")
        }
        502 | 504 => format!("HTTP {status}: a gateway had no answer in time; the request may have arrived"),
        _ => format!("HTTP {status}"),
    }
}

/// How long the receiver asks to wait, if it does.
pub(super) fn asked_wait(headers: &HeaderMap, now: Timestamp) -> Option<std::time::Duration> {
    retry_after(
        headers
            .get_all(RETRY_AFTER)
            .iter()
            .map(reqwest::header::HeaderValue::as_bytes),
        now,
    )
}

/// Whether the receiver says that it answered from its memory of the key.
fn is_replayed(headers: &HeaderMap) -> bool {
    headers
        .get("idempotent-replayed")
        .is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"true"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);

    fn headers(pairs: &[(&'static str, &[u8])]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| {
                (
                    reqwest::header::HeaderName::from_static(name),
                    reqwest::header::HeaderValue::from_bytes(value).unwrap(),
                )
            })
            .collect()
    }

    fn outcome(status: u16) -> Outcome {
        classify(status, &HeaderMap::new(), NOW)
    }

    #[test]
    fn every_status_has_its_outcome() {
        let throttled = |scope| Outcome::Throttled {
            scope,
            retry_after: None,
        };
        for (statuses, expected) in [
            (&[200, 201, 202, 204, 226, 299][..], Outcome::Accepted),
            (&[409], throttled(Scope::Row)),
            (&[429, 503], throttled(Scope::Destination)),
            (&[400, 413, 414, 415, 422, 431], Outcome::Refused(Refusal::Final)),
            (&[410], Outcome::Refused(Refusal::Gone)),
            (&[502, 504, 100, 101, 102, 103, 199, 600, 999], Outcome::Unknown),
            (
                &[300, 301, 302, 303, 304, 307, 308, 399],
                Outcome::Refused(Refusal::Retryable),
            ),
            (
                &[
                    401, 403, 404, 405, 408, 421, 425, 451, 500, 501, 505, 507, 511, 599,
                ],
                Outcome::Refused(Refusal::Retryable),
            ),
        ] {
            for status in statuses {
                assert_eq!(outcome(*status), expected, "{status}");
            }
        }
    }

    #[test]
    fn only_a_2xx_is_ever_accepted() {
        for status in (0..=999).filter(|status| !(200..300).contains(status)) {
            assert_ne!(outcome(status), Outcome::Accepted, "{status}");
        }
    }

    #[test]
    fn a_failure_stored_under_the_key_is_not_worth_a_schedule() {
        for status in [500, 502, 503, 504] {
            let stored = headers(&[("idempotent-replayed", b"True")]);
            assert_eq!(
                classify(status, &stored, NOW),
                Outcome::Refused(Refusal::Stored),
                "{status}"
            );
        }
        let fresh = headers(&[("idempotent-replayed", b"false")]);
        assert_eq!(classify(500, &fresh, NOW), Outcome::Refused(Refusal::Retryable));
        let accepted = headers(&[("idempotent-replayed", b"true")]);
        assert_eq!(classify(200, &accepted, NOW), Outcome::Accepted);
        assert_eq!(classify(429, &accepted, NOW), outcome(429));
    }

    #[test]
    fn a_wait_that_is_asked_for_is_carried_and_garbage_is_not() {
        let wait = |status, value: &[u8]| match classify(status, &headers(&[("retry-after", value)]), NOW) {
            Outcome::Throttled { retry_after, .. } => retry_after,
            other => panic!("{other:?}"),
        };
        for status in [409, 429, 503] {
            assert_eq!(wait(status, b"120"), Some(Duration::from_mins(2)));
            assert_eq!(wait(status, b"s\xfcon"), None);
        }
    }
}
