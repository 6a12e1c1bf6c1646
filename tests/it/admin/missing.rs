//! Rows that a destination never had: exactly those, once, whatever the size and whatever is killed on the way.

use aftercommit::core::delivery::Reason;
use aftercommit::store::admin::{
    AdminError, KeyMode, MissingRows, Replay, ReplayRate, ReplayRequest, ReplayState, StaleRows,
};
use aftercommit::store::{Backfill, SqlStore, Store as _};

use super::world::{Backend, World, act, connect, finish, id, new, on_both};

/// The newest versions that a destination never had.
pub(super) fn missing_at(destination: &str) -> MissingRows {
    MissingRows {
        destination: destination.to_owned(),
        topic: None,
        row_key: None,
        since: None,
        until: None,
        first_outbox_id: None,
        last_outbox_id: None,
        versions: Backfill::Newest,
    }
}

/// A replay of these, as fast as it goes.
pub(super) fn request(missing: MissingRows) -> ReplayRequest {
    ReplayRequest {
        selection: missing.into(),
        key: KeyMode::Same,
        stale: StaleRows::Skip,
        rate: None,
    }
}

/// The orders are routed to `erp` from now on; what was written before never went there.
async fn route_to_erp(world: &World) {
    world
        .execute("insert into aftercommit.route (topic, destination) values ('orders', 'erp'), ('accounts', 'erp')")
        .await;
}

async fn finish_missing(world: &World, missing: MissingRows) -> Replay {
    let created = world
        .admin
        .create_replay(&request(missing), None, &act())
        .await
        .unwrap();
    let replay = new(created);
    finish(world, 100).await;
    world.admin.replay(replay.id).await.unwrap()
}

const OWED: &str = "select count(*) from aftercommit.owed where destination = 'erp'";

