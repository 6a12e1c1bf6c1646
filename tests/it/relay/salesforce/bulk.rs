//! Many rows at once: which go by a job, what each of them meets, and what becomes of a job that its relay leaves.

use std::time::Duration;

use aftercommit::mock::crm::Entry;

use super::super::world::{Backend, Running, on_both};
use super::{COLLECTION, Org, PAUSED};

const OPENED: &str = "POST /services/data/v62.0/jobs/ingest";
const UPLOADED: &str = "PUT /services/data/v62.0/jobs/ingest/";
const TOKEN: &str = "/services/oauth2/token";
const MOVED: &str = "PATCH /services/data/v62.0/jobs/ingest/";
/// Jobs of few rows, so that a story need not commit thousands.
const TEN: &str = "bulk_threshold = 10";
const FOREVER: u32 = u32::MAX;

impl Org {
    /// An org in which jobs last until the story says otherwise.
    async fn slow(backend: Backend, more: &str) -> Self {
        Self::with(backend, &format!("{TEN}\n{more}"), |options| {
            options.polls = FOREVER;
        })
        .await
    }

    fn let_jobs_end(&self) {
        self.mock.with(|org, _, _| org.set_polls(0));
    }

    /// Waits until a job is started, and then looked at so often.
    async fn looked_at(&self, times: usize) {
        let is_look = |entry: &Entry| entry.method == "GET" && entry.target.contains("/jobs/ingest/");
        let looked = self.mock.until(|journal| {
            let looks = journal.entries().filter(|entry| is_look(entry));
            looks.count() >= times
        });
        tokio::time::timeout(Duration::from_mins(1), looked)
            .await
            .unwrap();
    }

    async fn attempts_like(&self, outcome: &str) -> i64 {
        let sql = format!("select count(*) from aftercommit.attempt where outcome = '{outcome}'");
        self.world.base.number(&sql).await
    }

    async fn open_dispatches(&self) -> i64 {
        self.world
            .base
            .number("select count(*) from aftercommit.dispatch where job is not null")
            .await
    }
}

/// A relay is asked to end, and does so long before its grace time is over.
async fn ended(relay: Running) {
    let ended = relay.relay.shutdown(Duration::from_mins(10));
    tokio::time::timeout(Duration::from_secs(20), ended)
        .await
        .unwrap()
        .unwrap();
}

