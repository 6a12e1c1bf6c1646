//! Replays under way: their rate, a pause, their list, and what they leave alone.

use std::time::Duration;

use aftercommit::core::delivery::{Reason, State};
use aftercommit::store::Store as _;
use aftercommit::store::admin::{
    DeliveryFilter, KeyMode, PageSize, ReplayRate, ReplayRequest, ReplayState, Selection, StaleRows,
};

use super::world::{Backend, World, act, finish, new, on_both};

fn of(state: State, rate: Option<u32>) -> ReplayRequest {
    let filter = DeliveryFilter {
        states: vec![state],
        ..DeliveryFilter::default()
    };
    ReplayRequest {
        selection: Selection::Filter(filter).into(),
        key: KeyMode::Same,
        stale: StaleRows::Skip,
        rate: rate.and_then(ReplayRate::per_second),
    }
}

async fn start(world: &World, request: &ReplayRequest) -> i64 {
    new(world.admin.create_replay(request, None, &act()).await.unwrap()).id
}

async fn dead_orders(backend: Backend, count: u32) -> World {
    let world = World::new(backend).await;
    world.commit_orders(1, count).await;
    world.settle("crm", "true", Reason::Refused).await;
    world
}

/// As if so much time had passed that every rate allows the next step.
async fn a_second_later(world: &World) {
    world
        .execute("update aftercommit.replay set next_step_at = now()")
        .await;
}

