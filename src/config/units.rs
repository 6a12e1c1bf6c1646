//! Durations and sizes as text: a whole number and one unit. Rates: a whole number for each duration.
//!
//! Pure, and both ways: what is shown reads back as the same value.

use std::time::Duration;

use crate::core::limit::bucket::Rate;

/// Units of time with their milliseconds, shortest first.
const TIMES: [(&str, u64); 5] = [
    ("ms", 1),
    ("s", 1_000),
    ("m", 60_000),
    ("h", 3_600_000),
    ("d", 86_400_000),
];

/// Units of size with their bytes, smallest first.
const SIZES: [(&str, u64); 4] = [("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];

/// In place of a duration that has no end.
pub(super) const UNBOUNDED: &str = "unbounded";

/// Reads a duration such as `250ms`, `30s`, `5m`, `6h` or `3d`; the error says what is wrong.
pub fn duration(text: &str) -> Result<Duration, String> {
    measure(text, &TIMES).map(Duration::from_millis).ok_or_else(|| {
        let text = text.escape_debug();
        format!("`{text}` is not a duration; write a whole number and one of ms, s, m, h, d, such as \"30s\"")
    })
}

/// Reads a size such as `4MiB` or `512KiB`, in bytes; the error says what is wrong.
pub(super) fn size(text: &str) -> Result<u64, String> {
    measure(text, &SIZES).ok_or_else(|| {
        let text = text.escape_debug();
        format!("`{text}` is not a size; write a whole number and one of B, KiB, MiB, GiB, such as \"4MiB\"")
    })
}

/// Reads a rate such as `100/10s` or `5/s`; the error says what is wrong.
pub(super) fn rate(text: &str) -> Result<Rate, String> {
    let read = |(requests, span): (&str, &str)| {
        let digits = !requests.is_empty() && requests.bytes().all(|byte| byte.is_ascii_digit());
        let requests = requests.parse().ok().filter(|requests| digits && *requests > 0)?;
        let one = TIMES
            .iter()
            .find(|(unit, _)| *unit == span)
            .map(|(_, scale)| *scale);
        let millis = one
            .or_else(|| measure(span, &TIMES))
            .filter(|millis| *millis > 0)?;
        Some(Rate {
            requests,
            per: Duration::from_millis(millis),
        })
    };
    text.split_once('/').and_then(read).ok_or_else(|| {
        let text = text.escape_debug();
        format!("`{text}` is not a rate; write a number of requests and a duration, such as \"100/10s\" or \"5/s\"")
    })
}

/// A rate as [`rate`] reads it.
pub(super) fn rate_text(rate: Rate) -> String {
    let span = duration_text(rate.per);
    let unit = span
        .strip_prefix('1')
        .filter(|unit| TIMES.iter().any(|(name, _)| name == unit));
    format!("{}/{}", rate.requests, unit.unwrap_or(&span))
}

/// A duration in the largest unit that it is a whole number of; what is below a millisecond is cut off.
pub(super) fn duration_text(duration: Duration) -> String {
    shown(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX), &TIMES)
}

/// A size in the largest unit that it is a whole number of.
pub(super) fn size_text(bytes: u64) -> String {
    shown(bytes, &SIZES)
}

fn measure(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let (_, scale) = units.iter().find(|(name, _)| *name == unit)?;
    number.parse::<u64>().ok()?.checked_mul(*scale)
}

fn shown(value: u64, units: &[(&str, u64)]) -> String {
    let whole = units
        .iter()
        .rev()
        .find(|(_, scale)| value >= *scale && value.is_multiple_of(*scale));
    match whole {
        Some((unit, scale)) => format!("{}{unit}", value / scale),
        None => format!("{value}{}", units[0].0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_duration_is_one_number_and_one_unit() {
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(duration("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(duration("3d"), Ok(Duration::from_hours(72)));
        for wrong in [
            "",
            "s",
            "30",
            "30 s",
            "1h30m",
            "-1s",
            "1.5s",
            "30S",
            "99999999999999999999s",
            "+1s",
        ] {
            assert!(duration(wrong).is_err(), "{wrong} was taken");
        }
    }

    #[test]
    fn a_size_is_one_number_and_one_unit() {
        assert_eq!(size("4MiB"), Ok(4 << 20));
        assert_eq!(size("512KiB"), Ok(512 << 10));
        for wrong in ["", "MiB", "4", "4MB", "4M", "4 MiB", "-1B", "17179869184GiB"] {
            assert!(size(wrong).is_err(), "{wrong} was taken");
        }
    }

    #[test]
    fn a_rate_is_a_number_of_requests_and_a_duration() {
        let of = |requests, millis| {
            Ok(Rate {
                requests,
                per: Duration::from_millis(millis),
            })
        };
        assert_eq!(rate("100/10s"), of(100, 10_000));
        assert_eq!(rate("5/s"), of(5, 1_000));
        assert_eq!(rate("1/d"), of(1, 86_400_000));
        for wrong in [
            "", "5", "/s", "5/", "0/s", "5/0s", "-5/s", "+5/s", "5 / s", "5/s/s", "1.5/s", "5/year",
        ] {
            assert!(rate(wrong).is_err(), "{wrong} was taken");
        }
    }

    #[test]
    fn what_is_shown_takes_the_largest_whole_unit() {
        assert_eq!(duration_text(Duration::from_secs(90)), "90s");
        assert_eq!(duration_text(Duration::from_hours(48)), "2d");
        assert_eq!(duration_text(Duration::ZERO), "0ms");
        assert_eq!(size_text(65_536), "64KiB");
    }

    proptest! {
        #[test]
        fn a_duration_that_is_shown_reads_back_as_itself(millis in any::<u64>()) {
            let shown = duration_text(Duration::from_millis(millis));
            prop_assert_eq!(duration(&shown), Ok(Duration::from_millis(millis)));
        }

        #[test]
        fn every_unit_of_time_reads_back_as_itself(number in 0..10_000_u64, unit in 0..5_usize) {
            let (name, scale) = TIMES[unit];
            let read = duration(&format!("{number}{name}"));
            prop_assert_eq!(&read, &Ok(Duration::from_millis(number * scale)));
            prop_assert_eq!(duration(&duration_text(read.unwrap())), Ok(Duration::from_millis(number * scale)));
        }

        #[test]
        fn a_size_that_is_shown_reads_back_as_itself(bytes in any::<u64>(), kibi in 0..1_u64 << 40) {
            prop_assert_eq!(size(&size_text(bytes)), Ok(bytes));
            prop_assert_eq!(size(&size_text(kibi << 10)), Ok(kibi << 10));
        }

        #[test]
        fn a_rate_that_is_shown_reads_back_as_itself(requests in 1..u32::MAX, millis in 1..1_u64 << 40) {
            let one = Rate { requests, per: Duration::from_millis(millis) };
            prop_assert_eq!(rate(&rate_text(one)), Ok(one));
        }

        #[test]
        fn no_text_panics(text in ".*") {
            let _ = (duration(&text), size(&text), rate(&text));
        }
    }
}
