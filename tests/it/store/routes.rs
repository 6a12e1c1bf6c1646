//! Applying a configuration, rows without a route, and backfill.

use aftercommit::core::row::TopicKind::{Event, State};
use aftercommit::store::{Backfill, Fetched, Route, SqlStore, Store as _, StoreError};
use tokio::task::JoinSet;

use super::draft::under;
use super::world::{
    Backend, End, FetchedIds as _, LIMITS, World, connect, event, on_both, plan, relay, shard, upsert,
};

const UNROUTED: &str = "select count(*) from aftercommit.owed where destination = ''";

on_both! {
    async fn the_configuration_is_applied_and_its_changes_are_told(backend: Backend) {
        let world = World::migrated(backend).await;
        let topics = [("orders", Event), ("customers", State)];
        let first = world.store.apply(plan(&topics, &[("orders", "hook"), ("customers", "crm")])).await.unwrap();
        assert_eq!((first.added.len(), first.removed.len()), (2, 0));

        let second = world.store.apply(plan(&topics, &[("orders", "hook"), ("orders", "crm")])).await.unwrap();
        assert_eq!(second.added, [route("orders", "crm")]);
        assert_eq!(second.removed, [route("customers", "crm")]);

        let again = world.store.apply(plan(&topics, &[("orders", "hook"), ("orders", "crm")])).await.unwrap();
        assert_eq!((again.added.len(), again.removed.len()), (0, 0));
    }

    async fn a_topic_that_has_rows_keeps_its_kind(backend: Backend) {
        let world = World::routed(backend).await;
        world.apply(&[("orders", State)], &[("orders", "hook")]).await;
        world.apply(&[("orders", Event)], &[("orders", "hook")]).await;
        world.commit(&["7"]).await;
        let refused = world.store.apply(plan(&[("a new one", Event), ("orders", State)], &[])).await.unwrap_err();
        assert!(refused.to_string().contains("the topic `orders` already holds rows"), "{refused}");
        assert_eq!(world.number("select count(*) from aftercommit.route").await, 1, "nothing of it was applied");
        assert_eq!(world.number("select count(*) from aftercommit.topic").await, 1);
    }

    async fn the_limit_of_payloads_reaches_every_topic(backend: Backend) {
        let world = World::routed(backend).await;
        world.commit_rows(&[upsert("7", 1, "1")]).await;
        let mut smaller = plan(&[("orders", Event)], &[("orders", "hook")]);
        smaller.max_payload_bytes = 5;
        world.store.apply(smaller).await.unwrap();
        let error = world.enqueue(&upsert("8", 1, "123456"), End::Rollback).await.unwrap_err();
        assert!(matches!(&error, StoreError::Refused(objection) if objection.problem.contains("payload")), "{error}");
    }

    async fn the_namespace_changes_only_while_nothing_is_written(backend: Backend) {
        let world = World::routed(backend).await;
        let mut named = plan(&[("orders", Event)], &[("orders", "hook")]);
        named.namespace = Some("first".to_owned());
        world.store.apply(named.clone()).await.unwrap();
        assert_eq!(world.store.namespace().await.unwrap(), "first");

        world.commit(&["7"]).await;
        world.store.apply(named.clone()).await.unwrap();
        named.namespace = Some("second".to_owned());
        let refused = world.store.apply(named).await.unwrap_err();
        assert!(refused.to_string().contains("`first`"), "{refused}");
        assert_eq!(world.store.namespace().await.unwrap(), "first");
    }

    async fn a_destination_without_a_route_keeps_its_debts(backend: Backend) {
        let world = World::routed(backend).await;
        world.commit(&["7"]).await;
        world.apply(&[("orders", Event)], &[]).await;
        assert_eq!(world.owed().await.owed.len(), 1);
    }

    async fn rows_without_a_route_wait_for_one(backend: Backend) {
        let world = World::migrated(backend).await;
        world.commit_many(5).await;
        world.commit_rows(&[upsert("7", 1, "1")]).await;
        assert_eq!(world.store.route_unrouted(100).await.unwrap(), 0);
        assert_eq!(world.number(UNROUTED).await, 6);

        world.apply(&[], &[("orders", "hook"), ("orders", "crm")]).await;
        assert_eq!(world.store.route_unrouted(2).await.unwrap(), 2);
        assert_eq!(world.store.route_unrouted(100).await.unwrap(), 3);
        assert_eq!(world.store.route_unrouted(100).await.unwrap(), 0);
        assert_eq!(world.number(UNROUTED).await, 1, "a topic without a route still waits");
        assert_eq!(world.owed().await.ids(), [1, 2, 3, 4, 5]);
        let crm = world.store.fetch(&shard("crm", 0, 1), 0, LIMITS).await.unwrap();
        assert_eq!(crm.ids(), [1, 2, 3, 4, 5]);
    }

    async fn a_row_that_was_without_a_route_is_owed_from_now_on(backend: Backend) {
        let world = World::migrated(backend).await;
        world.commit(&["7"]).await;
        let long_ago = match backend {
            Backend::Postgres => "update aftercommit.owed set owed_at = owed_at - interval '30 days'",
            Backend::Sqlite => "update aftercommit.owed set owed_at = owed_at - 30 * 86400 * 1000000",
        };
        world.execute(long_ago).await;
        world.apply(&[], &[("orders", "hook")]).await;
        world.store.route_unrouted(100).await.unwrap();
        let fetched = world.owed().await;
        assert!(fetched.now.since(fetched.owed[0].owed_at).as_secs() < 60);
    }

    async fn two_sweeps_at_once_lose_nothing(backend: Backend) {
        let world = World::migrated(backend).await;
        world.commit_many(300).await;
        world.apply(&[], &[("orders", "hook"), ("orders", "crm")]).await;
        let mut sweeps = JoinSet::new();
        for _ in 0..4 {
            let store = SqlStore::new(connect(&world.url));
            sweeps.spawn(async move {
                let mut moved = 0;
                loop {
                    match store.route_unrouted(7).await.unwrap() {
                        0 => break moved,
                        some => moved += some,
                    }
                }
            });
        }
        let moved: u64 = sweeps.join_all().await.into_iter().sum();
        assert_eq!(moved, 300, "each row is moved by one sweep");
        assert_eq!(world.number(UNROUTED).await, 0);
        assert_eq!(world.number("select count(*) from aftercommit.owed").await, 600);
    }

    async fn a_sweep_does_not_send_again_what_a_backfill_has_delivered(backend: Backend) {
        let world = World::migrated(backend).await;
        world.commit_many(2).await;
        world.apply(&[], &[("orders", "hook")]).await;
        assert_eq!(world.store.backfill(&route("orders", "hook"), Backfill::All).await.unwrap(), 2);
        let lease = world.lease(relay(1)).await;
        under(&lease).success(1, 1).commit(&world.store).await;
        assert_eq!(world.store.route_unrouted(100).await.unwrap(), 2);
        assert_eq!(world.owed().await.ids(), [2]);
        assert_eq!(world.state(1).await, "delivered accepted");
    }

    async fn a_backfill_brings_what_was_there_before_the_route(backend: Backend) {
        let world = World::migrated(backend).await;
        world.apply(&[("customers", State)], &[("customers", "crm")]).await;
        for (version, payload) in [(1, "1"), (2, "2")] {
            world.commit_rows(&[upsert("7", version, payload), upsert("8", version, payload)]).await;
        }
        world.commit_rows(&[event("other")]).await;
        assert_eq!(
            world.store.backfill(&route("customers", "hook"), Backfill::All).await.unwrap(),
            0,
            "there is no such route yet"
        );
        world.apply(&[], &[("customers", "crm"), ("customers", "hook")]).await;
        assert_eq!(world.store.backfill(&route("customers", "hook"), Backfill::Newest).await.unwrap(), 2);
        assert_eq!(payloads(&world.owed().await), ["2", "2"]);
        assert_eq!(world.store.backfill(&route("customers", "hook"), Backfill::All).await.unwrap(), 2);
        assert_eq!(world.store.backfill(&route("customers", "hook"), Backfill::All).await.unwrap(), 0);
        assert_eq!(payloads(&world.owed().await), ["1", "1", "2", "2"]);
    }
}

fn payloads(fetched: &Fetched) -> Vec<&str> {
    fetched.owed.iter().map(|owed| &*owed.row.payload).collect()
}

fn route(topic: &str, destination: &str) -> Route {
    Route {
        topic: topic.to_owned(),
        destination: destination.to_owned(),
    }
}
