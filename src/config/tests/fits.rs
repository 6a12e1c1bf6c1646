//! Values that are right each for itself and do not fit together.

use super::super::DATABASE_URL;
use super::faults::refused;
use super::{World, destination};

#[test]
fn a_lease_outlives_three_heartbeats_and_two_requests() {
    refused(
        "[relay]\nheartbeat = \"11s\"\n",
        &["aftercommit.toml:1: relay.lease_ttl: must be at least three heartbeats, 33s"],
    );
    refused(
        &format!(
            "{}\n[relay]\nheartbeat = \"1s\"\nlease_ttl = \"20s\"\n",
            destination("")
        ),
        &[
            "aftercommit.toml:1: destinations.crm.timeout: 15s is more than half of relay.lease_ttl, 20s; shorten it or lengthen that",
        ],
    );
    World::default().read(&destination(
        "timeout = \"15s\"\n[relay]\nheartbeat = \"10s\"\nlease_ttl = \"30s\"",
    ));
}

#[test]
fn values_that_do_not_fit_together_are_named() {
    for (settings, complaint) in [
        (
            "keep_response_bytes = \"65KiB\"",
            "aftercommit.toml:5: destinations.crm.keep_response_bytes: 65KiB is more than max_response_bytes, 64KiB",
        ),
        (
            "[destinations.crm.retry]\nmax_delay = \"4s\"",
            "aftercommit.toml:6: destinations.crm.retry.max_delay: must not be below first, 5s",
        ),
        (
            "[relay]\npoll_busy = \"1s\"",
            "aftercommit.toml:5: relay.poll_idle: must not be below poll_busy, 1s",
        ),
    ] {
        refused(&destination(settings), &[complaint]);
    }
}

#[test]
fn shards_are_for_postgres() {
    refused(
        &destination("shards = 2"),
        &[
            "aftercommit.toml:5: destinations.crm.shards: must be 1 on SQLite, which one relay serves; set database.url to PostgreSQL for more",
        ],
    );
    let postgres = World::default().with_variable(DATABASE_URL, "postgres://localhost/pipeline");
    postgres.read(&destination("shards = 2"));
}

#[test]
fn a_fault_elsewhere_in_a_section_hides_no_check_across_sections() {
    refused(
        &format!(
            "{}[relay]\nheartbeat = \"1s\"\nlease_ttl = \"20s\"\nmax_held = 0\n[database]\nmax_connections = 1\n",
            destination("shards = 2")
        ),
        &[
            "aftercommit.toml:1: destinations.crm.timeout: 15s is more than half of relay.lease_ttl, 20s; shorten it or lengthen that",
            "aftercommit.toml:5: destinations.crm.shards: must be 1 on SQLite, which one relay serves; set database.url to PostgreSQL for more",
            "aftercommit.toml:9: relay.max_held: must be a whole number from 1 to 10000000",
            "aftercommit.toml:11: database.max_connections: must be a whole number from 2 to 1000",
        ],
    );
}
