//! Replays: exact, once for each request, resumable, and never a delivery lost between two tables.

use std::collections::BTreeSet;

use aftercommit::core::delivery::{Reason, State};
use aftercommit::store::Store as _;
use aftercommit::store::admin::{
    AdminError, Counted, Created, DeliveryFilter, KeyMode, Replay, ReplayRequest, ReplayState, RequestKey,
    Selection, StaleRows,
};

use super::world::{Backend, World, act, connect, finish, id, new, on_both, settle_owed};

fn request(selection: Selection) -> ReplayRequest {
    ReplayRequest {
        selection: selection.into(),
        key: KeyMode::Same,
        stale: StaleRows::Skip,
        rate: None,
    }
}

fn of(states: &[State]) -> ReplayRequest {
    request(Selection::Filter(DeliveryFilter {
        states: states.to_vec(),
        ..Default::default()
    }))
}

async fn start(world: &World, request: &ReplayRequest) -> Replay {
    new(world.admin.create_replay(request, None, &act()).await.unwrap())
}

on_both! {
    async fn a_replay_of_12345_rows_makes_exactly_12345_due_again(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 13_000).await;
        world.settle("crm", "outbox_id <= 12345", Reason::Refused).await;
        world.settle("crm", "outbox_id > 12345", Reason::Accepted).await;

        let dry = world.admin.dry_run(&of(&[State::Dead])).await.unwrap();
        assert_eq!((dry.matched, dry.requeued, dry.by_state["dead"], dry.sample.len()), (12_345, 12_345, 12_345, 10));

        let replay = start(&world, &of(&[State::Dead])).await;
        finish(&world, 1_000).await;

        let done = world.admin.replay(replay.id).await.unwrap();
        assert_eq!((done.state, done.requeued, done.left_alone, done.skipped), (ReplayState::Done, 12_345, 0, 0));
        assert!(done.finished_at.is_some());
        let owed = "select count(*) from aftercommit.owed where destination = 'crm'";
        assert_eq!(world.number(owed).await, 12_345);
        world.assert_none_lost(26_000).await;
    }

    async fn a_replay_under_the_same_key_sends_the_same_bytes_with_a_fresh_budget(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 2).await;
        world.settle("crm", "true", Reason::AttemptsExhausted).await;
        let before = world.admin.delivery(&id(1, "crm")).await.unwrap();

        start(&world, &request(Selection::Ids(vec![id(1, "crm")]))).await;
        let renewed = ReplayRequest { key: KeyMode::New, ..request(Selection::Ids(vec![id(2, "crm")])) };
        start(&world, &renewed).await;
        finish(&world, 10).await;

        let facts = |id| format!(
            "select attempts || ' ' || excused || ' ' || key_epoch || ' ' || coalesce(cast(rendering as text), 'none')
             from aftercommit.owed where destination = 'crm' and outbox_id = {id}"
        );
        assert_eq!(world.text(&facts(1)).await, "3 3 0 7");
        assert_eq!(world.text(&facts(2)).await, "3 3 1 none");
        let after = world.admin.delivery(&id(1, "crm")).await.unwrap();
        assert_eq!(after.idempotency_key, before.idempotency_key);
        assert_eq!(after.delivery.state, State::Pending);
    }

    async fn what_is_still_owed_is_left_alone_and_counted(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 10).await;
        world.settle("crm", "outbox_id <= 4", Reason::Accepted).await;
        let all_of_crm = DeliveryFilter { destination: Some("crm".to_owned()), ..Default::default() };
        let wanted = request(Selection::Filter(all_of_crm));
        let dry = world.admin.dry_run(&wanted).await.unwrap();
        assert_eq!((dry.matched, dry.requeued, dry.left_alone), (10, 4, 6));
        let replay = start(&world, &wanted).await;
        finish(&world, 3).await;
        let done = world.admin.replay(replay.id).await.unwrap();
        assert_eq!((done.requeued, done.left_alone), (4, 6));
        world.assert_none_lost(20).await;
    }

    async fn rows_that_were_written_after_the_request_are_not_its_concern(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 5).await;
        world.settle("crm", "true", Reason::Refused).await;
        let replay = start(&world, &of(&[State::Dead])).await;
        world.commit_orders(6, 5).await;
        world.settle("crm", "true", Reason::Refused).await;
        finish(&world, 2).await;
        assert_eq!(world.admin.replay(replay.id).await.unwrap().requeued, 5);
        assert_eq!(world.state(6, "crm").await, State::Dead);
    }

    async fn an_older_version_stays_where_a_newer_one_is_owed_or_was_delivered(backend: Backend) {
        let world = World::new(backend).await;
        let versions = [world.commit_account("delivered", 1).await, world.commit_account("owed", 1).await,
            world.commit_account("dead", 1).await, world.commit_account("superseded", 1).await];
        world.settle("crm", "outbox_id < 4", Reason::Refused).await;
        world.settle("crm", "outbox_id = 4", Reason::NewerVersion).await;
        for key in ["delivered", "owed", "dead"] {
            let newer = world.commit_account(key, 2).await;
            match key {
                "delivered" => world.settle("crm", &format!("outbox_id = {newer}"), Reason::Accepted).await,
                "dead" => world.settle("crm", &format!("outbox_id = {newer}"), Reason::Refused).await,
                _ => {}
            }
        }
        let old = Selection::Ids(versions.map(|version| id(version, "crm")).to_vec());

        let dry = world.admin.dry_run(&request(old.clone())).await.unwrap();
        assert_eq!((dry.requeued, dry.skipped), (1, 3));
        let replay = start(&world, &request(old.clone())).await;
        finish(&world, 10).await;
        let done = world.admin.replay(replay.id).await.unwrap();
        assert_eq!((done.requeued, done.skipped), (1, 3));
        assert_eq!(world.state(versions[2], "crm").await, State::Pending);

        let forced = start(&world, &ReplayRequest { stale: StaleRows::Force, ..request(old) }).await;
        finish(&world, 10).await;
        let done = world.admin.replay(forced.id).await.unwrap();
        assert_eq!((done.requeued, done.left_alone, done.skipped), (3, 1, 0));
    }

    async fn an_event_is_sent_again_though_a_later_one_of_its_row_key_was_delivered(backend: Backend) {
        let world = World::new(backend).await;
        for version in [1, 2] {
            world.execute(&format!(
                "insert into aftercommit.outbox (topic, row_key, row_version, op, payload) values ('orders', 'one', {version}, 'event', '{{}}')"
            )).await;
        }
        let newest = world.number("select max(id) from aftercommit.outbox").await;
        world.settle("crm", &format!("outbox_id < {newest}"), Reason::Refused).await;
        world.settle("crm", "true", Reason::Accepted).await;
        let replay = start(&world, &of(&[State::Dead])).await;
        finish(&world, 10).await;
        let done = world.admin.replay(replay.id).await.unwrap();
        assert_eq!((done.requeued, done.skipped), (1, 0));
    }

    async fn a_version_that_is_replayed_without_force_is_guarded_against_newer_ones(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 1).await;
        let (skipping, forced) = (world.commit_account("a", 1).await, world.commit_account("b", 1).await);
        world.settle("crm", "true", Reason::Accepted).await;
        start(&world, &request(Selection::Ids(vec![id(1, "crm"), id(skipping, "crm")]))).await;
        let by_force = ReplayRequest { stale: StaleRows::Force, ..request(Selection::Ids(vec![id(forced, "crm")])) };
        start(&world, &by_force).await;
        finish(&world, 10).await;
        let owed = "select count(*) from aftercommit.owed where destination = 'crm'";
        assert_eq!(world.number(owed).await, 3);
        let guarded = "select sum(outbox_id) from aftercommit.owed where guarded";
        assert_eq!(world.number(guarded).await, skipping, "an event overwrites nothing, and force is force");
    }

    async fn the_newest_version_is_sent_again_whatever_became_of_older_ones(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_account("one", 1).await;
        world.settle("crm", "true", Reason::Accepted).await;
        let newest = world.commit_account("one", 2).await;
        world.settle("crm", "true", Reason::Refused).await;
        start(&world, &of(&[State::Dead])).await;
        finish(&world, 10).await;
        assert_eq!(world.state(newest, "crm").await, State::Pending);
    }

    async fn a_destination_that_was_removed_can_be_replayed_and_holds_its_debts(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 3).await;
        world.settle("hook", "true", Reason::Refused).await;
        world.execute("delete from aftercommit.route where destination = 'hook'").await;
        start(&world, &of(&[State::Dead])).await;
        finish(&world, 10).await;
        assert_eq!(world.state(2, "hook").await, State::Pending);
        let status = world.admin.status(&[]).await.unwrap();
        assert!(status.destinations.iter().any(|one| one.name == "hook" && one.owed == 3 && !one.configured));
    }

    async fn one_request_that_is_sent_twice_at_once_makes_one_job(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 3).await;
        world.settle("crm", "true", Reason::Refused).await;
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..8 {
            let admin = world.admin.clone();
            tasks.spawn(async move {
                let key = RequestKey::new("monday").unwrap();
                admin.create_replay(&of(&[State::Dead]), Some(&key), &act()).await.unwrap()
            });
        }
        let (mut new, mut existing) = (vec![], BTreeSet::new());
        for created in tasks.join_all().await {
            match created {
                Created::New(replay) => new.push(replay.id),
                Created::Existing(replay) => { existing.insert(replay.id); }
                Created::Conflict(_) => panic!("the requests are the same"),
            }
        }
        // Who lost the race may have used up a number.
        let [id] = *new else { panic!("{new:?} are new") };
        assert_eq!(existing, BTreeSet::from([id]));
        let key = RequestKey::new("monday").unwrap();
        let other = world.admin.create_replay(&of(&[State::Delivered]), Some(&key), &act()).await.unwrap();
        assert_eq!(other, Created::Conflict(id));
        assert_eq!(world.number("select count(*) from aftercommit.audit where action = 'replay'").await, 1);
    }

    async fn a_request_must_narrow_down_what_it_means(backend: Backend) {
        let world = World::new(backend).await;
        let refused = |selection| {
            let (admin, request) = (world.admin.clone(), request(selection));
            async move { admin.create_replay(&request, None, &act()).await.unwrap_err() }
        };
        assert!(matches!(refused(Selection::Filter(DeliveryFilter::default())).await, AdminError::SelectsAll));
        assert!(matches!(refused(Selection::Ids(vec![])).await, AdminError::SelectsAll));
        let many = Selection::Ids((0..10_001).map(|number| id(number, "crm")).collect());
        assert!(matches!(refused(many).await, AdminError::TooManyIds(10_001)));
        let pending = of(&[State::Pending]);
        assert!(matches!(world.admin.create_replay(&pending, None, &act()).await, Err(AdminError::OnlyPending)));
        assert_eq!(start(&world, &request(Selection::All)).await.state, ReplayState::Running);
    }

    async fn a_replay_that_was_stopped_half_way_goes_on_where_it_stood(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 1_000).await;
        world.settle("crm", "outbox_id <= 777", Reason::Refused).await;
        let replay = start(&world, &of(&[State::Dead])).await;
        for _ in 0..3 {
            world.store.advance_replays(100).await.unwrap();
        }
        // What a crash leaves: the database, and nothing of the process.
        let database = connect(&world.url);
        let after = aftercommit::store::SqlStore::new(database);
        let mut looked_at = 300;
        loop {
            match after.advance_replays(100).await.unwrap().looked_at {
                0 => break,
                count => looked_at += count,
            }
        }
        let done = world.admin.replay(replay.id).await.unwrap();
        assert_eq!((looked_at, done.requeued, done.state), (777, 777, ReplayState::Done));
    }

    async fn a_replay_tells_what_became_of_deliveries_that_it_names_and_what_is_left_within_its_filter(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 20).await;
        world.settle("crm", "outbox_id <= 10", Reason::Refused).await;
        world.settle("crm", "outbox_id = 11", Reason::OutcomeUnknown).await;
        let named = start(&world, &request(Selection::Ids((1..=4).map(|row| id(row, "crm")).collect()))).await;
        let filter = DeliveryFilter { destination: Some("crm".to_owned()), states: vec![State::Dead], ..Default::default() };
        let within = start(&world, &request(Selection::Filter(filter))).await;
        finish(&world, 100).await;
        // What was written later is not its concern, nor what ended before it was asked for.
        world.commit_orders(21, 30).await;
        world.settle("crm", "outbox_id in (1, 5)", Reason::Refused).await;
        world.settle("crm", "outbox_id in (2, 6)", Reason::Accepted).await;
        world.settle("crm", "outbox_id = 7", Reason::WindowPassed).await;

        let states = world.admin.replay_states(named.id).await.unwrap();
        assert_eq!((states.counted, states.exact), (Counted::Named, true));
        let of = |word: &str| states.by_state[word];
        assert_eq!((of("pending"), of("delivered"), of("dead"), of("uncertain")), (2, 1, 1, 0));
        let states = world.admin.replay_states(within.id).await.unwrap();
        assert_eq!((states.counted, states.exact), (Counted::Within, true));
        // 3, 4, 8 to 10, and 12 to 20, which were owed all along.
        let expected = [("dead", 2), ("pending", 14), ("uncertain", 1)];
        assert_eq!(states.by_state, expected.into());
        assert!(matches!(world.admin.replay_states(99).await, Err(AdminError::UnknownReplay(99))));
    }

    async fn what_is_left_of_a_replay_is_counted_up_to_a_bound(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 5_001).await;
        let all = start(&world, &request(Selection::All)).await;
        let states = world.admin.replay_states(all.id).await.unwrap();
        assert!(!states.exact, "{states:?}");
        assert_eq!(states.by_state["pending"], 5_000);
    }

    async fn a_cancelled_replay_does_nothing_more(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 100).await;
        world.settle("crm", "true", Reason::Refused).await;
        let replay = start(&world, &of(&[State::Dead])).await;
        world.store.advance_replays(30).await.unwrap();
        let cancelled = world.admin.cancel_replay(replay.id, &act()).await.unwrap();
        assert_eq!((cancelled.state, cancelled.requeued), (ReplayState::Cancelled, 30));
        assert_eq!(finish(&world, 30).await, 0);
        assert_eq!(world.admin.cancel_replay(replay.id, &act()).await.unwrap(), cancelled);
        assert!(matches!(world.admin.replay(99).await, Err(AdminError::UnknownReplay(99))));
    }

    /// Two relays think that they keep house.
    async fn two_workers_at_once_do_no_delivery_twice(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 2_000).await;
        world.settle("crm", "true", Reason::Refused).await;
        let request = ReplayRequest { key: KeyMode::New, ..of(&[State::Dead]) };
        let replay = start(&world, &request).await;
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..4 {
            let store = world.store.clone();
            tasks.spawn(async move { while store.advance_replays(50).await.unwrap().looked_at > 0 {} });
        }
        tasks.join_all().await;
        let done = world.admin.replay(replay.id).await.unwrap();
        assert_eq!((done.requeued, done.left_alone), (2_000, 0));
        assert_eq!(world.number("select max(key_epoch) from aftercommit.owed").await, 1);
    }

    async fn replays_and_settles_from_eight_tasks_lose_nothing(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 400).await;
        let lease = world.lease("crm").await;
        let mut tasks = tokio::task::JoinSet::new();
        for part in 0..4 {
            let (store, lease) = (world.store.clone(), lease.clone());
            tasks.spawn(async move {
                for round in 0..12 {
                    let first = (part * 100 + round * 70) % 400;
                    settle_owed(&store, &lease, first, first + 120).await;
                }
            });
            let (store, admin) = (world.store.clone(), world.admin.clone());
            tasks.spawn(async move {
                for _ in 0..3 {
                    admin.create_replay(&of(&[State::Delivered]), None, &act()).await.unwrap();
                    while store.advance_replays(64).await.unwrap().looked_at > 0 {}
                }
            });
        }
        tasks.join_all().await;
        world.assert_none_lost(800).await;
        assert!(world.number("select sum(requeued) from aftercommit.replay").await > 0);
    }
}
