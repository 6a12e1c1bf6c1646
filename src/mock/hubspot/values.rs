//! Which values a property takes, and the form in which HubSpot keeps them.
//!
//! Everything is a string on the wire. A number, a date or a choice that is none is refused with the code and the
//! sentence that HubSpot uses. Pure.

use jiff::Timestamp;
use jiff::civil::{Date, Time};
use jiff::tz::Offset;

use super::refusal::InvalidProperty;
use crate::mock::crm::{Field, FieldType};

/// The value as HubSpot keeps it. The empty string clears and is always taken.
pub(super) fn take(name: &str, property: &Field, value: &str) -> Result<String, InvalidProperty> {
    if value.is_empty() {
        return Ok(String::new());
    }
    let taken = match property.kind {
        FieldType::Text | FieldType::Reference => Ok(value.to_owned()),
        FieldType::Email => email(value),
        FieldType::Number | FieldType::Currency | FieldType::Integer => number(value),
        FieldType::Date => date(value),
        FieldType::Datetime => datetime(value),
        FieldType::Boolean => choice(value, &["true", "false"]),
        FieldType::Choice => choice(value, &property.values),
        FieldType::Choices => {
            let mut parts = value.split(';');
            parts
                .try_for_each(|part| choice(part, &property.values).map(drop))
                .map(|()| value.to_owned())
        }
    };
    taken.map_err(|(error, message)| InvalidProperty::new(name, error, message))
}

