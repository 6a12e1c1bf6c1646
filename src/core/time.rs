//! Points in time as the database knows them: whole microseconds, in UTC.
//!
//! Only a type and its arithmetic; no clock is read here.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{KnownFormat, Object, Schema, SchemaFormat, Type};

/// Microseconds since 1970-01-01T00:00:00Z, by the database's clock unless said otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The time `micros` microseconds after 1970.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Microseconds since 1970.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// This much later; saturates at the end of time.
    #[must_use]
    pub fn plus(self, span: Duration) -> Self {
        Self(
            self.0
                .saturating_add(i64::try_from(span.as_micros()).unwrap_or(i64::MAX)),
        )
    }

    /// How long after `earlier` this is; zero if it is not after it.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// Whole seconds since 1970, as `webhook-timestamp` wants them.
    pub fn as_seconds(self) -> i64 {
        self.0.div_euclid(1_000_000)
    }
}

impl fmt::Display for Timestamp {
    /// RFC 3339 in UTC, for example `2026-11-29T18:05:37.123456Z`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_microsecond(self.0) {
            Ok(time) => write!(f, "{time}"),
            Err(_) => write!(f, "{}us", self.0),
        }
    }
}

impl serde::Serialize for Timestamp {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A text that names no point in time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no point in time; write it as RFC 3339 says, for example `2026-11-29T18:05:37Z`")]
pub struct NoTime(String);

impl utoipa::PartialSchema for Timestamp {
    fn schema() -> RefOr<Schema> {
        let format = SchemaFormat::KnownFormat(KnownFormat::DateTime);
        Object::builder()
            .schema_type(Type::String)
            .format(Some(format))
            .description(Some("A point in time as RFC 3339 writes it, in UTC."))
            .examples([serde_json::json!("2026-11-29T18:05:37.123456Z")])
            .into()
    }
}

impl utoipa::ToSchema for Timestamp {}

impl FromStr for Timestamp {
    type Err = NoTime;

    /// RFC 3339 with any offset; what is finer than a microsecond is cut off.
    fn from_str(text: &str) -> Result<Self, NoTime> {
        text.parse::<jiff::Timestamp>()
            .map(|time| Self(time.as_microsecond()))
            .map_err(|_| NoTime(text.to_owned()))
    }
}

impl<'de> serde::Deserialize<'de> for Timestamp {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_read_as_it_is_written() {
        let time = Timestamp::from_micros(1_796_000_000_123_456);
        assert_eq!(time.to_string().parse(), Ok(time));
        assert_eq!("1970-01-01T01:00:00+01:00".parse(), Ok(Timestamp::from_micros(0)));
        assert!("yesterday".parse::<Timestamp>().is_err());
    }
}
