//! A relay dies at each step of a job; whatever the step, each record is there once and every row is delivered.

use aftercommit::core::row::TopicKind;
use aftercommit::mock::crm::{MockServer, Schema, ServerOptions};
use aftercommit::mock::salesforce::{DEFAULT_SCHEMA, Salesforce, SalesforceOptions};

use super::world::{Backend, World, on_both, stopped};

const ACCOUNTS: usize = 30;

/// A world in which accounts go to an org, by jobs from ten on.
struct Org {
    world: World,
    mock: MockServer<Salesforce>,
}

impl Org {
    async fn new(backend: Backend) -> Self {
        let options = SalesforceOptions::new(Schema::parse(DEFAULT_SCHEMA).unwrap());
        let mock = MockServer::start(Salesforce::new(options), ServerOptions::default())
            .await
            .unwrap();
        let world = World::new(backend).await;
        world
            .base
            .apply(&[("accounts", TopicKind::State)], &[("accounts", "org")])
            .await;
        let org = format!(
            r#"
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
            timeout = "1s"
            bulk_threshold = 10
            retry.first = "1ms"
            retry.max_delay = "5ms"
            fields = {{ Name = "name" }}
            "#,
            mock.url()
        );
        world.configure(&world.receiver.url(), &org);
        let rows: Vec<String> = (1..=ACCOUNTS)
            .map(|number| format!("('accounts', 'a-{number}', 'upsert', '{{\"name\":\"n\"}}')"))
            .collect();
        let insert = "insert into aftercommit.outbox (topic, row_key, op, payload) values";
        world.base.execute(&format!("{insert} {}", rows.join(", "))).await;
        Self { world, mock }
    }

    fn requests(&self, method: &str) -> usize {
        self.mock.with(|_, _, journal| {
            let of_jobs = journal
                .entries()
                .filter(|entry| entry.target.contains("/jobs/ingest"));
            of_jobs.filter(|entry| entry.method == method).count()
        })
    }

    /// A relay goes on; returns the outcomes of each row's attempts, the same for all, and how many jobs were opened and
    /// got data.
    async fn finish(self) -> (String, usize, usize) {
        let mut relay = self.world.relay();
        self.world.settled(&mut relay).await;
        stopped(&mut relay).await;
        let base = &self.world.base;
        let delivered = "select count(*) from aftercommit.settled where state = 'delivered'";
        assert_eq!(base.number(delivered).await, i64::try_from(ACCOUNTS).unwrap());
        assert_eq!(base.number("select count(*) from aftercommit.dispatch").await, 0);
        assert_eq!(self.mock.dump().matches("\"Ext__c\"").count(), ACCOUNTS);
        let list = match base.backend {
            Backend::Postgres => "string_agg(outcome, ' ' order by number)",
            Backend::Sqlite => "group_concat(outcome, ' ' order by number)",
        };
        let outcomes = format!("select {list} as outcomes from aftercommit.attempt group by outbox_id");
        let same = format!("select count(distinct outcomes) from ({outcomes}) as each_row");
        assert_eq!(base.number(&same).await, 1);
        let outcomes = base.text(&format!("{outcomes} limit 1")).await.unwrap();
        let told = (outcomes, self.requests("POST"), self.requests("PUT"));
        self.mock.shutdown().await;
        told
    }
}

async fn dies_at(backend: Backend, points: &[&str]) -> (String, usize, usize) {
    let org = Org::new(backend).await;
    for point in points {
        org.world.crash(&format!("{point}:1")).await;
    }
    org.finish().await
}

on_both! {
    async fn a_job_that_was_opened_and_not_put_on_record_stays_empty(backend: Backend) {
        let (outcomes, opened, with_data) = dies_at(backend, &["after_job_opened"]).await;
        assert_eq!((outcomes.as_str(), opened, with_data), ("unknown accepted", 2, 1));
    }

    async fn a_job_that_was_put_on_record_and_got_no_data_is_aborted(backend: Backend) {
        let (outcomes, opened, with_data) = dies_at(backend, &["after_job_noted"]).await;
        assert_eq!((outcomes.as_str(), opened, with_data), ("unreachable accepted", 2, 1));
    }

    async fn a_job_that_was_started_is_asked_for_and_not_made_again(backend: Backend) {
        let (outcomes, opened, with_data) = dies_at(backend, &["after_job_uploaded"]).await;
        assert_eq!((outcomes.as_str(), opened, with_data), ("accepted", 1, 1));
    }

    async fn results_that_were_read_and_not_settled_are_read_again(backend: Backend) {
        let points = ["before_job_settled", "before_job_taken_over", "before_takeover"];
        let (outcomes, opened, with_data) = dies_at(backend, &points).await;
        assert_eq!((outcomes.as_str(), opened, with_data), ("accepted", 1, 1));
    }
}