on_both! {
    async fn a_rate_is_that_of_what_becomes_due_and_not_of_what_is_looked_at(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 50).await;
        route_to_erp(&world).await;
        finish_missing(&world, missing_at("erp")).await;
        world.execute("delete from aftercommit.owed where destination = 'erp' and outbox_id in (45, 46, 47)").await;
        let slow = ReplayRequest { rate: ReplayRate::per_second(2), ..request(missing_at("erp")) };
        let id = new(world.admin.create_replay(&slow, None, &act()).await.unwrap()).id;
        let step = world.store.advance_replays(100).await.unwrap();
        let replay = world.admin.replay(id).await.unwrap();
        assert_eq!((step.looked_at, replay.requeued, replay.at_outbox_id), (50, 2, 46), "a second's worth at once");
        assert!(world.store.advance_replays(100).await.unwrap().next_in.is_some());
        world.execute("update aftercommit.replay set next_step_at = now()").await;
        while world.store.advance_replays(100).await.unwrap().looked_at > 0 {}
        let replay = world.admin.replay(id).await.unwrap();
        assert_eq!((replay.state, replay.requeued), (ReplayState::Done, 3));
    }

    async fn a_new_destination_gets_12345_rows_once_though_the_work_stops_half_way(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 12_345).await;
        route_to_erp(&world).await;
        let dry = world.admin.dry_run(&request(missing_at("erp"))).await.unwrap();
        assert_eq!((dry.matched, dry.requeued, dry.by_state["missing"], dry.sample.len()), (12_345, 12_345, 12_345, 10));
        assert_eq!(world.number(OWED).await, 0, "a dry run writes nothing");

        let created = world.admin.create_replay(&request(missing_at("erp")), None, &act()).await.unwrap();
        let job = new(created).id;
        for _ in 0..6 {
            world.store.advance_replays(1_000).await.unwrap();
        }
        assert_eq!(world.number(OWED).await, 6_000);
        // What a crash leaves: the database, and nothing of the process.
        let after = SqlStore::new(connect(&world.url));
        while after.advance_replays(1_000).await.unwrap().looked_at > 0 {}

        let done = world.admin.replay(job).await.unwrap();
        assert_eq!((done.state, done.requeued, done.left_alone), (ReplayState::Done, 12_345, 0));
        assert_eq!(world.number(OWED).await, 12_345);
        assert_eq!(finish_missing(&world, missing_at("erp")).await.requeued, 0, "again is free");
        world.assert_none_lost(3 * 12_345).await;
    }

    async fn what_is_owed_or_has_ended_or_waits_for_any_route_is_not_missing(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 4).await;
        world.execute("insert into aftercommit.outbox (topic, row_key, op, payload) values ('late', '1', 'event', '{}')").await;
        route_to_erp(&world).await;
        world.execute("insert into aftercommit.route (topic, destination) values ('late', 'erp')").await;
        world.execute("insert into aftercommit.owed (destination, outbox_id) values ('erp', 1)").await;
        world.execute(
            "insert into aftercommit.settled (outbox_id, destination, state, reason, attempts, key_epoch)
             values (2, 'erp', 'dead', 'refused', 1, 0)"
        ).await;
        let done = finish_missing(&world, missing_at("erp")).await;
        assert_eq!((done.requeued, done.left_alone), (2, 0));
        assert_eq!(world.text("select state from aftercommit.delivery where outbox_id = 2 and destination = 'erp'").await, "dead");
        assert_eq!(world.number("select count(*) from aftercommit.owed where destination = ''").await, 1);
    }

    async fn of_a_state_row_the_newest_version_counts_unless_every_one_is_asked_for(backend: Backend) {
        let world = World::new(backend).await;
        for (row_key, version) in [("a", 1), ("a", 2), ("b", 1)] {
            world.commit_account(row_key, version).await;
        }
        route_to_erp(&world).await;
        let every = MissingRows { versions: Backfill::All, ..missing_at("erp") };
        assert_eq!(world.admin.dry_run(&request(every.clone())).await.unwrap().requeued, 3);
        assert_eq!(finish_missing(&world, missing_at("erp")).await.requeued, 2);
        let guarded = "select count(*) from aftercommit.owed where destination = 'erp' and outbox_id > 1 and guarded";
        assert_eq!(world.number(guarded).await, 2, "a newer version can still come in between");
        let older = finish_missing(&world, every.clone()).await;
        assert_eq!((older.requeued, older.skipped), (0, 1), "a newer one is owed there");
        let created = world.admin.create_replay(
            &ReplayRequest { stale: StaleRows::Force, ..request(every) }, None, &act()
        ).await.unwrap();
        finish(&world, 1).await;
        assert_eq!(world.admin.replay(new(created).id).await.unwrap().requeued, 1);
    }

    async fn missing_rows_are_found_by_topic_row_key_time_and_id(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 5).await;
        world.commit_account("order-2", 1).await;
        route_to_erp(&world).await;
        let written = world.admin.delivery(&id(3, "crm")).await.unwrap().delivery.created_at;
        let narrowed = [
            (MissingRows { topic: Some("accounts".to_owned()), ..missing_at("erp") }, 1),
            (MissingRows { row_key: Some("order-2".to_owned()), ..missing_at("erp") }, 2),
            (MissingRows { row_key: Some("order-2".to_owned()), topic: Some("orders".to_owned()), ..missing_at("erp") }, 1),
            (MissingRows { first_outbox_id: Some(2), last_outbox_id: Some(4), ..missing_at("erp") }, 3),
            (MissingRows { until: Some(written), ..missing_at("erp") }, 0),
            (MissingRows { row_key: Some("nobody".to_owned()), ..missing_at("erp") }, 0),
        ];
        for (missing, expected) in narrowed {
            let dry = world.admin.dry_run(&request(missing.clone())).await.unwrap();
            assert_eq!(dry.requeued, expected, "{missing:?}");
        }
        let since = MissingRows { since: Some(written), ..missing_at("erp") };
        assert!(world.admin.dry_run(&request(since)).await.unwrap().requeued >= 3);
    }

    async fn where_no_route_leads_nothing_can_be_missing_and_the_request_says_so(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 1).await;
        let nowhere = world.admin.dry_run(&request(missing_at("erp"))).await.unwrap_err();
        assert!(nowhere.to_string().starts_with("no topic is routed to `erp`"), "{nowhere}");
        let elsewhere = MissingRows { topic: Some("accounts".to_owned()), ..missing_at("hook") };
        let refused = world.admin.create_replay(&request(elsewhere), None, &act()).await;
        assert!(matches!(refused, Err(AdminError::NoRoute { topic: Some(_), .. })));
        // Rows of other topics are nothing to a destination that they are not routed to.
        world.commit_account("one", 1).await;
        world.execute("delete from aftercommit.owed where destination = 'hook'").await;
        assert_eq!(finish_missing(&world, missing_at("hook")).await.requeued, 1);
    }

    /// Two people ask for the same, and two relays think that they keep house.
    async fn two_jobs_of_the_same_rows_at_once_owe_none_twice(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 2_000).await;
        route_to_erp(&world).await;
        let mut jobs = vec![];
        for _ in 0..2 {
            let created = world.admin.create_replay(&request(missing_at("erp")), None, &act()).await.unwrap();
            jobs.push(new(created).id);
        }
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..4 {
            let store = world.store.clone();
            tasks.spawn(async move { while store.advance_replays(50).await.unwrap().looked_at > 0 {} });
        }
        tasks.join_all().await;
        let mut requeued = 0;
        for job in jobs {
            requeued += world.admin.replay(job).await.unwrap().requeued;
        }
        assert_eq!((requeued, world.number(OWED).await), (2_000, 2_000));
    }

    async fn what_is_missing_since_the_request_is_not_its_concern(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 3).await;
        route_to_erp(&world).await;
        let job = new(world.admin.create_replay(&request(missing_at("erp")), None, &act()).await.unwrap()).id;
        world.commit_orders(4, 2).await;
        world.execute("delete from aftercommit.owed where destination = 'erp'").await;
        finish(&world, 2).await;
        assert_eq!(world.admin.replay(job).await.unwrap().requeued, 3);
    }

    async fn an_event_is_not_guarded_nor_is_a_version_that_is_forced(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 1).await;
        world.commit_account("one", 1).await;
        route_to_erp(&world).await;
        let topic = |topic: &str| MissingRows { topic: Some(topic.to_owned()), ..missing_at("erp") };
        assert_eq!(finish_missing(&world, topic("orders")).await.requeued, 1);
        let forced = ReplayRequest { stale: StaleRows::Force, ..request(topic("accounts")) };
        world.admin.create_replay(&forced, None, &act()).await.unwrap();
        finish(&world, 10).await;
        assert_eq!(world.number(OWED).await, 2);
        let guarded = "select count(*) from aftercommit.owed where destination = 'erp' and guarded";
        assert_eq!(world.number(guarded).await, 0);
    }

    async fn a_new_key_is_asked_for_by_its_epoch(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 1).await;
        route_to_erp(&world).await;
        let renewed = ReplayRequest { key: KeyMode::New, ..request(missing_at("erp")) };
        world.admin.create_replay(&renewed, None, &act()).await.unwrap();
        finish(&world, 10).await;
        assert_eq!(world.number("select key_epoch from aftercommit.owed where destination = 'erp'").await, 1);
        world.settle("erp", "true", Reason::Accepted).await;
        world.assert_none_lost(3).await;
    }
}
