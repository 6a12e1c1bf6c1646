//! How many calls a portal takes: per ten seconds, per second and per day, with the headers that say how many are
//! left.
//!
//! Calls are counted per token over sliding windows. Time is an argument.

use std::collections::VecDeque;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

const SECOND: SignedDuration = SignedDuration::from_secs(1);
const TEN_SECONDS: SignedDuration = SignedDuration::from_secs(10);
const SECONDS_PER_DAY: i64 = 86_400;

/// Which of the limits was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// The calls of any ten seconds.
    TenSecondlyRolling,
    /// The calls of any second.
    Secondly,
    /// The calls of a day, from midnight UTC.
    Daily,
}

impl Policy {
    /// As `policyName` has it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::TenSecondlyRolling => "TEN_SECONDLY_ROLLING",
            Self::Secondly => "SECONDLY",
            Self::Daily => "DAILY",
        }
    }
}

/// How many calls a token may make. The defaults never stand in the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallLimits {
    /// In any ten seconds.
    pub ten_secondly: u32,
    /// In any second.
    pub secondly: u32,
    /// In a day; counted for private apps only.
    pub daily: u32,
}

impl Default for CallLimits {
    fn default() -> Self {
        Self {
            ten_secondly: 1_000_000,
            secondly: 100_000,
            daily: 1_000_000_000,
        }
    }
}

/// Which kind of app calls: a daily limit is the private apps' alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum App {
    Private,
    OAuth,
}

/// The calls of one app.
#[derive(Debug)]
pub(super) struct CallCounts {
    app: App,
    limits: CallLimits,
    /// Within the last ten seconds, oldest first.
    recent: VecDeque<Timestamp>,
    day: i64,
    today: u32,
}

impl CallCounts {
    pub(super) fn new(app: App, limits: CallLimits) -> Self {
        Self {
            app,
            limits,
            recent: VecDeque::new(),
            day: 0,
            today: 0,
        }
    }

    /// Counts a call, unless a limit is reached. The widest limit speaks first.
    pub(super) fn count(&mut self, now: Timestamp) -> Result<(), Policy> {
        self.forget(now);
        if self.app == App::Private && self.today >= self.limits.daily {
            return Err(Policy::Daily);
        }
        if self.within(TEN_SECONDS, now) >= self.limits.ten_secondly {
            return Err(Policy::TenSecondlyRolling);
        }
        if self.within(SECOND, now) >= self.limits.secondly {
            return Err(Policy::Secondly);
        }
        self.recent.push_back(now);
        self.today += 1;
        Ok(())
    }

    /// Forgets all calls.
    pub(super) fn clear(&mut self) {
        self.recent.clear();
        self.today = 0;
    }

    /// Calls since midnight UTC.
    pub(super) fn today(&mut self, now: Timestamp) -> u32 {
        self.forget(now);
        self.today
    }

    /// The headers that every answer to this app carries.
    pub(super) fn headers(&mut self, now: Timestamp) -> Vec<(&'static str, String)> {
        self.forget(now);
        let left = |limit: u32, used: u32| limit.saturating_sub(used);
        let CallLimits {
            ten_secondly,
            secondly,
            daily,
        } = self.limits;
        let mut values = vec![
            ("x-hubspot-ratelimit-interval-milliseconds", 10_000),
            ("x-hubspot-ratelimit-max", ten_secondly),
            (
                "x-hubspot-ratelimit-remaining",
                left(ten_secondly, self.within(TEN_SECONDS, now)),
            ),
            ("x-hubspot-ratelimit-secondly", secondly),
            (
                "x-hubspot-ratelimit-secondly-remaining",
                left(secondly, self.within(SECOND, now)),
            ),
        ];
        if self.app == App::Private {
            values.push(("x-hubspot-ratelimit-daily", daily));
            values.push(("x-hubspot-ratelimit-daily-remaining", left(daily, self.today)));
        }
        let text = |(name, value): (&'static str, u32)| (name, value.to_string());
        values.into_iter().map(text).collect()
    }

    fn within(&self, window: SignedDuration, now: Timestamp) -> u32 {
        let older = self
            .recent
            .partition_point(|call| now.duration_since(*call) >= window);
        u32::try_from(self.recent.len() - older).unwrap_or(u32::MAX)
    }

    fn forget(&mut self, now: Timestamp) {
        while self
            .recent
            .front()
            .is_some_and(|call| now.duration_since(*call) >= TEN_SECONDS)
        {
            self.recent.pop_front();
        }
        let day = now.as_second().div_euclid(SECONDS_PER_DAY);
        if day != self.day {
            self.day = day;
            self.today = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: CallLimits = CallLimits {
        ten_secondly: 3,
        secondly: 2,
        daily: 5,
    };

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millisecond(millis).unwrap()
    }

    #[test]
    fn each_window_slides_and_what_is_refused_does_not_count() {
        let mut counts = CallCounts::new(App::OAuth, LIMITS);
        assert_eq!(counts.count(at(0)), Ok(()));
        assert_eq!(counts.count(at(500)), Ok(()));
        assert_eq!(counts.count(at(999)), Err(Policy::Secondly));
        assert_eq!(counts.count(at(1000)), Ok(()));
        assert_eq!(counts.count(at(9_999)), Err(Policy::TenSecondlyRolling));
        assert_eq!(counts.count(at(10_000)), Ok(()));
    }

    #[test]
    fn the_day_of_a_private_app_begins_at_midnight_and_an_oauth_app_has_none() {
        let calls = |app| {
            let mut counts = CallCounts::new(app, LIMITS);
            let results: Vec<_> = (0..6).map(|call| counts.count(at(call * 10_000))).collect();
            (results[5], counts.count(at(86_400_000)))
        };
        assert_eq!(calls(App::Private), (Err(Policy::Daily), Ok(())));
        assert_eq!(calls(App::OAuth), (Ok(()), Ok(())));
    }

    #[test]
    fn the_headers_say_what_is_left() {
        let mut counts = CallCounts::new(App::Private, LIMITS);
        counts.count(at(0)).unwrap();
        let headers = counts.headers(at(0));
        let value = |name: &str| {
            let header = headers.iter().find(|(known, _)| *known == name);
            header.map(|(_, value)| value.as_str())
        };
        assert_eq!(value("x-hubspot-ratelimit-interval-milliseconds"), Some("10000"));
        assert_eq!(value("x-hubspot-ratelimit-remaining"), Some("2"));
        assert_eq!(value("x-hubspot-ratelimit-secondly-remaining"), Some("1"));
        assert_eq!(value("x-hubspot-ratelimit-daily-remaining"), Some("4"));
    }
}
