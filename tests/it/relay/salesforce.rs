//! A mock Salesforce org behind the whole relay: what people met, and what each refusal comes to.

mod bulk;
mod tokens;

use std::collections::BTreeMap;

use aftercommit::mock::crm::{MockServer, Schema, ServerOptions, parse_rules};
use aftercommit::mock::salesforce::{DEFAULT_SCHEMA, Salesforce, SalesforceOptions, TypeErrors};
use aftercommit::relay::assemble;

use super::world::{Backend, Running, SWIFT, World, on_both};

/// A world with an org in it, to which customers go as accounts.
struct Org {
    world: World,
    mock: MockServer<Salesforce>,
    config: String,
}

impl Org {
    async fn new(backend: Backend) -> Self {
        Self::with(backend, "", |_| {}).await
    }

    /// The same with further options, of the destination and of the org.
    async fn with(backend: Backend, more: &str, change: impl FnOnce(&mut SalesforceOptions)) -> Self {
        let mut options = SalesforceOptions::new(Schema::parse(DEFAULT_SCHEMA).unwrap());
        change(&mut options);
        let mock = MockServer::start(Salesforce::new(options), ServerOptions::default())
            .await
            .unwrap();
        let config = format!(
            r#"{SWIFT}
            [topics.accounts]
            kind = "state"
            [destinations.org]
            type = "salesforce"
            login_url = "{}"
            topics = ["accounts"]
            object = "Account"
            external_id = "Ext__c"
            client_id = "app"
            client_secret = "secret"
            allow_http = true
            allow_networks = ["127.0.0.0/8"]
            timeout = "2s"
            batch_wait = "20ms"
            {more}
            [destinations.org.fields]
            Name = "name"
            Phone = "phone"
            Fax = {{ from = "fax", null_policy = "omit" }}
            AnnualRevenue = "revenue"
            Since__c = {{ from = "since", type = "date" }}
            "Parent.Ext__c" = "parent"
            [destinations.org.retry]
            first = "1ms"
            max_delay = "5ms"
            max_attempts = 5
            "#,
            mock.url()
        );
        let world = World::with(backend, &config).await;
        Self { world, mock, config }
    }

    fn arm(&self, rules: &str) {
        self.mock.arm(parse_rules(rules).unwrap());
    }

    async fn relay(&self) -> Running {
        self.world.relay(&self.config).await
    }

    /// A pipeline commits accounts by their row keys, each with a payload.
    async fn commit(&self, accounts: &[(&str, &str)]) {
        let rows: Vec<String> = accounts
            .iter()
            .map(|(row_key, payload)| format!("('accounts', '{row_key}', 'upsert', '{payload}')"))
            .collect();
        self.insert(&rows).await;
    }

    /// A pipeline commits so many accounts, `a-1` first, each with its name.
    async fn commit_many(&self, count: usize) {
        let rows: Vec<String> = (1..=count)
            .map(|number| format!("('accounts', 'a-{number}', 'upsert', '{{\"name\":\"n\"}}')"))
            .collect();
        self.insert(&rows).await;
    }

    async fn delete(&self, row_keys: &[&str]) {
        let rows: Vec<String> = row_keys
            .iter()
            .map(|row_key| format!("('accounts', '{row_key}', 'delete', 'null')"))
            .collect();
        self.insert(&rows).await;
    }

    async fn insert(&self, rows: &[String]) {
        let rows = rows.join(", ");
        let insert = "insert into aftercommit.outbox (topic, row_key, op, payload) values";
        self.world.base.execute(&format!("{insert} {rows}")).await;
    }

    /// The requests so far but for the look at the object, `METHOD path`, with their statuses.
    fn requests(&self) -> Vec<(String, Option<u16>)> {
        self.mock.with(|_, _, journal| {
            let entries = journal.entries();
            entries
                .filter(|entry| !entry.target.ends_with("/describe"))
                .map(|entry| (format!("{} {}", entry.method, entry.target), entry.status))
                .collect()
        })
    }

