//! A relay that is killed between a CRM's commit and its own settle: each row is one record, delivered, by two attempts.

use aftercommit::mock::crm::{Crm, MockServer, Schema, ServerOptions, parse_rules};
use aftercommit::mock::hubspot::{self, HubSpotOptions};
use aftercommit::mock::salesforce::{self, Salesforce, SalesforceOptions};
use tempfile::TempDir;

use super::world::{Backend, PATIENCE, Process, died, on_both, stopped};
use crate::store::world::World as Base;

const CONFIG: &str = r#"
[database]
url = "{database}"
[relay]
heartbeat = "200ms"
lease_ttl = "2s"
poll_busy = "2ms"
poll_idle = "20ms"
[topics.customers]
kind = "state"
[destinations.crm]
topics = ["customers"]
allow_http = true
allow_networks = ["127.0.0.0/8"]
timeout = "1s"
connect_timeout = "1s"
batch_wait = "20ms"
retry.first = "1ms"
retry.max_delay = "5ms"
"#;

const SALESFORCE: &str = r#"
type = "salesforce"
login_url = "{url}"
client_id = "app"
client_secret = "secret"
object = "Account"
external_id = "Ext__c"
fields = { Name = "name" }
"#;

const HUBSPOT: &str = r#"
type = "hubspot"
url = "{url}"
access_token = "pat-na1-mock"
object = "contacts"
id_property = "email"
fields = { firstname = "name" }
"#;

const ROWS: [&str; 3] = ["ada@b.co", "bob@b.co", "cy@b.co"];

/// When the relay is killed; the CRM has committed the rows by then.
#[derive(Debug, Clone, Copy)]
enum Killed {
    WithTheAnswerInItsHands,
    WhileItWaitsForTheAnswer,
}

/// What one story plays with.
struct Story<C: Crm> {
    base: Base,
    mock: MockServer<C>,
    folder: TempDir,
    /// The field at the CRM that holds the row key.
    key: &'static str,
}

on_both! {
    async fn salesforce_has_one_record_after_a_relay_was_killed_with_its_answer(backend: Backend) {
        at_salesforce(backend, Killed::WithTheAnswerInItsHands).await;
    }

    async fn salesforce_has_one_record_after_a_relay_was_killed_before_its_answer(backend: Backend) {
        at_salesforce(backend, Killed::WhileItWaitsForTheAnswer).await;
    }

    async fn hubspot_has_one_record_after_a_relay_was_killed_with_its_answer(backend: Backend) {
        at_hubspot(backend, Killed::WithTheAnswerInItsHands).await;
    }

    async fn hubspot_has_one_record_after_a_relay_was_killed_before_its_answer(backend: Backend) {
        at_hubspot(backend, Killed::WhileItWaitsForTheAnswer).await;
    }
}

async fn at_salesforce(backend: Backend, killed: Killed) {
    let schema = Schema::parse(salesforce::DEFAULT_SCHEMA).unwrap();
    let org = Salesforce::new(SalesforceOptions::new(schema));
    let mock = MockServer::start(org, ServerOptions::default()).await.unwrap();
    let story = Story::new(backend, mock, SALESFORCE, "Ext__c").await;
    story.play(killed).await;
}

async fn at_hubspot(backend: Backend, killed: Killed) {
    let options = HubSpotOptions::new(Schema::parse(hubspot::DEFAULT_SCHEMA).unwrap());
    let mock = hubspot::start(options, ServerOptions::default()).await.unwrap();
    Story::new(backend, mock, HUBSPOT, "email")
        .await
        .play(killed)
        .await;
}

impl<C: Crm> Story<C> {
    async fn new(backend: Backend, mock: MockServer<C>, section: &str, key: &'static str) -> Self {
        let base = Base::migrated(backend).await;
        let folder = tempfile::Builder::new()
            .prefix("aftercommit-crash-")
            .tempdir()
            .unwrap();
        let section = section.replace("{url}", &mock.url());
        let config = CONFIG
            .replace("{database}", &base.url)
            .replace("[destinations.crm]", &format!("[destinations.crm]{section}"));
        std::fs::write(folder.path().join("aftercommit.toml"), config).unwrap();
        Self {
            base,
            mock,
            folder,
            key,
        }
    }

    async fn play(self, killed: Killed) {
        let rows = ROWS.map(|row_key| format!("('customers', '{row_key}', 'upsert', '{{\"name\":\"n\"}}')"));
        let insert = "insert into aftercommit.outbox (topic, row_key, op, payload) values";
        self.base.execute(&format!("{insert} {}", rows.join(", "))).await;
        match killed {
            Killed::WithTheAnswerInItsHands => {
                died(self.relay(&[("AFTERCOMMIT_CRASH", "after_send:1")]), "after_send").await;
            }
            Killed::WhileItWaitsForTheAnswer => self.kill_while_it_waits().await,
        }
        assert_eq!(self.records(), ROWS.len(), "the CRM has committed them");
        assert_eq!(
            self.base.number(DELIVERED).await,
            0,
            "and the relay knows nothing of it"
        );

        let mut relay = self.relay(&[]);
        let settling = async {
            while self.base.number("select count(*) from aftercommit.owed").await > 0 {
                relay.line("nothing is owed").await;
            }
        };
        let settled = tokio::time::timeout(PATIENCE, settling).await;
        assert!(settled.is_ok(), "rows are still owed: {:#?}", relay.log());
        stopped(&mut relay).await;
        for row_key in ROWS {
            assert_eq!(
                self.base.history(row_key).await,
                "unknown -, accepted 200",
                "{row_key}"
            );
        }
        assert_eq!(
            (self.base.number(DELIVERED).await, self.records()),
            (3, ROWS.len())
        );
        self.mock.shutdown().await;
    }

    /// The CRM commits the rows and never answers.
    async fn kill_while_it_waits(&self) {
        let rule = format!("drop-hang:once@{}={}", self.key, ROWS[0]);
        self.mock.arm(parse_rules(&rule).unwrap());
        let mut relay = self.relay(&[]);
        let hangs = |entry: &std::sync::Arc<aftercommit::mock::crm::Entry>| entry.fault.is_some();
        self.mock.until(|journal| journal.entries().any(hangs)).await;
        relay.signal("KILL").await;
        relay.ended().await;
    }

    fn relay(&self, variables: &[(&str, &str)]) -> Process {
        Process::start(self.folder.path(), &["run", "--listen", "off"], variables)
    }

    /// How many records the CRM has.
    fn records(&self) -> usize {
        self.mock.dump().matches(&format!("\"{}\":", self.key)).count()
    }
}

const DELIVERED: &str = "select count(*) from aftercommit.settled where state = 'delivered'";
