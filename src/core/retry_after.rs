//! How long a receiver asks to wait, out of its `Retry-After` headers.
//!
//! Seconds or an HTTP date. What cannot be read, lies in the past or asks for no wait at all is ignored, so that the
//! policy's own delay holds; an absurd value is cut here so that no later arithmetic can overflow, and capped by the
//! policy to what an operator finds bearable.

use std::time::Duration;

use jiff::civil::DateTime;
use jiff::fmt::strtime;

use super::time::Timestamp;

/// No wait is read as longer than this: about 136 years.
pub const LONGEST: Duration = Duration::from_secs(u32::MAX as u64);

/// The three forms of a date that RFC 9110 has a receiver of HTTP read.
const DATE_FORMS: [&str; 3] = [
    "%a, %d %b %Y %H:%M:%S GMT",
    "%A, %d-%b-%y %H:%M:%S GMT",
    "%a %b %e %H:%M:%S %Y",
];

/// The longest wait that any of the headers' `values` asks for, at most [`LONGEST`]; `now` is what a date counts from.
pub fn retry_after<'a>(values: impl IntoIterator<Item = &'a [u8]>, now: Timestamp) -> Option<Duration> {
    values.into_iter().filter_map(|value| read(value, now)).max()
}

fn read(value: &[u8], now: Timestamp) -> Option<Duration> {
    let text = str::from_utf8(value).ok()?.trim_matches([' ', '\t']);
    let wait = if text.bytes().all(|byte| byte.is_ascii_digit()) {
        seconds(text)?
    } else {
        date(text)?.since(now)
    };
    (!wait.is_zero()).then(|| wait.min(LONGEST))
}

/// `digits` holds nothing but digits; a number too large for the type is still a wish for a long wait.
fn seconds(digits: &str) -> Option<Duration> {
    if digits.is_empty() {
        return None;
    }
    Some(digits.parse().map_or(LONGEST, Duration::from_secs))
}

fn date(text: &str) -> Option<Timestamp> {
    const EPOCH: DateTime = jiff::civil::date(1970, 1, 1).at(0, 0, 0, 0);
    DATE_FORMS.iter().find_map(|form| {
        let date = strtime::parse(form, text).ok()?.to_datetime().ok()?;
        i64::try_from(date.duration_since(EPOCH).as_micros())
            .ok()
            .map(Timestamp::from_micros)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Sun, 06 Nov 1994 08:49:37 GMT
    const NOW: Timestamp = Timestamp::from_micros(784_111_777_000_000);

    fn one(value: &str) -> Option<Duration> {
        retry_after([value.as_bytes()], NOW)
    }

    #[test]
    fn seconds_are_read_with_blanks_around_them() {
        for (value, seconds) in [("120", 120), (" 120\t", 120), ("007", 7), ("1", 1)] {
            assert_eq!(one(value), Some(Duration::from_secs(seconds)), "{value:?}");
        }
    }

    #[test]
    fn a_date_is_read_in_each_of_its_three_forms() {
        for value in [
            "Sun, 06 Nov 1994 08:51:37 GMT",
            "Sunday, 06-Nov-94 08:51:37 GMT",
            "Sun Nov  6 08:51:37 1994",
        ] {
            assert_eq!(one(value), Some(Duration::from_mins(2)), "{value}");
        }
    }

    #[test]
    fn garbage_the_past_and_no_wait_at_all_are_ignored() {
        for value in [
            "",
            " ",
            "0",
            "-1",
            "+5",
            "1.5",
            "1e3",
            "soon",
            "120, 120",
            "120s",
            "12 0",
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:36 GMT",
            "Mon, 01 Jan 0001 00:00:00 GMT",
            "Sun, 99 Nov 1994 08:49:37 GMT",
            "Fri, 31 Feb 2040 00:00:00 GMT",
            "Sun, 06 Nov 1994 08:51:37 +0900",
            "\u{661}\u{662}",
        ] {
            assert_eq!(one(value), None, "{value:?}");
        }
        assert_eq!(retry_after([&b"\xff\xfe"[..]], NOW), None);
        assert_eq!(retry_after([], NOW), None);
    }

    #[test]
    fn an_absurd_wait_is_cut_and_not_an_overflow() {
        for value in [
            "1000000000000000000",
            "18446744073709551615",
            "18446744073709551616",
            &"9".repeat(400),
        ] {
            assert_eq!(one(value), Some(LONGEST), "{value}");
        }
        assert_eq!(one("Fri, 31 Dec 9999 23:59:59 GMT"), Some(LONGEST));
        assert!(NOW.plus(LONGEST) > NOW);
    }

    #[test]
    fn of_several_headers_the_longest_readable_wait_is_kept() {
        assert_eq!(
            retry_after([&b"5"[..], b"60", b"soon"], NOW),
            Some(Duration::from_mins(1))
        );
    }

    proptest! {
        #[test]
        fn no_value_and_no_clock_makes_it_panic(value: Vec<u8>, now: i64) {
            let wait = retry_after([value.as_slice()], Timestamp::from_micros(now));
            prop_assert!(wait.is_none_or(|wait| !wait.is_zero() && wait <= LONGEST));
        }
    }
}
