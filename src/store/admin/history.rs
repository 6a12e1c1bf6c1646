//! What was delivered, and what failed, over the last hour or day: the points of a chart.

use std::collections::BTreeMap;
use std::str::FromStr;

use super::AdminStore;
use crate::core::row::UnknownWord;
use crate::core::time::Timestamp;
use crate::store::StoreError;
use crate::store::database::{Args, sql};

/// Microseconds of a minute.
const MINUTE: i64 = 60_000_000;

/// How far a chart looks back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Span {
    /// An hour, in 60 points.
    Hour,
    /// A day, in 96 points.
    Day,
}

/// The points of a chart.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
pub struct History {
    /// How far it looks back.
    pub span: Span,
    /// Seconds from one point to the next.
    pub step_seconds: u32,
    /// Every destination that is configured or did anything within the span, by name.
    pub destinations: Vec<DestinationHistory>,
}

/// The points of one destination.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
pub struct DestinationHistory {
    /// Its name.
    pub destination: String,
    /// Oldest first, without a gap; the last one is not over yet.
    pub points: Vec<Point>,
}

/// What happened from one moment to that of the next point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
pub struct Point {
    /// The moment, by the database's clock.
    pub at: Timestamp,
    /// Deliveries that were delivered.
    pub delivered: u64,
    /// Attempts that were not accepted.
    pub failed: u64,
}

impl Span {
    /// Minutes that one point stands for.
    fn step_minutes(self) -> u32 {
        match self {
            Self::Hour => 1,
            Self::Day => 15,
        }
    }

    fn points(self) -> i64 {
        match self {
            Self::Hour => 60,
            Self::Day => 96,
        }
    }

    /// Points without anything, as they stand at `now`.
    fn empty(self, now: Timestamp) -> Vec<Point> {
        let step = i64::from(self.step_minutes()) * MINUTE;
        let last = now.as_micros().div_euclid(step);
        let point = |number: i64| Point {
            at: Timestamp::from_micros(number * step),
            delivered: 0,
            failed: 0,
        };
        (last - self.points() + 1..=last).map(point).collect()
    }
}

impl FromStr for Span {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        match word {
            "hour" => Ok(Self::Hour),
            "day" => Ok(Self::Day),
            _ => Err(UnknownWord {
                what: "span",
                word: word.to_owned(),
                known: "hour, day",
            }),
        }
    }
}

impl AdminStore {
    /// What was delivered and what failed, up to now. `configured` names the destinations of the configuration.
    pub async fn history(&self, span: Span, configured: &[String]) -> Result<History, StoreError> {
        let empty = span.empty(self.now().await?);
        let first = empty.first().map_or(0, |point| point.at.as_micros() / MINUTE);
        let step = i64::from(span.step_minutes());
        let args = Args::new().int(step).int(first);
        let mut histories: BTreeMap<String, Vec<Point>> = BTreeMap::new();
        for name in configured {
            histories.insert(name.clone(), empty.clone());
        }
        for row in self.database.read(sql!(shared "history"), args).await? {
            let name: &str = row.text("destination")?;
            let points = histories.entry(name.to_owned()).or_insert_with(|| empty.clone());
            let number: i64 = row.int("step")?;
            let at = Timestamp::from_micros(number * step * MINUTE);
            // What was written since the clock was read belongs to no point yet.
            if let Some(point) = points.iter_mut().find(|point| point.at == at) {
                (point.delivered, point.failed) = (row.int("delivered")?, row.int("failed")?);
            }
        }
        let of = |(destination, points)| DestinationHistory { destination, points };
        Ok(History {
            span,
            step_seconds: span.step_minutes() * 60,
            destinations: histories.into_iter().map(of).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_points_of_a_span_stand_on_whole_steps_and_the_last_one_holds_now() {
        let now: Timestamp = "2026-11-30T08:37:41.5Z".parse().unwrap();
        for (span, first, last) in [
            (Span::Hour, "2026-11-30T07:38:00Z", "2026-11-30T08:37:00Z"),
            (Span::Day, "2026-11-29T08:45:00Z", "2026-11-30T08:30:00Z"),
        ] {
            let points = span.empty(now);
            let at = |text: &str| text.parse::<Timestamp>().unwrap();
            assert_eq!((points[0].at, points[points.len() - 1].at), (at(first), at(last)));
            let steps = points.windows(2).map(|pair| pair[1].at.since(pair[0].at));
            let step = std::time::Duration::from_secs(u64::from(span.step_minutes()) * 60);
            assert!(steps.into_iter().all(|found| found == step));
        }
    }
}
