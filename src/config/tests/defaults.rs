//! That the commented text is the whole truth about the options.

use std::collections::BTreeSet;
use std::time::Duration;

use secrecy::ExposeSecret;
use toml::de::{DeTable, DeValue};

use super::super::defaults::{TEXT, every_option};
use super::super::{Config, INIT_TOKEN_FILE, LogFormat, OrderMode, ReceiverConfig};
use super::{World, destination};
use crate::core::policy::Policy;

fn world() -> World {
    World::default()
        .with_variable("EXAMPLE_SIGNING_SECRET", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
        .with_variable("EXAMPLE_AUTHORIZATION", "Bearer example")
        .with_variable("DATABASE_URL", "postgres://localhost/pipeline")
        .with_variable("WAREHOUSE_SECRET", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
        .with_variable("WAREHOUSE_SECRET_OLD", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
        .with_variable("PAYMENTS_AUTHORIZATION", "Bearer example")
        .with_variable("SALESFORCE_CLIENT_ID", "example")
        .with_variable("SALESFORCE_CLIENT_SECRET", "example")
        .with_variable("HUBSPOT_ACCESS_TOKEN", "example")
        .with_variable("HUBSPOT_CLIENT_ID", "example")
        .with_variable("HUBSPOT_CLIENT_SECRET", "example")
        .with_file("hubspot.refresh-token", "example\n")
        .with_file("salesforce.pem", "example\n")
        .with_file("aftercommit.token", "example\n")
        .with_file("/run/secrets/aftercommit-token", "example\n")
}

/// The path of each value in a TOML text.
fn keys(text: &str) -> BTreeSet<String> {
    fn walk(prefix: &str, table: &DeTable<'_>, keys: &mut BTreeSet<String>) {
        for (key, value) in table {
            let path = format!("{prefix}{key}");
            match value.get_ref() {
                DeValue::Table(table) if !table.contains_key("env") && !table.contains_key("file") => {
                    walk(&format!("{path}."), table, keys);
                }
                _ => drop(keys.insert(path)),
            }
        }
    }
    let mut keys = BTreeSet::new();
    walk("", DeTable::parse(text).unwrap().get_ref(), &mut keys);
    keys
}

#[test]
fn an_empty_configuration_is_the_default_text() {
    let empty = World::default().read("");
    assert_eq!(empty.to_string(), World::default().read(TEXT).to_string());
    assert_eq!(empty.database.url.expose_secret(), "sqlite:aftercommit.db");
    assert_eq!(empty.relay.lease_ttl, Duration::from_secs(30));
    assert_eq!(empty.relay.fetch_bytes, 4 << 20);
    assert_eq!(empty.log.format, LogFormat::Text);
    assert!(empty.destinations.is_empty() && empty.topics.is_empty());
}

#[test]
fn the_defaults_of_a_destination_are_what_its_example_shows() {
    let minimal = World::default().read(&destination(""));
    let destination = &minimal.destinations["crm"];
    assert_eq!(
        (destination.concurrency, destination.shards, destination.order),
        (32, 1, None)
    );
    assert_eq!(
        destination.policy,
        Policy::default(),
        "the core's own default is another one"
    );
    let ReceiverConfig::Webhook(webhook) = &destination.receiver else {
        panic!("no webhook")
    };
    assert_eq!(webhook.timeout, Duration::from_secs(15));
    assert_eq!(webhook.key_header, "idempotency-key");
    assert!(webhook.secrets.is_empty() && webhook.headers.is_empty() && webhook.proxy.is_none());
}

#[test]
fn every_documented_key_is_known() {
    let config = world().read(&every_option());
    assert_eq!(config.destinations["example"].order, Some(OrderMode::Latest));
}

#[test]
fn every_known_key_is_documented() {
    // Of a key that the reader knows, `Display` writes the value: all of them are there, and none beside them.
    let shown = keys(&world().read(&every_option()).to_string());
    let documented = keys(&every_option());
    let missing: Vec<_> = documented.difference(&shown).collect();
    assert!(missing.is_empty(), "{missing:?} are not shown");
    // What the types of destinations share is documented at the first example that has it.
    let elsewhere = |key: &str| {
        let example = |name: &str| {
            let option = key.splitn(3, '.').nth(2).unwrap_or_default();
            documented.contains(&format!("destinations.{name}.{option}"))
        };
        let has_own_example = |name: &str| key.starts_with(&format!("destinations.{name}")) && example(name);
        key.starts_with("destinations.")
            && (example("example") || ["salesforce", "hubspot"].iter().any(|name| has_own_example(name)))
    };
    let unknown: Vec<_> = shown
        .difference(&documented)
        .filter(|key| !elsewhere(key))
        .collect();
    assert!(unknown.is_empty(), "{unknown:?} are not documented");
}

#[test]
fn every_option_says_its_default_or_that_it_has_none() {
    let mut comment = String::new();
    for line in TEXT
        .lines()
        .filter(|line| !line.starts_with('[') && !line.starts_with("#["))
    {
        match line.strip_prefix("# ") {
            Some(prose) => comment.push_str(prose),
            None if line.is_empty() => comment.clear(),
            None if line == "#" => {}
            None => {
                let explained = ["Default:", "No default", "Required."]
                    .iter()
                    .any(|word| comment.contains(word));
                assert!(
                    explained || line.starts_with("#authorization"),
                    "{line} is not explained"
                );
            }
        }
    }
}

#[test]
fn the_first_configuration_has_no_fault_and_reaches_the_mock_receiver() {
    let config = world().read(Config::init_text());
    assert!(config.admin.token.is_some());
    assert!(Config::init_text().contains(INIT_TOKEN_FILE));
    assert_eq!(config.topics.len(), 1);
    let ReceiverConfig::Webhook(webhook) = &config.destinations["crm"].receiver else {
        panic!("no webhook")
    };
    assert_eq!(webhook.url.as_str(), "http://127.0.0.1:9400/");
    assert!(Config::init_text().lines().count() < 30, "short");
}

#[test]
fn the_example_for_production_has_no_fault() {
    let config = world().read(include_str!("../../../examples/production.toml"));
    assert_eq!(config.destinations.len(), 2);
}

#[test]
fn the_example_for_compose_has_no_fault_and_every_receiver_is_a_service() {
    let text = include_str!("../../../examples/compose/aftercommit.toml");
    let config = World::default()
        .with_variable("AFTERCOMMIT_ADMIN_TOKEN", "try-me")
        .read(text);
    let services = include_str!("../../../docker-compose.yml");
    let hosts: Vec<_> = config
        .destinations
        .values()
        .map(|destination| destination.receiver.host())
        .collect();
    assert_eq!(hosts, ["salesforce", "hubspot", "receiver"]);
    for host in hosts {
        assert!(services.contains(&format!("\n  {host}:\n")), "{host}");
    }
}

#[test]
fn the_admin_server_can_be_switched_off() {
    assert_eq!(
        World::default().read("[admin]\nlisten = \"off\"\n").admin.listen,
        None
    );
}

#[test]
fn what_is_shown_reads_back_as_the_same_settings() {
    let text = "[relay]\nlease_ttl = \"90s\"\nfetch_bytes = 65537\nmax_held = 0x10\n[topics.\"a b\"]\nkind = \"event\"\n";
    let once = World::default().read(text).to_string();
    assert!(
        once.contains("fetch_bytes = \"65537B\"") && once.contains("max_held = 16"),
        "{once}"
    );
    assert_eq!(World::default().read(&once).to_string(), once);
}
