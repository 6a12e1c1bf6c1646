//! How a plain record, which knows nothing of outboxes, becomes a row: which fields name it, and what happened to it.
//!
//! Pure: texts in, texts or a problem in words out. The line number is the reader's to add.

use jiff::Timestamp;
use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;

use crate::core::canonical::canonical;
use crate::core::row::{NewRow, Op};
use crate::core::row_key::row_key;

/// How a plain record becomes a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    /// The topic of every row.
    pub topic: String,
    /// What happened to every row.
    pub op: Op,
    /// The fields that make the row key, at least one; of several as [`row_key`] says. None may be null.
    pub key: Vec<String>,
    /// The field that orders the versions of a row: a whole number, an RFC 3339 time, which counts as microseconds, or a date: its
    /// midnight in UTC.
    pub version: Option<String>,
}

impl Mapping {
    /// The fields whose values `row` takes, in its order.
    pub(super) fn fields(&self) -> impl Iterator<Item = &str> {
        self.key.iter().chain(&self.version).map(String::as_str)
    }

    /// The row with this payload, and these values of [`Mapping::fields`].
    pub(super) fn row(&self, mut values: Vec<String>, payload: String) -> Result<NewRow, String> {
        let row_version = match &self.version {
            None => None,
            Some(field) => {
                let value = values.pop().unwrap_or_default();
                Some(read_version(&value).ok_or_else(|| {
                    format!(
                        "the version field `{field}` is no whole number of 64 bits, RFC 3339 time or date"
                    )
                })?)
            }
        };
        let row = NewRow {
            topic: self.topic.clone(),
            row_key: row_key(&values),
            row_version,
            op: self.op,
            payload: match self.op {
                Op::Delete => "null".to_owned(),
                Op::Upsert | Op::Event => payload,
            },
            headers: None,
        };
        check(&row)?;
        Ok(row)
    }
}

fn read_version(value: &str) -> Option<i64> {
    if let Ok(number) = value.parse() {
        return Some(number);
    }
    let time: Timestamp = value.parse().ok().or_else(|| midnight(value))?;
    Some(time.as_microsecond())
}

/// The first moment in UTC of a date such as `2025-05-18`; of nothing else that begins with one.
fn midnight(value: &str) -> Option<Timestamp> {
    let is_date = value.len() == 10 && value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    let date: Date = is_date.then(|| value.parse().ok())??;
    TimeZone::UTC
        .to_timestamp(date.to_datetime(Time::midnight()))
        .ok()
}

/// What the outbox would refuse, or the relay could not send: here the line is still known.
pub(super) fn check(row: &NewRow) -> Result<(), String> {
    let NewRow {
        topic,
        row_key,
        payload,
        ..
    } = row;
    if !(1..=255).contains(&topic.len()) || topic.contains('\0') {
        return Err("a topic has 1 to 255 bytes and no NUL".to_owned());
    }
    if !(1..=1024).contains(&row_key.len()) || row_key.contains('\0') {
        return Err(format!(
            "the row key has {} bytes; it must have 1 to 1024 and no NUL: hash a longer one",
            row_key.len()
        ));
    }
    if row.op == Op::Delete && payload != "null" {
        return Err(
            "a delete carries a payload; leave it out, and to tell more of the row upsert it first"
                .to_owned(),
        );
    }
    canonical(payload).map_err(|error| error.to_string())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(key: &[&str], version: Option<&str>) -> Mapping {
        Mapping {
            topic: "orders".to_owned(),
            op: Op::Upsert,
            key: key.iter().map(|&field| field.to_owned()).collect(),
            version: version.map(str::to_owned),
        }
    }

    fn version_of(value: &str) -> Result<Option<i64>, String> {
        let values = vec!["1".to_owned(), value.to_owned()];
        Ok(mapping(&["id"], Some("at"))
            .row(values, "{}".to_owned())?
            .row_version)
    }

    #[test]
    fn a_version_is_a_whole_number_or_a_time_in_microseconds() {
        assert_eq!(version_of("-7"), Ok(Some(-7)));
        assert_eq!(version_of("9223372036854775807"), Ok(Some(i64::MAX)));
        assert_eq!(version_of("1970-01-01T00:00:01.5Z"), Ok(Some(1_500_000)));
        assert_eq!(version_of("1970-01-01T02:00:00+02:00"), Ok(Some(0)));
        assert_eq!(version_of("1970-01-02"), Ok(Some(86_400_000_000)));
        for wrong in [
            "1.5",
            "9223372036854775808",
            "",
            "yesterday",
            "1970-01-01T00:00:00",
            "1970-01-32",
            "1970-1-1",
            "19700101T0",
        ] {
            assert!(version_of(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_delete_needs_no_more_than_the_key() {
        let delete = Mapping {
            op: Op::Delete,
            ..mapping(&["id"], None)
        };
        let row = delete
            .row(vec!["7".to_owned()], r#"{"id": 7}"#.to_owned())
            .unwrap();
        assert_eq!((row.row_key.as_str(), row.payload.as_str()), ("7", "null"));
    }

    #[test]
    fn what_could_never_be_sent_is_refused_while_the_line_is_known() {
        let refused = |key: &str, payload: &str| {
            mapping(&["id"], None)
                .row(vec![key.to_owned()], payload.to_owned())
                .unwrap_err()
        };
        assert!(refused("", "{}").contains("the row key has 0 bytes"));
        assert!(refused(&"k".repeat(1025), "{}").contains("1025"));
        assert!(refused("1", "\"\\u0000\"").contains("NUL"));
        assert!(refused("1", "{").contains("not JSON"));
    }
}
