//! A relay between a database and a mock of HubSpot, and the words to speak of them.

use std::collections::BTreeMap;
use std::time::Duration;

use aftercommit::mock::crm::{Entry, MockServer, Schema, ServerOptions, parse_rules};
use aftercommit::mock::hubspot::{self, DEFAULT_SCHEMA, HubSpot, HubSpotFault, HubSpotOptions};
use serde_json::Value;

use super::super::world::{Backend, Running, World};

/// The destination `crm` takes contacts. `{url}` and `{access}` are the story's.
const CONFIG: &str = r#"
[topics.contacts]
kind = "state"
[destinations.crm]
type = "hubspot"
url = "{url}"
topics = ["contacts"]
object = "contacts"
id_property = "email"
batch_wait = "20ms"
allow_http = true
allow_networks = ["127.0.0.0/8"]
timeout = "2s"
connect_timeout = "1s"
{access}
[destinations.crm.fields]
firstname = "name"
signed_up_on = { from = "since", type = "date" }
lifetime_value = "value"
[destinations.crm.retry]
first = "1ms"
max_delay = "5ms"
"#;

/// A private app's token.
pub(super) const PRIVATE_APP: &str = "access_token = \"pat-na1-mock\"";

/// OAuth.
pub(super) const OAUTH: &str = "client_id = \"mock-client-id\"\nclient_secret = \"mock-client-secret\"\n\
                                refresh_token = \"mock-refresh-token\"";

/// What one story plays with.
pub(super) struct Story {
    pub(super) world: World,
    pub(super) portal: MockServer<HubSpot>,
    config: String,
}

impl Story {
    /// A portal in which nothing goes wrong, until the story says so.
    pub(super) async fn with(backend: Backend, access: &str) -> Self {
        let options = HubSpotOptions::new(Schema::parse(DEFAULT_SCHEMA).unwrap());
        let portal = hubspot::start(options, ServerOptions::default()).await.unwrap();
        let config = CONFIG.replace("{url}", &portal.url()).replace("{access}", access);
        Self {
            world: World::with(backend, &config).await,
            portal,
            config,
        }
    }

    /// The configuration of the destination, with one thing changed.
    pub(super) fn changed(&self, from: &str, to: &str) -> String {
        assert!(self.config.contains(from), "{from}");
        self.config.replace(from, to)
    }

    /// The configuration of the destination.
    pub(super) fn config(&self) -> &str {
        &self.config
    }

    /// Arms faults of the portal, as text.
    pub(super) fn arm(&self, rules: &str) {
        self.portal.arm(parse_rules::<HubSpotFault>(rules).unwrap());
    }

    /// How many deliveries to `crm` are in this state.
    pub(super) async fn until(&self, wanted: &[(&str, i64)]) {
        self.world.until(wanted).await;
    }

    /// How many attempts of rows that are still owed count.
    pub(super) async fn counted(&self) -> i64 {
        let counted = "select coalesce(sum(attempts - excused), 0) from aftercommit.owed";
        self.world.base.number(counted).await
    }

    /// Starts a relay under a changed configuration.
    pub(super) async fn relay_under(&self, config: &str) -> Running {
        self.world.relay(config).await
    }

    /// Starts a relay.
    pub(super) async fn relay(&self) -> Running {
        self.world.relay(&self.config).await
    }

    /// Starts a relay and waits until it has looked at the portal.
    pub(super) async fn ready(&self) -> Running {
        let relay = self.relay().await;
        let looked = |entry: &std::sync::Arc<Entry>| entry.target.ends_with("/batch/upsert");
        self.portal.until(|journal| journal.entries().any(looked)).await;
        relay
    }

    /// A person resumes the destination.
    pub(super) async fn resume(&self) {
        self.world
            .base
            .execute("update aftercommit.destination_state set paused_at = null, paused_by = null, pause_reason = null where destination = 'crm'")
            .await;
    }

    /// Waits until so many attempts are on record.
    pub(super) async fn until_attempts(&self, wanted: i64) {
        self.world
            .until_number("select count(*) from aftercommit.attempt", wanted)
            .await;
    }