    fn count(&self, of: &str) -> usize {
        let requests = self.requests();
        requests
            .iter()
            .filter(|(request, _)| request.contains(of))
            .count()
    }

    /// The attempts of an account, as `number outcome status`.
    async fn attempts(&self, row_key: &str) -> i64 {
        let sql = format!(
            "select count(*) from aftercommit.attempt join aftercommit.outbox on outbox.id = attempt.outbox_id
             where row_key = '{row_key}'"
        );
        self.world.base.number(&sql).await
    }

    /// How many accounts the org has with this in their dump.
    fn records(&self, with: &str) -> usize {
        self.mock.dump().matches(with).count()
    }

    async fn finish(self, relay: Running) {
        // A look at a job carries no row.
        let requests = self.requests();
        let data = requests
            .iter()
            .filter(|(request, _)| request.contains("/services/data/") && !request.starts_with("GET"));
        let data = i64::try_from(data.count()).unwrap();
        relay
            .relay
            .shutdown(std::time::Duration::from_secs(10))
            .await
            .unwrap();
        let attempts = self
            .world
            .base
            .number("select count(*) from aftercommit.attempt")
            .await;
        assert!(
            data <= attempts,
            "{data} requests, but only {attempts} attempts on record"
        );
        self.world.finish([]).await;
        self.mock.shutdown().await;
    }
}

/// The reason for which a destination is paused, if it is.
const PAUSED: &str = "select count(*) from aftercommit.destination_state where paused_at is not null";

const COLLECTION: &str = "/composite/sobjects/";

