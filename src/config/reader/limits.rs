//! What `[destinations.NAME]` and `[hosts.NAME]` may say about how much is sent.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::core::limit::breaker::BreakerPolicy;

use super::super::node::Read;
use super::super::section::Section;
use super::super::value::{MOMENT, duration, flag, number, rate, share, size};
use super::super::{DestinationConfig, HostConfig, LimitsConfig};

/// The longest that an open breaker may leave a receiver alone that is back already.
const LONGEST_OPEN: Duration = Duration::from_hours(1);

/// Reads the limits of a destination.
pub(super) fn limits(section: &mut Section<'_>) -> Read<LimitsConfig> {
    let rate = section.optional("rate", rate);
    let max_in_flight_bytes = section.setting("max_in_flight_bytes", size(1..=1 << 30));
    let adaptive_concurrency = section.setting("adaptive_concurrency", flag);
    let breaker = section.section("breaker", breaker);
    Ok(LimitsConfig {
        rate: rate?,
        max_in_flight_bytes: max_in_flight_bytes?,
        adaptive_concurrency: adaptive_concurrency?,
        breaker: breaker?,
    })
}

fn breaker(section: &mut Section<'_>) -> Read<Option<BreakerPolicy>> {
    let enabled = section.setting("enabled", flag);
    let failing_share = section.setting("failing_share", share);
    let window = section.setting("window", duration(MOMENT..=Duration::from_hours(24)));
    let min_requests = section.setting("min_requests", number(1..=1_000_000));
    let open_for = section.setting("open_for", duration(MOMENT..=LONGEST_OPEN));
    let policy = BreakerPolicy {
        failing_share: failing_share?,
        window: window?,
        min_requests: min_requests?,
        open_for: open_for?,
    };
    Ok(enabled?.then_some(policy))
}

/// Reads the limits of the host `name`; `destinations` are those that could be read.
pub(super) fn host(
    name: &str,
    section: &mut Section<'_>,
    destinations: Option<&BTreeMap<String, DestinationConfig>>,
) -> Read<HostConfig> {
    let rate = section.optional("rate", rate);
    let concurrency = section.optional("concurrency", number(1..=4096));
    let max_in_flight_bytes = section.optional("max_in_flight_bytes", size(1..=1 << 30));
    let config = HostConfig {
        rate: rate?,
        concurrency: concurrency?,
        max_in_flight_bytes: max_in_flight_bytes?,
    };
    if let Some(destinations) = destinations
        && !destinations.values().any(|one| one.receiver.host() == name)
    {
        section.fault_here(
            "limits nothing, since no destination's url has this host; write it as it stands there, in lower case and \
             without a port, or remove the table",
        );
    }
    if let (None, None, None) = (config.rate, config.concurrency, config.max_in_flight_bytes) {
        section.fault_here("limits nothing; set rate, concurrency or max_in_flight_bytes");
    }
    Ok(config)
}
