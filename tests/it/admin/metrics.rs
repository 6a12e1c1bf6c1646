//! `/metrics`: who may read it, what it says of the database, and what it says without one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use aftercommit::admin::{AdminSettings, Limits, Process};
use aftercommit::clock::Clock;
use aftercommit::core::delivery::Reason;
use aftercommit::core::limit::usage::Usage;
use aftercommit::relay::RelayMetrics;
use aftercommit::store::admin::{Actor, Role, TokenName, TokenText};
use aftercommit::store::{NotedUsage, Store as _};
use sqlx::{Connection as _, PgConnection};

use super::client::{Answer, Client, settings};
use super::world::{Backend, TTL, World, act, on_both};
use crate::scrape::Scrape;
use crate::store::world::relay;

/// A clock that stands still until the story moves it.
#[derive(Default)]
struct Hand(AtomicU64);

impl Clock for Hand {
    fn monotonic(&self) -> Duration {
        Duration::from_secs(self.0.load(Ordering::SeqCst))
    }
}

impl Hand {
    fn forward(&self, seconds: u64) {
        self.0.fetch_add(seconds, Ordering::SeqCst);
    }
}

async fn server(world: &World, limits: Limits) -> (Client, Arc<Hand>) {
    let clock = Arc::new(Hand::default());
    let process = Process {
        relay: relay(7),
        metrics: RelayMetrics::new(),
        clock: clock.clone(),
    };
    (
        Client::speaking_for(process, world, settings(), limits).await,
        clock,
    )
}

async fn scrape(client: &Client) -> Scrape {
    let answer: Answer = client.get("/metrics").await;
    assert_eq!(answer.status, 200);
    Scrape::read(answer.body())
}