on_both! {
    async fn a_replay_makes_no_more_due_in_a_second_than_its_rate_allows(backend: Backend) {
        let world = dead_orders(backend, 100).await;
        let id = start(&world, &of(State::Dead, Some(30))).await;
        for (left, due) in [(100, 30), (70, 60), (40, 90), (10, 100)] {
            let step = world.store.advance_replays(1_000).await.unwrap();
            assert_eq!(step.looked_at, left);
            assert_eq!(world.number("select count(*) from aftercommit.owed where destination = 'crm'").await, due);
            let early = world.store.advance_replays(1_000).await.unwrap();
            assert_eq!(early.looked_at, 0);
            if due < 100 {
                let wait = early.next_in.unwrap();
                assert!(wait > Duration::from_millis(300) && wait <= Duration::from_secs(1), "{wait:?}");
            }
            a_second_later(&world).await;
        }
        let done = world.admin.replay(id).await.unwrap();
        assert_eq!((done.state, done.requeued), (ReplayState::Done, 100));
        assert_eq!(world.store.advance_replays(1_000).await.unwrap().next_in, None);
    }

    async fn a_replay_that_waits_for_its_rate_holds_up_no_other(backend: Backend) {
        let world = dead_orders(backend, 20).await;
        world.settle("hook", "true", Reason::Accepted).await;
        let slow = start(&world, &of(State::Dead, Some(1))).await;
        let swift = start(&world, &of(State::Delivered, None)).await;
        finish(&world, 5).await;
        assert_eq!(world.admin.replay(swift).await.unwrap().requeued, 20);
        assert_eq!(world.admin.replay(slow).await.unwrap().requeued, 1);
    }

    async fn a_rate_counts_what_becomes_due_and_not_what_is_passed_over(backend: Backend) {
        let world = dead_orders(backend, 20).await;
        let everything = ReplayRequest { selection: Selection::All.into(), ..of(State::Dead, Some(5)) };
        let id = start(&world, &everything).await;
        // The deliveries to `hook` are owed already.
        let step = world.store.advance_replays(1_000).await.unwrap();
        assert_eq!(step.looked_at, 40);
        let done = world.admin.replay(id).await.unwrap();
        assert_eq!((done.requeued, done.left_alone, done.at_outbox_id), (5, 5, 5));
        let wait = world.store.advance_replays(1_000).await.unwrap().next_in.unwrap();
        assert!(wait <= Duration::from_secs(1), "{wait:?}");
    }

    async fn a_paused_replay_stands_still_and_goes_on_where_it_stood(backend: Backend) {
        let world = dead_orders(backend, 100).await;
        let id = start(&world, &of(State::Dead, None)).await;
        world.store.advance_replays(30).await.unwrap();
        let paused = world.admin.pause_replay(id, &act()).await.unwrap();
        assert_eq!((paused.state, paused.requeued, paused.at_outbox_id), (ReplayState::Paused, 30, 30));
        assert_eq!(finish(&world, 30).await, 0);
        assert_eq!(world.admin.pause_replay(id, &act()).await.unwrap(), paused);
        world.admin.resume_replay(id, &act()).await.unwrap();
        assert_eq!(finish(&world, 30).await, 70);
        let done = world.admin.replay(id).await.unwrap();
        assert_eq!((done.state, done.requeued), (ReplayState::Done, 100));
        assert_eq!(world.admin.resume_replay(id, &act()).await.unwrap(), done, "what has ended stays so");
        let lines = "select count(*) from aftercommit.audit where action in ('pause', 'resume') and subject = 'replay 1'";
        assert_eq!(world.number(lines).await, 2, "what changes nothing is not on record");
        let other = start(&world, &of(State::Delivered, None)).await;
        world.admin.pause_replay(other, &act()).await.unwrap();
        assert_eq!(world.admin.cancel_replay(other, &act()).await.unwrap().state, ReplayState::Cancelled);
    }

    async fn what_is_on_the_wire_is_left_alone_and_told_apart(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 3).await;
        // The second entry is of an attempt that has its outcome by now.
        world.execute("insert into aftercommit.dispatch (relay, sequence, destination, shard, shards, epoch, rendering, entries)
            values ('one', 1, 'crm', 0, 1, 1, 1, '[[2,1,0],[3,1,0]]')").await;
        world.execute("update aftercommit.owed set attempts = 1 where destination = 'crm' and outbox_id = 3").await;
        let filter = DeliveryFilter { destination: Some("crm".to_owned()), ..Default::default() };
        let request = ReplayRequest { selection: Selection::Filter(filter).into(), ..of(State::Dead, None) };
        let dry = world.admin.dry_run(&request).await.unwrap();
        assert_eq!((dry.requeued, dry.left_alone, dry.in_flight), (0, 2, 1));
        let id = start(&world, &request).await;
        finish(&world, 10).await;
        let done = world.admin.replay(id).await.unwrap();
        assert_eq!((done.requeued, done.left_alone, done.in_flight), (0, 2, 1));
    }

    async fn a_dry_run_says_how_long_it_takes_and_what_the_key_means(backend: Backend) {
        let world = dead_orders(backend, 100).await;
        let dry = world.admin.dry_run(&of(State::Dead, Some(30))).await.unwrap();
        assert_eq!((dry.rate.map(ReplayRate::get), dry.seconds), (Some(30), 4));
        assert!(dry.consequence.contains("does nothing for what it has done already"));
        let renewed = ReplayRequest { key: KeyMode::New, ..of(State::Dead, None) };
        let dry = world.admin.dry_run(&renewed).await.unwrap();
        assert_eq!((dry.rate, dry.seconds), (None, 1));
        assert!(dry.consequence.contains("once more"));
    }

    async fn replays_are_listed_page_by_page_the_newest_first(backend: Backend) {
        let world = dead_orders(backend, 1).await;
        for _ in 0..5 {
            start(&world, &of(State::Dead, None)).await;
        }
        world.admin.cancel_replay(2, &act()).await.unwrap();
        let page = world.admin.replays(None, None, PageSize::new(3).unwrap()).await.unwrap();
        let numbers: Vec<i64> = page.replays.iter().map(|replay| replay.id).collect();
        assert_eq!((numbers, page.next), (vec![5, 4, 3], Some(3)));
        let rest = world.admin.replays(None, page.next, PageSize::new(3).unwrap()).await.unwrap();
        assert_eq!((rest.replays.len(), rest.next), (2, None));
        let ended = world.admin.replays(Some(ReplayState::Cancelled), None, PageSize::default()).await.unwrap();
        assert_eq!(ended.replays.iter().map(|replay| replay.id).collect::<Vec<_>>(), [2]);
    }
}
