//! How many calls the org has left today, as it says itself in `Sforce-Limit-Info`.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use reqwest::header::HeaderMap;

use crate::core::limit::usage::Usage;
use crate::destination::usage::{Heard, LastHeard};

/// How long nothing is sent once the reserve is reached: the window slides, so some calls come back all the time.
const REST: Duration = Duration::from_mins(15);

/// Keeps a part of the org's daily calls for others.
pub(super) struct Reserve {
    /// The part, 0 to 1.
    share: f64,
    heard: LastHeard,
    /// Nothing is sent before this (monotonic).
    resting_until: Mutex<Duration>,
}

impl Reserve {
    pub(super) fn new(share: f64) -> Self {
        Self {
            share,
            heard: LastHeard::default(),
            resting_until: Mutex::default(),
        }
    }

    /// What the org said last.
    pub(super) fn heard(&self) -> Option<Heard> {
        self.heard.get()
    }

    /// How long nothing may be sent yet, if so.
    pub(super) fn rest(&self, monotonic: Duration) -> Option<Duration> {
        let until = *self.resting_until.lock().unwrap_or_else(PoisonError::into_inner);
        until.checked_sub(monotonic).filter(|left| !left.is_zero())
    }

    /// Takes note of what an answer says.
    pub(super) fn note(&self, headers: &HeaderMap, monotonic: Duration) {
        let Some((used, allowed)) = said(headers) else {
            return;
        };
        let usage = Usage::reserving(used, allowed, self.share);
        self.heard.set(Heard { usage, at: monotonic });
        // A look at the org, after a pause for one, can say that there are calls again.
        let rest = if usage.reserve_is_reached() {
            REST
        } else {
            Duration::ZERO
        };
        *self.resting_until.lock().unwrap_or_else(PoisonError::into_inner) = monotonic.saturating_add(rest);
    }
}

/// Used and allowed, of `api-usage=18/5000`, perhaps with more behind a semicolon.
fn said(headers: &HeaderMap) -> Option<(u32, u32)> {
    let text = headers.get("sforce-limit-info")?.to_str().ok()?;
    let mut parts = text.split([';', ',']).map(str::trim);
    let (used, allowed) = parts
        .find_map(|part| part.strip_prefix("api-usage="))?
        .split_once('/')?;
    Some((used.parse().ok()?, allowed.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    fn header(text: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(
            reqwest::header::HeaderName::from_static("sforce-limit-info"),
            HeaderValue::from_static(text),
        )])
    }

    #[test]
    fn what_the_org_says_is_read_and_garbage_is_not() {
        let both = header("api-usage=18/5000; per-app-api-usage=17/250(appName=x)");
        assert_eq!(said(&both), Some((18, 5_000)));
        for garbage in [
            "per-app-api-usage=17/250",
            "api-usage=many/5000",
            "api-usage=18",
            "",
        ] {
            assert_eq!(said(&header(garbage)), None, "{garbage}");
        }
    }

    #[test]
    fn nothing_is_sent_for_a_while_once_the_reserve_is_reached() {
        let reserve = Reserve::new(0.05);
        reserve.note(&header("api-usage=4750/5000"), Duration::ZERO);
        assert_eq!(reserve.rest(Duration::ZERO), None, "the reserve is whole");
        reserve.note(&header("api-usage=4751/5000"), Duration::from_secs(10));
        assert_eq!(
            reserve.rest(Duration::from_secs(70)),
            Some(Duration::from_mins(14))
        );
        assert_eq!(reserve.rest(Duration::from_secs(910)), None, "one call may look");
        reserve.note(&header("api-usage=1/5000"), Duration::from_secs(80));
        assert_eq!(
            reserve.rest(Duration::from_secs(80)),
            None,
            "there are calls again"
        );
        reserve.note(&header("api-usage=4751/5000"), Duration::from_secs(90));
        let heard = reserve.heard().unwrap();
        assert_eq!((heard.usage.left(), heard.usage.reserve), (249, 250));
        let nothing_kept = Reserve::new(0.0);
        nothing_kept.note(&header("api-usage=5000/5000"), Duration::ZERO);
        assert_eq!(nothing_kept.rest(Duration::ZERO), None);
    }
}
