//! Limits of destinations and hosts, as they are written, shown and refused.

use std::time::Duration;

use super::faults::refused;
use super::{World, destination};
use crate::core::limit::breaker::BreakerPolicy;
use crate::core::limit::bucket::Rate;

#[test]
fn the_breaker_is_on_unless_it_is_switched_off() {
    let on = World::default().read(&destination(""));
    let policy = BreakerPolicy {
        failing_share: 0.8,
        window: Duration::from_secs(30),
        min_requests: 20,
        open_for: Duration::from_secs(15),
    };
    assert_eq!(on.destinations["crm"].limits.breaker, Some(policy));
    let off = World::default().read(&destination("breaker = { enabled = false, window = \"1m\" }"));
    assert_eq!(off.destinations["crm"].limits.breaker, None);
}

#[test]
fn a_host_that_destinations_share_has_limits_of_its_own() {
    let text = destination("[hosts.\"crm.example.com\"]\nrate = \"100/10s\"\nconcurrency = 3");
    let config = World::default().read(&text);
    let host = &config.hosts["crm.example.com"];
    let rate = Rate {
        requests: 100,
        per: Duration::from_secs(10),
    };
    assert_eq!(
        (host.rate, host.concurrency, host.max_in_flight_bytes),
        (Some(rate), Some(3), None)
    );
    assert!(
        config
            .to_string()
            .contains("[hosts.\"crm.example.com\"]\nrate = \"100/10s\"\nconcurrency = 3\n")
    );
}

#[test]
fn a_limit_that_would_do_nothing_is_refused() {
    refused(
        &destination("[hosts.\"api.example.com\"]\nconcurrency = 3"),
        &[
            "aftercommit.toml:5: hosts.\"api.example.com\": limits nothing, since no destination's url has this host; \
             write it as it stands there, in lower case and without a port, or remove the table",
        ],
    );
    refused(
        &destination("[hosts.\"crm.example.com\"]"),
        &[
            "aftercommit.toml:5: hosts.\"crm.example.com\": limits nothing; set rate, concurrency or max_in_flight_bytes",
        ],
    );
}

#[test]
fn a_limit_that_cannot_be_is_refused() {
    refused(
        &destination(
            "rate = \"5\"\nmax_in_flight_bytes = 0\n[destinations.crm.breaker]\nfailing_share = 0\nopen_for = \"2h\"",
        ),
        &[
            "aftercommit.toml:5: destinations.crm.rate: `5` is not a rate; write a number of requests and a duration, such as \"100/10s\" or \"5/s\"",
            "aftercommit.toml:6: destinations.crm.max_in_flight_bytes: must be between 1B and 1GiB",
            "aftercommit.toml:8: destinations.crm.breaker.failing_share: must be a number from 0.01 to 1",
            "aftercommit.toml:9: destinations.crm.breaker.open_for: must be between 1ms and 1h",
        ],
    );
    refused(
        &destination("rate = 5"),
        &["aftercommit.toml:5: destinations.crm.rate: must be a rate such as \"100/10s\", not an integer"],
    );
}
