//! How many calls the org has left today, as it says itself in `Sforce-Limit-Info`.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use reqwest::header::HeaderMap;

/// How long nothing is sent once the reserve is reached: the window slides, so some calls come back all the time.
const REST: Duration = Duration::from_mins(15);

/// Keeps a part of the org's daily calls for others.
pub(super) struct Reserve {
    /// The part, 0 to 1.
    share: f64,
    /// Nothing is sent before this (monotonic).
    resting_until: Mutex<Duration>,
}

/// Calls of the last 24 hours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Usage {
    pub(super) used: u32,
    pub(super) most: u32,
}

impl Reserve {
    pub(super) fn new(share: f64) -> Self {
        Self {
            share,
            resting_until: Mutex::default(),
        }
    }

    /// How long nothing may be sent yet, if so.
    pub(super) fn rest(&self, monotonic: Duration) -> Option<Duration> {
        let until = *self.resting_until.lock().unwrap_or_else(PoisonError::into_inner);
        until.checked_sub(monotonic).filter(|left| !left.is_zero())
    }

    /// Takes note of what an answer says.
    pub(super) fn note(&self, headers: &HeaderMap, monotonic: Duration) {
        if usage(headers).is_some_and(|usage| self.is_reached(usage)) {
            let mut until = self.resting_until.lock().unwrap_or_else(PoisonError::into_inner);
            *until = monotonic.saturating_add(REST);
        }
    }

    fn is_reached(&self, usage: Usage) -> bool {
        let left = f64::from(usage.most.saturating_sub(usage.used));
        left < f64::from(usage.most) * self.share
    }
}

/// `api-usage=18/5000`, perhaps with more behind a semicolon.
fn usage(headers: &HeaderMap) -> Option<Usage> {
    let text = headers.get("sforce-limit-info")?.to_str().ok()?;
    let mut parts = text.split([';', ',']).map(str::trim);
    let (used, most) = parts
        .find_map(|part| part.strip_prefix("api-usage="))?
        .split_once('/')?;
    Some(Usage {
        used: used.parse().ok()?,
        most: most.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    fn said(text: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(
            reqwest::header::HeaderName::from_static("sforce-limit-info"),
            HeaderValue::from_static(text),
        )])
    }

    #[test]
    fn what_the_org_says_is_read_and_garbage_is_not() {
        let both = said("api-usage=18/5000; per-app-api-usage=17/250(appName=x)");
        assert_eq!(usage(&both), Some(Usage { used: 18, most: 5000 }));
        for garbage in [
            "per-app-api-usage=17/250",
            "api-usage=many/5000",
            "api-usage=18",
            "",
        ] {
            assert_eq!(usage(&said(garbage)), None, "{garbage}");
        }
    }

    #[test]
    fn nothing_is_sent_for_a_while_once_the_reserve_is_reached() {
        let reserve = Reserve::new(0.05);
        reserve.note(&said("api-usage=4750/5000"), Duration::ZERO);
        assert_eq!(reserve.rest(Duration::ZERO), None, "the reserve is whole");
        reserve.note(&said("api-usage=4751/5000"), Duration::from_secs(10));
        assert_eq!(
            reserve.rest(Duration::from_secs(70)),
            Some(Duration::from_mins(14))
        );
        assert_eq!(reserve.rest(Duration::from_secs(910)), None, "one call may look");
        Reserve::new(0.0).note(&said("api-usage=5000/5000"), Duration::ZERO);
    }
}
