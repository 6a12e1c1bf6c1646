//! Times, spans and numbers as people say them: in sentences, tables and answers of the API.
//!
//! Words alone; what is said with them is decided elsewhere. `now` is an argument, by the clock that the time came from.

use std::fmt::Display;
use std::time::Duration;

use super::time::Timestamp;

/// `2026-11-29 18:05:37 UTC (2m ago)`.
pub fn at(time: Timestamp, now: Timestamp) -> String {
    format!("{} UTC ({})", utc(time), relative(time, now))
}

/// `2026-11-29 18:05:37`, in UTC.
pub fn utc(time: Timestamp) -> String {
    let text = time.to_string();
    let seconds = text.split(['.', 'Z']).next().unwrap_or(&text);
    seconds.replacen('T', " ", 1)
}

/// `2m ago` or `in 2m`.
pub fn relative(time: Timestamp, now: Timestamp) -> String {
    if time > now {
        format!("in {}", span(time.since(now)))
    } else {
        format!("{} ago", span(now.since(time)))
    }
}

/// The two largest units that matter are one too many: `95s` reads as `1m`.
pub fn span(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0 => format!("{}ms", duration.as_millis()),
        1..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..172_800 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// `1 row` or `2 rows`; with a verb, `1 row is` or `2 rows are`.
pub fn counted(count: impl Display, one: &str, many: &str) -> String {
    let count = count.to_string();
    let word = if count == "1" { one } else { many };
    format!("{count} {word}")
}

/// What `detail` says beside the HTTP status that was named before it: `: no such field`, or nothing.
pub fn beside_status(status: Option<u16>, detail: Option<&str>) -> String {
    let Some(detail) = detail else {
        return String::new();
    };
    let named = status.and_then(|status| detail.strip_prefix(&format!("HTTP {status}")));
    match named {
        Some("") => String::new(),
        Some(rest) => match rest.strip_prefix([':', ',']) {
            Some(rest) => format!(": {}", rest.trim_start()),
            // The sentence goes on with the status as a part of it.
            None => format!(": {detail}"),
        },
        None => format!(": {detail}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(1_796_000_000_123_456);

    fn ago(seconds: i64) -> Timestamp {
        Timestamp::from_micros(NOW.as_micros() - seconds * 1_000_000)
    }

    #[test]
    fn a_time_is_shown_in_utc_and_by_how_long_ago_it_was() {
        assert_eq!(at(ago(95), NOW), "2026-11-30 00:51:45 UTC (1m ago)");
        assert_eq!(relative(NOW, NOW), "0ms ago");
        assert_eq!(relative(ago(7_200), NOW), "2h ago");
        assert_eq!(relative(ago(5 * 86_400), NOW), "5d ago");
        assert_eq!(relative(NOW, ago(30)), "in 30s");
    }

    #[test]
    fn a_status_that_was_named_is_not_named_again() {
        let beside = |detail| beside_status(Some(422), Some(detail));
        assert_eq!(beside("HTTP 422"), "");
        assert_eq!(beside("HTTP 422: no such field"), ": no such field");
        assert_eq!(beside("HTTP 422, VALIDATION_ERROR"), ": VALIDATION_ERROR");
        assert_eq!(beside("HTTP 422 for each of them"), ": HTTP 422 for each of them");
        assert_eq!(beside("no such field"), ": no such field");
        assert_eq!(beside_status(None, Some("HTTP 422")), ": HTTP 422");
        assert_eq!(beside_status(Some(422), None), "");
    }

    #[test]
    fn only_one_is_one() {
        let rows = [0_u64, 1, 2].map(|count| counted(count, "row is", "rows are"));
        assert_eq!(rows, ["0 rows are", "1 row is", "2 rows are"]);
        assert_eq!(counted(1_usize, "topic", "topics"), "1 topic");
    }
}
