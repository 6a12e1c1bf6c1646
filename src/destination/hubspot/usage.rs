//! How many calls the private app has made today, as HubSpot says in the headers of its answers. An OAuth app has no daily
//! limit, and no such headers.

use reqwest::header::HeaderMap;

use crate::core::limit::usage::Usage;

/// `X-HubSpot-RateLimit-Daily` and `X-HubSpot-RateLimit-Daily-Remaining`.
pub(super) fn usage(headers: &HeaderMap) -> Option<Usage> {
    let number = |name| headers.get(name)?.to_str().ok()?.parse::<u32>().ok();
    let allowed = number("x-hubspot-ratelimit-daily")?;
    let left = number("x-hubspot-ratelimit-daily-remaining")?;
    Some(Usage {
        used: allowed.saturating_sub(left),
        allowed,
        reserve: 0,
    })
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;

    fn said(headers: &[(&'static str, &'static str)]) -> Option<Usage> {
        let header = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        usage(&headers.iter().map(header).collect())
    }

    #[test]
    fn what_is_left_of_the_day_is_read_and_garbage_is_not() {
        let daily = ("x-hubspot-ratelimit-daily", "250000");
        let left = |value| ("x-hubspot-ratelimit-daily-remaining", value);
        let wanted = Usage {
            used: 1_000,
            allowed: 250_000,
            reserve: 0,
        };
        assert_eq!(said(&[daily, left("249000")]), Some(wanted));
        assert_eq!(said(&[daily]), None, "an OAuth app");
        assert_eq!(said(&[daily, left("many")]), None);
    }
}