/// The code and the sentence of a refusal.
type Refused = (&'static str, String);

fn email(value: &str) -> Result<String, Refused> {
    let invalid = || ("INVALID_EMAIL", format!("Email address {value} is invalid"));
    let (local, domain) = value.split_once('@').ok_or_else(invalid)?;
    let whole = !local.is_empty() && !value.contains(char::is_whitespace) && !domain.contains('@');
    let labels = domain.split('.');
    if whole && labels.clone().count() > 1 && labels.clone().all(|label| !label.is_empty()) {
        Ok(value.to_lowercase())
    } else {
        Err(invalid())
    }
}

fn number(value: &str) -> Result<String, Refused> {
    let digits = value.strip_prefix('-').unwrap_or(value);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let decimal = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if decimal(whole) && decimal(fraction) && !(whole.is_empty() && fraction.is_empty()) {
        Ok(value.to_owned())
    } else {
        Err(("INVALID_INTEGER", format!("{value} was not a valid number.")))
    }
}

fn choice<T: AsRef<str>>(value: &str, options: &[T]) -> Result<String, Refused> {
    let options: Vec<&str> = options.iter().map(AsRef::as_ref).collect();
    if options.contains(&value) {
        return Ok(value.to_owned());
    }
    let options = options.join(", ");
    Err((
        "INVALID_OPTION",
        format!("{value} was not one of the allowed options: [{options}]"),
    ))
}

/// `YYYY-MM-DD`, or milliseconds since 1970 that are a midnight in UTC.
fn date(value: &str) -> Result<String, Refused> {
    if let Some(day) = day(value) {
        return Ok(day.to_string());
    }
    let moment = Offset::UTC.to_datetime(moment(value)?);
    let time = moment.time();
    if time == Time::midnight() {
        return Ok(moment.date().to_string());
    }
    let (hour, minute, second) = (time.hour(), time.minute(), time.second());
    let rest = time.millisecond();
    Err((
        "INVALID_DATE",
        format!("{value} is at {hour}:{minute}:{second}.{rest} UTC, not midnight!"),
    ))
}

/// Milliseconds since 1970, ISO 8601 with a zone, or a day, which is its midnight in UTC.
fn datetime(value: &str) -> Result<String, Refused> {
    let moment = match day(value) {
        Some(day) => Offset::UTC.to_timestamp(day.to_datetime(Time::midnight())).ok(),
        None => Some(moment(value)?),
    };
    moment.map(iso).ok_or_else(|| no_long(value))
}

fn day(value: &str) -> Option<Date> {
    (value.len() == "YYYY-MM-DD".len())
        .then(|| value.parse().ok())
        .flatten()
}

fn moment(value: &str) -> Result<Timestamp, Refused> {
    let parsed = match value.parse() {
        Ok(millis) => Timestamp::from_millisecond(millis).ok(),
        Err(_) => value.parse().ok(),
    };
    parsed.ok_or_else(|| no_long(value))
}

fn no_long(value: &str) -> Refused {
    ("INVALID_LONG", format!("{value} was not a valid long."))
}

/// As HubSpot writes moments: `2026-06-24T18:05:37.123Z`.
pub(super) fn iso(moment: Timestamp) -> String {
    moment.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The property `p` of this type.
    fn taken(kind: &str, value: &str) -> Result<String, InvalidProperty> {
        let property: Field = toml::from_str(&format!("type = \"{kind}\"\nvalues = [\"a\", \"b\"]")).unwrap();
        take("p", &property, value)
    }

    #[track_caller]
    fn assert_taken(kind: &str, value: &str, kept: &str) {
        assert_eq!(taken(kind, value), Ok(kept.to_owned()));
    }

    #[track_caller]
    fn assert_refused(kind: &str, value: &str, error: &'static str, message: &str) {
        let refused = InvalidProperty::new("p", error, message.to_owned());
        assert_eq!(taken(kind, value), Err(refused));
    }

    #[test]
    fn a_date_is_a_day_or_a_midnight_in_utc() {
        assert_taken("date", "2026-06-24", "2026-06-24");
        assert_taken("date", "1782259200000", "2026-06-24");
        assert_refused(
            "date",
            "1496643178000",
            "INVALID_DATE",
            "1496643178000 is at 6:12:58.0 UTC, not midnight!",
        );
        assert_refused("date", "1/1/1", "INVALID_LONG", "1/1/1 was not a valid long.");
    }

    #[test]
    fn a_moment_is_kept_with_milliseconds_whichever_way_it_was_written() {
        let kept = "2026-06-24T18:05:37.123Z";
        assert_taken("datetime", kept, kept);
        assert_taken("datetime", "2026-06-24T20:05:37.123+02:00", kept);
        assert_taken("datetime", "1782324337123", kept);
        assert_taken("datetime", "2026-06-24", "2026-06-24T00:00:00.000Z");
    }

    #[test]
    fn a_number_keeps_every_digit_and_has_no_exponent_and_no_blanks() {
        let long = "-12345678901234567890.123456789";
        assert_taken("number", long, long);
        assert_taken("number", ".5", ".5");
        for value in ["1.4210854715202004e-14", "banana", " 1", "-", "1,5"] {
            let message = format!("{value} was not a valid number.");
            assert_refused("number", value, "INVALID_INTEGER", &message);
        }
    }

    #[test]
    fn a_checkbox_is_true_or_false_and_a_list_is_joined_by_semicolons() {
        assert_taken("boolean", "true", "true");
        assert_refused(
            "boolean",
            "yes",
            "INVALID_OPTION",
            "yes was not one of the allowed options: [true, false]",
        );
        assert_taken("choices", "b;a", "b;a");
        assert_refused(
            "choices",
            "a;c",
            "INVALID_OPTION",
            "c was not one of the allowed options: [a, b]",
        );
    }

    #[test]
    fn an_address_is_kept_in_lower_case() {
        assert_taken("email", "Ann.Lee@Example.COM", "ann.lee@example.com");
        for value in ["not-an-email", "@b.co", "a@b", "a b@c.de", "a@b.c@d.e", "a@b..c"] {
            let message = format!("Email address {value} is invalid");
            assert_refused("email", value, "INVALID_EMAIL", &message);
        }
    }

    #[test]
    fn the_empty_string_clears_whatever_the_type() {
        assert_taken("number", "", "");
        assert_taken("date", "", "");
        assert_taken("email", "", "");
    }
}
