//! What all CRMs have in common, told of a Salesforce org: repetitions, the daily limit, and previews.

use aftercommit::mock::crm::{MockServer, Schema, ServerOptions};
use aftercommit::mock::salesforce::{DEFAULT_SCHEMA, Salesforce, SalesforceOptions};

use super::preview::{look, previewed, sent};
use super::world::{Backend, Running, SWIFT, World, on_both};

/// A world with an org in it, to which the topic `accounts` goes.
struct Org {
    world: World,
    mock: MockServer<Salesforce>,
    config: String,
}

impl Org {
    /// The same with a further option of the destination.
    async fn with(backend: Backend, more: &str) -> Self {
        let org = Salesforce::new(SalesforceOptions::new(Schema::parse(DEFAULT_SCHEMA).unwrap()));
        let mock = MockServer::start(org, ServerOptions::default()).await.unwrap();
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
            AnnualRevenue = "revenue"
            "#,
            mock.url()
        );
        let world = World::with(backend, &config).await;
        Self { world, mock, config }
    }

    async fn insert(&self, rows: &str) {
        let insert = "insert into aftercommit.outbox (topic, row_key, op, payload) values";
        self.world.base.execute(&format!("{insert} {rows}")).await;
    }

    async fn relay(&self) -> Running {
        self.world.relay(&self.config).await
    }

    async fn finish(self, relay: Running) {
        self.world.finish([relay]).await;
        self.mock.shutdown().await;
    }
}

on_both! {
    async fn what_the_org_says_of_its_daily_calls_is_noted_for_status(backend: Backend) {
        let org = Org::with(backend, "").await;
        org.insert("('accounts', 'a-1', 'upsert', '{\"name\":\"n\"}')").await;
        let relay = org.relay().await;
        org.world.until(&[("delivered", 1)]).await;
        let noted = "select count(*) from aftercommit.usage
            where destination = 'org' and used > 0 and allowed = 15000 and reserve = 750";
        org.world.until_number(noted, 1).await;
        org.finish(relay).await;
    }

    async fn an_upsert_that_may_have_arrived_days_ago_is_sent_again_and_a_webhook_is_not(backend: Backend) {
        for (policy, org_state) in [("", "delivered"), ("uncertain_policy = \"hold\"", "uncertain")] {
            let org = Org::with(backend, policy).await;
            org.insert("('accounts', 'a-1', 'upsert', '{\"name\":\"n\"}')").await;
            org.world.orders(1, |_| "o-1".into()).await;
            let days_ago = match backend {
                Backend::Postgres => "now() - interval '2 days'",
                Backend::Sqlite => "owed_at - 172800000000",
            };
            org.world.base.execute(&format!("update aftercommit.owed set attempts = 1, unknown_since = {days_ago}")).await;
            let relay = org.relay().await;
            for (destination, state) in [("hook", "uncertain"), ("org", org_state)] {
                let settled = format!(
                    "select count(*) from aftercommit.settled where destination = '{destination}' and state = '{state}'"
                );
                org.world.until_number(&settled, 1).await;
            }
            org.finish(relay).await;
        }
    }

    async fn a_preview_of_salesforce_is_what_is_sent_without_a_login(backend: Backend) {
        let org = Org::with(backend, "").await;
        org.insert(
            r#"('accounts', 'a-1', 'upsert', '{"name": "n", "revenue": 1.50}'), ('accounts', 'a-2', 'upsert', '{"name": "m"}'),
               ('accounts', 'a-3', 'upsert', '[1]'), ('accounts', 'a-4', 'delete', 'null')"#,
        ).await;
        let outlook = look(&org.world, &org.config, "org", 10).await;
        assert_eq!(org.mock.with(|_, _, journal| journal.count()), 0, "not even a login");
        let [collection, delete] = &outlook.requests[..] else { panic!("{outlook:?}") };
        assert!(collection.sketch.url.starts_with("https://(the org's instance)/services/data/"), "{collection:?}");
        let keys: Vec<_> = collection.deliveries.iter().map(|which| which.row_key.as_str()).collect();
        assert_eq!(keys, ["a-1", "a-2"]);
        assert_eq!(delete.deliveries[0].row_key, "a-4");
        let [unsent] = &outlook.unsent[..] else { panic!("{outlook:?}") };
        assert!(unsent.which.row_key == "a-3" && unsent.why.contains("not a JSON object"), "{unsent:?}");

        let relay = org.relay().await;
        org.world.until(&[("delivered", 3), ("dead", 1)]).await;
        let (mut previewed, mut sent) = (previewed(&outlook), sent(&org.mock));
        previewed.sort();
        sent.sort();
        assert_eq!(previewed, sent);
        org.finish(relay).await;
    }
}
