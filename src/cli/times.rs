//! Times as people read them: in UTC, and how long ago.
//!
//! `now` is the database's clock, like every time that is shown.

use std::str::FromStr;
use std::time::Duration;

pub(super) use crate::core::spoken::{at, relative, utc};
use crate::core::time::Timestamp;

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