on_both! {
    async fn a_backlog_goes_by_one_job_and_each_row_is_settled(backend: Backend) {
        let org = Org::new(backend).await;
        org.commit_many(2_500).await;
        let relay = org.relay().await;
        org.world.until(&[("delivered", 2_500)]).await;
        assert_eq!((org.count(OPENED), org.count(UPLOADED), org.count(COLLECTION)), (1, 1, 0), "{:?}", org.requests());
        assert_eq!(org.records("\"Ext__c\""), 2_500);
        assert_eq!(org.attempts_like("accepted").await, 2_500);
        org.finish(relay).await;
    }

    async fn below_the_threshold_there_is_no_job(backend: Backend) {
        let org = Org::with(backend, "bulk_threshold = 50", |_| {}).await;
        org.commit_many(49).await;
        let relay = org.relay().await;
        org.world.until(&[("delivered", 49)]).await;
        assert_eq!(org.count(OPENED), 0);
        org.finish(relay).await;
    }

    async fn each_row_of_a_job_meets_what_its_file_of_results_says(backend: Backend) {
        let org = Org::with(backend, TEN, |_| {}).await;
        org.arm("unable-to-lock-row:1@Ext__c=a-2,bulk-failed:1@Ext__c=a-11");
        org.commit_many(12).await;
        org.commit(&[("a-3", "{}")]).await;
        let relay = org.relay().await;
        org.world.until(&[("delivered", 11), ("dead", 1), ("superseded", 1)]).await;
        assert_eq!(org.count(OPENED), 1, "what comes back from a job goes by requests: {:?}", org.requests());
        let attempts = [org.attempts("a-1").await, org.attempts("a-2").await, org.attempts("a-11").await];
        assert_eq!(attempts, [1, 2, 2]);
        let dead = "select detail from aftercommit.attempt where outcome = 'refused' and detail like '%(Name)'";
        assert_eq!(org.world.base.text(dead).await.as_deref(), Some("REQUIRED_FIELD_MISSING (Name)"));
        org.finish(relay).await;
    }

    async fn what_a_job_cannot_say_goes_by_requests_beside_it(backend: Backend) {
        let org = Org::with(backend, TEN, |_| {}).await;
        org.commit_many(12).await;
        org.commit(&[("odd", r##"{"name": "n", "phone": "#N/A"}"##)]).await;
        org.delete(&["a-12"]).await;
        let relay = org.relay().await;
        org.world.until(&[("delivered", 13), ("superseded", 1)]).await;
        assert_eq!(org.count(OPENED), 1, "{:?}", org.requests());
        assert!(org.mock.dump().contains(r##""Phone":"#N/A""##), "a text, and not an order to clear the field");
        org.finish(relay).await;
    }

    async fn a_newer_version_waits_for_the_job_and_others_do_not(backend: Backend) {
        let org = Org::slow(backend, "").await;
        org.commit_many(20).await;
        let relay = org.relay().await;
        org.looked_at(1).await;
        org.commit(&[("a-1", r#"{"name": "newer"}"#), ("other", r#"{"name": "n"}"#)]).await;
        org.world.until(&[("pending", 21), ("delivered", 1)]).await;
        assert_eq!((org.attempts("other").await, org.attempts("a-1").await), (1, 0));
        org.let_jobs_end();
        org.world.until(&[("delivered", 22)]).await;
        assert_eq!((org.records("\"newer\""), org.count(OPENED)), (1, 1));
        org.finish(relay).await;
    }

    async fn a_job_that_runs_takes_no_memory_from_others(backend: Backend) {
        let org = Org::slow(backend, "").await;
        // Ten rows, and with them nearly all of the memory.
        let payload = format!("{{\"name\": \"n\", \"more\": \"{}\"}}", "x".repeat(12_000));
        let keys: Vec<String> = (1..=10).map(|number| format!("a-{number}")).collect();
        let rows: Vec<_> = keys.iter().map(|key| (key.as_str(), payload.as_str())).collect();
        org.commit(&rows).await;
        let relay = org.world.relay_with(&org.config, |relay| relay.fetch_bytes = 64 * 1024).await;
        org.looked_at(1).await;
        org.commit(&[("other", &payload)]).await;
        org.world.until(&[("pending", 10), ("delivered", 1)]).await;
        org.let_jobs_end();
        org.world.until(&[("delivered", 11)]).await;
        org.finish(relay).await;
    }

    async fn a_job_of_one_row_that_comes_back_undone_is_followed_by_a_request(backend: Backend) {
        let org = Org::with(backend, "bulk_threshold = 1", |_| {}).await;
        org.arm("bulk-failed:1");
        org.commit_many(1).await;
        let relay = org.relay().await;
        org.world.until(&[("delivered", 1)]).await;
        assert_eq!((org.count(OPENED), org.attempts("a-1").await), (1, 2));
        org.world.until_number("select count(*) from aftercommit.dispatch", 0).await;
        relay.relay.shutdown(Duration::from_secs(10)).await.unwrap();
    }

    async fn a_job_that_never_ends_is_aborted_and_its_results_are_read(backend: Backend) {
        let org = Org::slow(backend, "bulk_timeout = \"1s\"").await;
        org.commit_many(20).await;
        let relay = org.relay().await;
        org.world.until(&[("delivered", 20)]).await;
        assert_eq!((org.count(OPENED), org.count(MOVED)), (1, 2), "started once, aborted once");
        assert_eq!(org.attempts_like("accepted").await, 20, "what it did is told all the same");
        org.finish(relay).await;
    }

    async fn a_job_whose_data_did_not_arrive_is_aborted_and_nothing_is_unknown(backend: Backend) {
        let org = Org::with(backend, TEN, |_| {}).await;
        org.arm("reset:1@method=PUT");
        org.commit_many(20).await;
        let relay = org.relay().await;
        org.world.until(&[("delivered", 20)]).await;
        assert_eq!((org.attempts_like("unreachable").await, org.attempts_like("unknown").await), (20, 0));
        org.finish(relay).await;
    }

    async fn a_start_whose_answer_is_lost_is_seen_by_the_next_look(backend: Backend) {
        let org = Org::with(backend, TEN, |_| {}).await;
        org.arm("drop:1@method=PATCH");
        org.commit_many(20).await;
        let relay = org.relay().await;
        org.world.until(&[("delivered", 20)]).await;
        assert_eq!((org.count(OPENED), org.attempts_like("accepted").await), (1, 20));
        org.finish(relay).await;
    }

    async fn a_token_that_expires_while_a_job_runs_is_replaced_and_the_job_goes_on(backend: Backend) {
        let org = Org::slow(backend, "").await;
        org.commit_many(20).await;
        let relay = org.relay().await;
        org.looked_at(1).await;
        org.mock.expire_tokens();
        org.looked_at(3).await;
        org.let_jobs_end();
        org.world.until(&[("delivered", 20)]).await;
        assert_eq!((org.count(OPENED), org.count(TOKEN), org.attempts_like("accepted").await), (1, 2, 20));
        org.finish(relay).await;
    }

    async fn an_org_that_refuses_jobs_gets_requests_and_one_that_refuses_all_is_paused(backend: Backend) {
        let org = Org::with(backend, TEN, |_| {}).await;
        org.arm("parser-error:1@method=POST");
        org.commit_many(20).await;
        let relay = org.relay().await;
        org.world.until(&[("delivered", 20)]).await;
        assert_eq!((org.count(OPENED), org.count(UPLOADED)), (1, 0), "{:?}", org.requests());
        org.arm("api-disabled:1@method=POST");
        org.commit(&[("b-1", r#"{"name": "n"}"#)]).await;
        org.world.until(&[("delivered", 21)]).await;
        let rows: Vec<String> = (1..=20).map(|number| format!("c-{number}")).collect();
        let rows: Vec<(&str, &str)> = rows.iter().map(|row| (row.as_str(), r#"{"name": "n"}"#)).collect();
        org.commit(&rows).await;
        org.world.until_number(PAUSED, 1).await;
        org.world.until_number("select max(attempts - excused) from aftercommit.owed", 0).await;
        org.finish(relay).await;
    }

    async fn a_relay_that_ends_leaves_its_job_and_the_next_one_asks_for_it(backend: Backend) {
        let org = Org::slow(backend, "").await;
        org.commit_many(20).await;
        let first = org.relay().await;
        org.looked_at(2).await;
        ended(first).await;
        assert_eq!((org.open_dispatches().await, org.world.states().await["pending"]), (1, 20));

        let second = org.relay().await;
        org.looked_at(4).await;
        org.commit(&[("a-1", r#"{"name": "newer"}"#)]).await;
        // For longer than a lease lives.
        org.world.store.beaten(second.id, 25).await;
        assert_eq!(org.world.base.number("select count(*) from aftercommit.attempt").await, 0, "nothing goes past it");
        org.let_jobs_end();
        org.world.until(&[("delivered", 21)]).await;
        assert_eq!((org.count(OPENED), org.attempts("a-2").await, org.records("\"newer\"")), (1, 1, 1));
        org.finish(second).await;
    }

    async fn a_relay_that_waits_for_a_job_it_found_ends_when_asked_to(backend: Backend) {
        let org = Org::slow(backend, "").await;
        org.commit_many(20).await;
        for looks in [1, 2] {
            let relay = org.relay().await;
            org.looked_at(looks * 2).await;
            ended(relay).await;
        }
        assert_eq!((org.open_dispatches().await, org.count(OPENED)), (1, 1));
        org.let_jobs_end();
        let relay = org.relay().await;
        org.world.until(&[("delivered", 20)]).await;
        org.finish(relay).await;
    }

    async fn a_job_that_the_org_has_forgotten_is_unknown_and_its_rows_are_sent_again(backend: Backend) {
        let org = Org::slow(backend, "").await;
        org.commit_many(20).await;
        let first = org.relay().await;
        org.looked_at(1).await;
        ended(first).await;
        org.mock.with(|org, _, _| org.forget_jobs());
        org.let_jobs_end();
        let second = org.relay().await;
        org.world.until(&[("delivered", 20)]).await;
        assert_eq!((org.attempts_like("unknown").await, org.attempts_like("accepted").await), (20, 20));
        org.finish(second).await;
    }

    async fn without_the_lease_a_job_gets_no_data(backend: Backend) {
        let org = Org::with(backend, TEN, |_| {}).await;
        let relay = org.relay().await;
        org.commit(&[("first", r#"{"name": "n"}"#)]).await;
        org.world.until(&[("delivered", 1)]).await;
        org.mock.hold();
        org.commit_many(20).await;
        org.world.until_number("select count(*) from aftercommit.dispatch", 1).await;
        org.world.base.execute("update aftercommit.lease set epoch = epoch + 1 where destination = 'org'").await;
        org.mock.release();
        org.world.until(&[("delivered", 21)]).await;
        let requests = org.requests();
        let of_jobs: Vec<&str> = requests
            .iter()
            .filter(|(request, _)| request.contains("/jobs/ingest") && !request.starts_with("GET"))
            .map(|(request, _)| request.split(' ').next().unwrap())
            .collect();
        assert_eq!(of_jobs[..2], ["POST", "PATCH"], "opened, and aborted at once: {requests:?}");
        org.finish(relay).await;
    }
}