    /// A pipeline commits contacts `p1@b.co` and so on, in one transaction.
    pub(super) async fn contacts(&self, count: usize) {
        let row = |number: usize| {
            format!("('contacts', 'p{number}@b.co', 1, 'upsert', '{{\"name\":\"P{number}\"}}')")
        };
        self.commit(&(1..=count).map(row).collect::<Vec<_>>().join(", "))
            .await;
    }

    /// A pipeline commits one contact.
    pub(super) async fn contact(&self, email: &str, version: i64, payload: &str) {
        self.commit(&format!(
            "('contacts', '{email}', {version}, 'upsert', '{payload}')"
        ))
        .await;
    }

    /// A pipeline deletes one contact.
    pub(super) async fn delete(&self, email: &str, version: i64) {
        self.commit(&format!("('contacts', '{email}', {version}, 'delete', 'null')"))
            .await;
    }

    async fn commit(&self, rows: &str) {
        self.world
            .base
            .execute(&format!(
                "insert into aftercommit.outbox (topic, row_key, row_version, op, payload) values {rows}"
            ))
            .await;
    }

    /// The portal's contacts: their properties by e-mail address.
    pub(super) fn portal_contacts(&self) -> BTreeMap<String, Value> {
        let dump: Value = serde_json::from_str(&self.portal.dump()).unwrap();
        let contacts = dump["contacts"].as_array().cloned().unwrap_or_default();
        contacts
            .into_iter()
            .map(|contact| {
                let fields = contact["fields"].clone();
                (fields["email"].as_str().unwrap().to_owned(), fields)
            })
            .collect()
    }

    /// The requests to paths that end so and carry rows: a preflight's upsert has none.
    pub(super) fn requests(&self, path: &str) -> Vec<Entry> {
        self.portal.with(|_, _, journal| {
            let entries = journal.entries().filter(|entry| entry.target.ends_with(path));
            let entries = entries.filter(|entry| !entry.body.contains("\"inputs\":[]"));
            entries.map(|entry| Entry::clone(entry)).collect()
        })
    }

    /// What the attempts of the row with this key met, in their order, as `outcome status, outcome status`.
    pub(super) async fn attempts(&self, email: &str) -> String {
        self.world.base.history(email).await
    }

    /// Detail and excerpt of the last attempt of the row with this key.
    pub(super) async fn last_words(&self, email: &str) -> String {
        let words = format!(
            "select coalesce(detail, '') || ' | ' || coalesce(excerpt, '') from aftercommit.attempt
             join aftercommit.outbox on outbox.id = attempt.outbox_id
             where outbox.row_key = '{email}' order by attempt.outbox_id desc, attempt.number desc limit 1"
        );
        self.world.base.text(&words).await.unwrap_or_default()
    }

    /// Why the destination is paused, once it is.
    pub(super) async fn pause_reason(&self) -> String {
        let paused = "select count(*) from aftercommit.destination_state where destination = 'crm' and paused_at is not null";
        self.world.until_number(paused, 1).await;
        let reason = "select pause_reason from aftercommit.destination_state where destination = 'crm'";
        self.world.base.text(reason).await.unwrap_or_default()
    }

    /// Ends the story: no request carried a row without an attempt on record.
    pub(super) async fn finish(self, relay: Running) {
        relay.relay.shutdown(Duration::from_secs(10)).await.unwrap();
        let sent: usize = self.requests("/batch/upsert").iter().map(rows_in).sum();
        let attempts = self
            .world
            .base
            .number("select count(*) from aftercommit.attempt where body_digest is not null")
            .await;
        assert!(
            i64::try_from(sent).unwrap() <= attempts,
            "{sent} rows were sent, but only {attempts} attempts are on record"
        );
        self.portal.shutdown().await;
        self.world.finish([]).await;
    }
}

/// How many rows a request carries.
pub(super) fn rows_in(entry: &Entry) -> usize {
    let body: Value = serde_json::from_str(&entry.body).unwrap();
    body["inputs"].as_array().unwrap().len()
}
