//! Times as people read them: in UTC, and how long ago.
//!
//! `now` is the database's clock, like every time that is shown.

use std::str::FromStr;
use std::time::Duration;

use crate::core::time::Timestamp;

/// `2026-11-29 18:05:37 (2m ago)`.
pub(super) fn at(time: Timestamp, now: Timestamp) -> String {
    format!("{} ({})", utc(time), relative(time, now))
}

/// `2026-11-29 18:05:37`, in UTC.
pub(super) fn utc(time: Timestamp) -> String {
    let text = time.to_string();
    let seconds = text.split(['.', 'Z']).next().unwrap_or(&text);
    seconds.replacen('T', " ", 1)
}

/// `2m ago` or `in 2m`.
pub(super) fn relative(time: Timestamp, now: Timestamp) -> String {
    if time > now {
        format!("in {}", span(time.since(now)))
    } else {
        format!("{} ago", span(now.since(time)))
    }
}

/// The two largest units that matter are one too many: `95s` reads as `1m`.
pub(super) fn span(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0 => format!("{}ms", duration.as_millis()),
        1..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..172_800 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// A time on the command line: RFC 3339, or so long before now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    At(Timestamp),
    Before(Duration),
}

impl When {
    pub(super) fn time(self, now: Timestamp) -> Timestamp {
        match self {
            Self::At(time) => time,
            Self::Before(span) => {
                let span = i64::try_from(span.as_micros()).unwrap_or(i64::MAX);
                Timestamp::from_micros(now.as_micros().saturating_sub(span))
            }
        }
    }
}

impl FromStr for When {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(time) = text.parse() {
            return Ok(Self::At(time));
        }
        let span = text.parse::<jiff::SignedDuration>().ok();
        let span = span.and_then(|span| Duration::try_from(span).ok());
        let way_out =
            "write a time such as 2026-11-29T18:05:37Z, or how long ago, such as 90s, 15m, 2h or 72h";
        span.map(Self::Before).ok_or_else(|| way_out.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(1_796_000_000_123_456);

    fn ago(seconds: u64) -> Timestamp {
        When::Before(Duration::from_secs(seconds)).time(NOW)
    }

    #[test]
    fn a_time_is_shown_in_utc_and_by_how_long_ago_it_was() {
        assert_eq!(at(ago(95), NOW), "2026-11-30 00:51:45 (1m ago)");
        assert_eq!(relative(NOW, NOW), "0ms ago");
        assert_eq!(relative(ago(7_200), NOW), "2h ago");
        assert_eq!(relative(ago(5 * 86_400), NOW), "5d ago");
        assert_eq!(relative(NOW, ago(30)), "in 30s");
    }

    #[test]
    fn a_time_can_be_given_as_such_or_as_how_long_ago() {
        assert_eq!("15m".parse(), Ok(When::Before(Duration::from_mins(15))));
        assert_eq!(
            "1970-01-01T00:00:01Z".parse(),
            Ok(When::At(Timestamp::from_micros(1_000_000)))
        );
        assert!("yesterday".parse::<When>().is_err());
        assert!("-15m".parse::<When>().is_err());
    }
}