on_both! {
    async fn rows_become_records_and_change_and_go(backend: Backend) {
        let org = Org::new(backend).await;
        let relay = org.relay().await;
        org.commit(&[("a/b c+é", r#"{"name": "Ä", "revenue": 12345678901234.56, "since": "2026-05-01T10:00:00Z"}"#)]).await;
        org.world.until(&[("delivered", 1)]).await;
        assert_eq!(org.count("/sobjects/Account/Ext__c/a%2Fb%20c%2B%C3%A9"), 1, "{:?}", org.requests());
        let dump = org.mock.dump();
        assert!(dump.contains("12345678901234.56") && dump.contains("2026-05-01"), "{dump}");

        org.commit_many(250).await;
        org.world.until(&[("delivered", 251)]).await;
        assert_eq!(org.records("\"Ext__c\""), 251);
        org.delete(&["a-1", "a-2", "nobody"]).await;
        org.world.until(&[("delivered", 254)]).await;
        assert_eq!(org.records("\"Ext__c\""), 249);
        org.finish(relay).await;
    }

    async fn a_commit_whose_answer_is_lost_leaves_one_record_after_two_attempts(backend: Backend) {
        let org = Org::new(backend).await;
        org.arm("drop:once@method=PATCH");
        org.commit(&[("a-1", r#"{"name": "n"}"#)]).await;
        let relay = org.relay().await;
        org.world.until(&[("delivered", 1)]).await;
        assert_eq!((org.records("\"Ext__c\""), org.attempts("a-1").await), (1, 2));
        org.finish(relay).await;
    }

    async fn a_record_that_is_refused_keeps_no_other_from_its_place(backend: Backend) {
        let org = Org::new(backend).await;
        org.commit(&[("a-1", r#"{"name": "n"}"#), ("a-2", "{}"), ("a-3", r#"{"name": "n"}"#)]).await;
        let relay = org.relay().await;
        org.world.until(&[("delivered", 2), ("dead", 1)]).await;
        assert_eq!(org.count(COLLECTION), 1);
        let detail = org.world.base.text("select detail from aftercommit.attempt where outcome = 'refused'").await;
        assert_eq!(detail.as_deref(), Some("REQUIRED_FIELD_MISSING (Name)"));
        for (outcome, row_key, kept) in [
            ("accepted", "a-1", r#"{"id":"001%","success":true,"errors":[],"created":true}"#),
            ("accepted", "a-3", r#"{"id":"001%","success":true,"errors":[],"created":true}"#),
            ("refused", "a-2", "Required fields are missing: [Name]"),
        ] {
            let sql = format!(
                "select count(*) from aftercommit.attempt join aftercommit.outbox on outbox.id = attempt.outbox_id
                 where row_key = '{row_key}' and outcome = '{outcome}' and excerpt like '{kept}'"
            );
            assert_eq!(org.world.base.number(&sql).await, 1, "{row_key}");
        }
        org.finish(relay).await;
    }

    async fn a_locked_record_is_tried_again_and_its_mates_were_sent_once(backend: Backend) {
        let org = Org::new(backend).await;
        org.arm("unable-to-lock-row:2@Ext__c=a-2");
        org.commit_many(3).await;
        let relay = org.relay().await;
        org.world.until(&[("delivered", 3)]).await;
        let attempts = [org.attempts("a-1").await, org.attempts("a-2").await, org.attempts("a-3").await];
        assert_eq!(attempts, [1, 3, 1]);
        org.finish(relay).await;
    }

    async fn what_the_whole_org_refuses_pauses_the_destination(backend: Backend) {
        for fault in ["request-limit", "api-disabled", "storage-limit"] {
            let org = Org::new(backend).await;
            org.arm(&format!("{fault}:always"));
            org.commit_many(5).await;
            let relay = org.relay().await;
            org.world.until_number(PAUSED, 1).await;
            assert_eq!(org.world.states().await, BTreeMap::from([("pending".to_owned(), 5)]), "{fault}");
            org.finish(relay).await;
        }
    }

    async fn a_page_for_people_is_a_reason_to_try_again(backend: Backend) {
        let org = Org::new(backend).await;
        org.arm("maintenance:once@method=PATCH");
        org.commit(&[("a-1", r#"{"name": "n"}"#)]).await;
        let relay = org.relay().await;
        org.world.until(&[("delivered", 1)]).await;
        let excerpt = org.world.base.text("select excerpt from aftercommit.attempt where http_status = 503").await;
        assert!(excerpt.is_some_and(|excerpt| excerpt.contains("maintenance")));
        org.finish(relay).await;
    }

    async fn a_value_that_fails_the_whole_call_is_found_and_its_mates_arrive(backend: Backend) {
        let org = Org::with(backend, "", |options| options.type_errors = TypeErrors::WholeCall).await;
        org.commit_many(100).await;
        org.commit(&[("a-37", r#"{"name": "n", "revenue": "banana"}"#)]).await;
        let relay = org.relay().await;
        org.world.until(&[("delivered", 99), ("dead", 1), ("superseded", 1)]).await;
        assert_eq!(org.records("\"Ext__c\""), 99);
        assert!(org.count("/services/data/") <= 15, "{:?}", org.requests());
        org.finish(relay).await;
    }

    async fn a_null_clears_or_leaves_and_a_bad_date_is_dead_alone(backend: Backend) {
        let org = Org::new(backend).await;
        let relay = org.relay().await;
        org.commit(&[("a-1", r#"{"name": "n", "phone": "1", "fax": "2"}"#)]).await;
        org.world.until(&[("delivered", 1)]).await;
        org.commit(&[
            ("a-1", r#"{"name": "n", "phone": null, "fax": null}"#),
            ("a-2", r#"{"name": "n", "since": "soon"}"#),
        ]).await;
        org.world.until(&[("delivered", 2), ("dead", 1)]).await;
        let dump = org.mock.dump();
        assert!(!dump.contains("\"Phone\":\"1\"") && dump.contains("\"Fax\":\"2\""), "{dump}");
        let dead = "select count(*) from aftercommit.settled where reason = 'not_renderable'";
        assert_eq!(org.world.base.number(dead).await, 1);
        org.finish(relay).await;
    }

    async fn a_child_waits_for_its_parent(backend: Backend) {
        let org = Org::new(backend).await;
        org.commit(&[("child", r#"{"name": "n", "parent": "parent"}"#)]).await;
        let relay = org.relay().await;
        org.world.until_number("select count(*) from aftercommit.attempt where outcome = 'throttled'", 1).await;
        org.commit(&[("parent", r#"{"name": "n"}"#)]).await;
        org.world.until(&[("delivered", 2)]).await;
        org.finish(relay).await;
    }

    async fn a_child_whose_parent_never_comes_is_given_up_at_its_age(backend: Backend) {
        let org = Org::new(backend).await;
        org.commit(&[("child", r#"{"name": "n", "parent": "parent"}"#)]).await;
        let relay = org.world.relay(&org.config.replace("max_attempts = 5", "max_age = \"500ms\"")).await;
        org.world.until(&[("dead", 1)]).await;
        let reason = org.world.base.text("select reason from aftercommit.settled").await;
        assert_eq!((reason.as_deref(), org.attempts("child").await), (Some("age_exhausted"), 2));
        org.finish(relay).await;
    }

    async fn the_reserve_of_daily_calls_is_left_to_others(backend: Backend) {
        let org = Org::with(backend, "daily_limit_reserve = 0.5\nbatch_size = 1\nconcurrency = 1", |options| {
            options.daily_limit = 10;
        }).await;
        org.commit_many(9).await;
        let relay = org.relay().await;
        org.world.until_number("select count(*) from aftercommit.attempt where detail like '%daily_limit_reserve%'", 1).await;
        assert_eq!(org.count("/services/data/"), 5, "and one call looked at the object");
        org.finish(relay).await;
    }

    async fn an_external_id_that_is_not_unique_pauses_before_the_first_row(backend: Backend) {
        let org = Org::new(backend).await;
        org.commit_many(2).await;
        let relay = org.world.relay(&org.config.replace("external_id = \"Ext__c\"", "external_id = \"Phone\"").replace("Phone = \"phone\"", "")).await;
        org.world.until_number(PAUSED, 1).await;
        let reason = org.world.base.text("select pause_reason from aftercommit.destination_state").await.unwrap();
        assert!(reason.starts_with("preflight: `Account`.`Phone`, which external_id names, is no External ID"), "{reason}");
        assert_eq!(org.count("/services/data/"), 0);
        org.finish(relay).await;
    }

    async fn a_field_that_finds_no_related_record_pauses_before_the_first_row(backend: Backend) {
        let org = Org::new(backend).await;
        org.commit_many(2).await;
        let relay = org.world.relay(&org.config.replace("Parent.Ext__c", "Parent.Nope__c")).await;
        org.world.until_number(PAUSED, 1).await;
        let reason = org.world.base.text("select pause_reason from aftercommit.destination_state").await.unwrap();
        assert!(reason.starts_with("preflight: `Account` has no field `Nope__c`"), "{reason}");
        assert_eq!(org.count("/services/data/"), 0);
        org.finish(relay).await;
    }
}

/// The mapping is part of what was sent: a delivery that was attempted keeps it.
#[tokio::test]
async fn a_key_that_cannot_sign_is_refused_before_anything_starts() {
    let text = "[destinations.org]\ntype = \"salesforce\"\ntopics = []\nobject = \"A\"\nexternal_id = \"E\"\n\
                client_id = \"i\"\nprivate_key = \"no key\"\nusername = \"u\"\nfields = {}\n";
    let sources = aftercommit::config::System::beside(std::path::Path::new("."));
    let config = aftercommit::config::Config::parse(text, &sources).unwrap();
    let clock: std::sync::Arc<dyn aftercommit::clock::Clock> =
        std::sync::Arc::new(aftercommit::clock::SystemClock::start());
    let refused = assemble::destinations(&config, &clock).err().unwrap().to_string();
    assert_eq!(
        refused,
        "destination `org`: private_key is no RSA key in PEM (PKCS #8 or PKCS #1) that can sign"
    );
}
