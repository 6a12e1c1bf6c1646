//! Dates and times as pipelines write them, in the two forms that both CRMs read.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::Offset;

/// A point in time, and the day that whoever wrote it meant.
pub(super) struct Moment {
    day: Date,
    at: Timestamp,
}

impl Moment {
    /// Reads `2026-05-01`, `2026-05-01T12:00:00.5+02:00`, or the same with a blank and without a zone.
    pub(super) fn of_text(text: &str) -> Option<Self> {
        if let Ok(at) = text.parse::<Timestamp>() {
            let written = text.get(..10).and_then(|day| day.parse().ok());
            return Some(Self {
                day: written.unwrap_or_else(|| utc_day(at)),
                at,
            });
        }
        let written: DateTime = text.parse().ok()?;
        Some(Self {
            day: written.date(),
            at: Offset::UTC.to_timestamp(written).ok()?,
        })
    }

    /// Reads milliseconds since 1970.
    pub(super) fn of_milliseconds(digits: &str) -> Option<Self> {
        let at = Timestamp::from_millisecond(digits.parse().ok()?).ok()?;
        Some(Self { day: utc_day(at), at })
    }

    /// `YYYY-MM-DD`
    pub(super) fn date(&self) -> String {
        self.day.to_string()
    }

    /// `YYYY-MM-DDTHH:MM:SS.mmmZ`
    pub(super) fn datetime(&self) -> String {
        format!("{:.3}", self.at)
    }
}

fn utc_day(at: Timestamp) -> Date {
    Offset::UTC.to_datetime(at).date()
}
