//! How often a fault strikes, for every mock: as a value, as text, and counted.
//!
//! Pure: chance comes from the caller's seeded generator.

use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How often a rule fires. It counts the requests that reach it: those that match it and that no earlier rule took.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Times {
    /// At each request.
    #[default]
    Always,
    /// At the next so many requests; then the rule is gone.
    Next(u64),
    /// At every so-manieth request.
    Every(u64),
    /// At the first request with each key; never at one without a key.
    OncePerKey,
    /// With this probability, 0 to 1.
    Chance(f64),
}

/// Why a rule would never fire, or not as it says.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum TimesError {
    /// A probability that is none.
    #[error("{chance} is not a probability; give one from 0 to 1")]
    Chance {
        /// What was given.
        chance: f64,
    },
    /// A count of zero.
    #[error("a rule for zero requests would never fire; give a count from 1")]
    Zero,
}

/// A word that says not how often.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{times}` says not how often; write always, once, once-per-key, a count, every-COUNT or a probability such as \
     0.05"
)]
pub struct NoTimes {
    /// What was written.
    pub times: String,
}

impl Times {
    /// Says whether it can ever fire, and is a probability where it should be one.
    pub fn check(self) -> Result<(), TimesError> {
        match self {
            Self::Chance(chance) if !(0.0..=1.0).contains(&chance) => Err(TimesError::Chance { chance }),
            Self::Every(0) | Self::Next(0) => Err(TimesError::Zero),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Times {
    /// As rules have it; it reads back as the same.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Always => f.write_str("always"),
            Self::Next(1) => f.write_str("once"),
            Self::Next(count) => write!(f, "{count}"),
            Self::Every(count) => write!(f, "every-{count}"),
            Self::OncePerKey => f.write_str("once-per-key"),
            // With its decimal point, by which it is told from a count.
            Self::Chance(chance) => write!(f, "{chance:?}"),
        }
    }
}

impl FromStr for Times {
    type Err = NoTimes;

    fn from_str(text: &str) -> Result<Self, NoTimes> {
        let read = match text {
            "always" => Some(Self::Always),
            "once" => Some(Self::Next(1)),
            "once-per-key" => Some(Self::OncePerKey),
            _ => match text.strip_prefix("every-") {
                Some(count) => count.parse().ok().map(Self::Every),
                None if text.contains('.') => text.parse().ok().map(Self::Chance),
                None => text.parse().ok().map(Self::Next),
            },
        };
        read.ok_or_else(|| NoTimes {
            times: text.to_owned(),
        })
    }
}

/// A duration written `250ms`, `2s` or `1m`.
pub(super) fn read_duration(text: &str) -> Option<Duration> {
    let unit = text.find(|letter: char| !letter.is_ascii_digit())?;
    let (number, unit) = text.split_at(unit);
    let number: u64 = number.parse().ok()?;
    match unit {
        "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        "m" => Some(Duration::from_secs(number.checked_mul(60)?)),
        _ => None,
    }
}

/// Counts what a rule has seen.
#[derive(Debug)]
pub(super) struct Firing {
    times: Times,
    seen: u64,
    keys: HashSet<String>,
}

impl Firing {
    pub(super) fn new(times: Times) -> Self {
        Self {
            times,
            seen: 0,
            keys: HashSet::new(),
        }
    }

    /// Whether the rule fires at the next thing that it sees. Asking counts.
    pub(super) fn fires(&mut self, key: Option<&str>, chance: &mut fastrand::Rng) -> bool {
        self.seen += 1;
        match self.times {
            Times::Always => true,
            Times::Next(count) => self.seen <= count,
            Times::Every(count) => self.seen.is_multiple_of(count),
            Times::OncePerKey => key.is_some_and(|key| self.keys.insert(key.to_owned())),
            Times::Chance(probability) => chance.f64() < probability,
        }
    }

    /// Whether it can never fire again.
    pub(super) fn is_used_up(&self) -> bool {
        matches!(self.times, Times::Next(count) if self.seen >= count)
    }
}