on_both! {
    async fn metrics_want_the_token_unless_the_configuration_opens_them(backend: Backend) {
        let world = World::new(backend).await;
        let client = Client::of(&world).await;
        client.ask("GET /metrics HTTP/1.1\r\n").await.problem(401);
        let answer = client.get("/metrics").await;
        assert_eq!(answer.status, 200);
        assert_eq!(answer.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
        client.server.reload(AdminSettings { open_metrics: true, token: None, ..settings() });
        assert_eq!(client.ask("GET /metrics HTTP/1.1\r\n").await.status, 200);
        client.ask("GET /v1/status HTTP/1.1\r\n").await.problem(401);
    }

    async fn while_the_database_is_away_whoever_scraped_last_still_may_and_nobody_else(backend: Backend) {
        let world = World::new(backend).await;
        let client = Client::of(&world).await;
        let [first, second] = [[1; 32], [2; 32]].map(TokenText::of);
        for (name, text) in [("grafana", &first), ("prometheus", &second)] {
            let name: TokenName = name.parse().unwrap();
            let actor = Actor::new("tester".to_owned(), "here".to_owned());
            world.admin.create_token(&name, Role::Viewer, None, text, &actor).await.unwrap();
        }
        let ask = async |path: &str, text: &TokenText| {
            client.ask(&format!("GET {path} HTTP/1.1\r\nauthorization: Bearer {}\r\n", text.expose())).await
        };
        assert_eq!(ask("/metrics", &first).await.status, 200);
        assert_eq!(ask("/metrics", &second).await.status, 200);
        world.database.close().await;
        assert_eq!(ask("/metrics", &second).await.status, 200);
        ask("/metrics", &first).await.problem(503);
        ask("/v1/status", &second).await.problem(503);
        client.ask("GET /metrics HTTP/1.1\r\n").await.problem(401);
    }

    async fn what_the_database_says_is_told_by_destination_and_state(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 20).await;
        world.settle("crm", "outbox_id <= 5", Reason::Accepted).await;
        world.settle("crm", "outbox_id in (6, 7)", Reason::Refused).await;
        world.settle("crm", "outbox_id = 8", Reason::OutcomeUnknown).await;
        let (hour, minute) = match backend {
            Backend::Postgres => ("interval '1 hour'", "interval '1 minute'"),
            Backend::Sqlite => ("3600000000", "60000000"),
        };
        world.execute(&format!(
            "update aftercommit.owed set due_at = due_at + {hour}, owed_at = owed_at - {hour} where outbox_id = 20;
             update aftercommit.owed set owed_at = owed_at - {minute} where outbox_id = 19")).await;
        world.lease("crm").await;
        world.execute("insert into aftercommit.dispatch (relay, sequence, destination, shard, shards, epoch, rendering, entries)
            values ('r', 1, 'crm', 0, 1, 1, 1, '[[9,1,0],[10,1,0]]')").await;
        world.execute("insert into aftercommit.outbox (topic, row_key, op, payload) values ('stray', 'x', 'event', '{}')").await;
        world.admin.pause("hook", &[], &act()).await.unwrap();
        let heard_at = world.store.beat(&relay(7), TTL).await.unwrap().now;
        let usage = Usage { used: 20, allowed: 5_000, reserve: 250 };
        world.store.note_usage("crm", &NotedUsage { usage, heard_at }).await.unwrap();
        let client = Client::of(&world).await;
        client.server.reload(AdminSettings { destinations: vec!["crm".to_owned(), "new".to_owned()], ..settings() });

        let scrape = scrape(&client).await;
        let of = |name: &str, destination: &str, state: &str| {
            scrape.value(&format!("{name}{{destination=\"{destination}\",state=\"{state}\"}}"))
        };
        let owed = ["crm", "hook", "new"].map(|name| (of("owed", name, "due"), of("owed", name, "waiting")));
        assert_eq!(owed, [(11, 1), (19, 1), (0, 0)]);
        assert!((60..120).contains(&of("oldest_owed_age_seconds", "crm", "due")));
        assert!((3_600..3_660).contains(&of("oldest_owed_age_seconds", "crm", "waiting")));
        assert_eq!(of("oldest_owed_age_seconds", "new", "due"), 0);
        assert_eq!((of("trouble", "crm", "dead"), of("trouble", "crm", "uncertain")), (2, 1));
        let single = |name: &str, destination: &str| scrape.value(&format!("{name}{{destination=\"{destination}\"}}"));
        assert_eq!((single("in_flight", "crm"), single("in_flight", "hook")), (2, 0));
        assert_eq!((single("paused", "crm"), single("paused", "hook")), (0, 1));
        assert_eq!(single("failing", "crm"), 0);
        assert_eq!((single("receiver_calls_used", "crm"), single("receiver_calls_allowed", "crm")), (20, 5_000));
        assert_eq!((scrape.value("unrouted"), scrape.value("relays"), scrape.value("database_up")), (1, 2, 1));
        assert!(scrape.value("database_connections_max") >= scrape.value("database_connections{state=\"in_use\"}"));
        assert!(scrape.value("database_connections{state=\"idle\"}") > 0);
        assert_eq!(scrape.value(&format!("build_info{{version=\"{}\"}}", env!("CARGO_PKG_VERSION"))), 1);
        assert!(scrape.labels().is_subset(&["destination", "outcome", "state", "version", "le"].into()), "{scrape:?}");
    }

    async fn the_database_is_asked_once_in_five_seconds_however_often_somebody_scrapes(backend: Backend) {
        let world = World::new(backend).await;
        let (client, clock) = server(&world, Limits::default()).await;
        let owed = async || scrape(&client).await.value("owed{destination=\"hook\",state=\"due\"}");
        world.commit_orders(1, 3).await;
        assert_eq!(owed().await, 3);
        world.commit_orders(4, 4).await;
        clock.forward(4);
        assert_eq!(owed().await, 3);
        clock.forward(1);
        assert_eq!(owed().await, 7);
    }

    async fn without_its_database_the_process_tells_what_it_knows_itself(backend: Backend) {
        let world = World::new(backend).await;
        let (client, clock) = server(&world, Limits::default()).await;
        assert!(scrape(&client).await.has("owed"));
        world.database.close().await;
        clock.forward(5);
        let scrape = scrape(&client).await;
        assert_eq!(scrape.value("database_up"), 0);
        assert!(scrape.has("leases") && scrape.has("build_info") && scrape.has("database_connections"));
        assert!(!scrape.has("owed") && !scrape.has("relays"), "what it said before is no longer true");
    }
}

#[tokio::test]
async fn a_scrape_does_not_wait_for_a_database_that_says_nothing_and_tells_the_last_it_heard_for_half_a_minute()
 {
    let world = World::new(Backend::Postgres).await;
    let limits = Limits {
        gauges_timeout: Duration::from_millis(20),
        ..Limits::default()
    };
    let (client, clock) = server(&world, limits).await;
    world.commit_orders(1, 3).await;
    // The first answer may come too late for the first scrape.
    while !scrape(&client).await.has("owed") {}
    let mut blocker: PgConnection = PgConnection::connect(&world.url).await.unwrap();
    let lock = "begin; lock table aftercommit.owed in access exclusive mode";
    sqlx::raw_sql(lock).execute(&mut blocker).await.unwrap();
    clock.forward(5);
    assert_eq!(
        scrape(&client)
            .await
            .value("owed{destination=\"hook\",state=\"due\"}"),
        3
    );
    clock.forward(30);
    let silent = scrape(&client).await;
    assert!(silent.value("database_up") == 0 && !silent.has("owed"));
    sqlx::raw_sql("rollback").execute(&mut blocker).await.unwrap();
    while !scrape(&client).await.has("owed") {}
}
