//! Steps of replays that fail: on PostgreSQL, which has a time-out for statements. A trigger of the story plays it.

use aftercommit::core::delivery::{Reason, State};
use aftercommit::store::Store as _;
use aftercommit::store::admin::{
    DeliveryFilter, KeyMode, Replay, ReplayRequest, ReplayState, Selection, StaleRows,
};

use super::world::{Backend, World, act, new};

/// Makes what becomes owed fail with an SQLSTATE where a statement makes more than so many deliveries owed.
async fn fail_above(world: &World, rows: u32, sqlstate: &str) {
    world
        .execute(&format!(
            "create function fail_above() returns trigger language plpgsql as $$
             begin
                if (select count(*) from fresh where destination = 'crm') > {rows} then
                    raise 'the story says so' using errcode = '{sqlstate}';
                end if;
                return null;
             end $$;
             create trigger fail_above after insert on aftercommit.owed
                referencing new table as fresh for each statement execute function public.fail_above()"
        ))
        .await;
}

async fn start(world: &World, state: State) -> i64 {
    let filter = DeliveryFilter {
        states: vec![state],
        ..DeliveryFilter::default()
    };
    let request = ReplayRequest {
        selection: Selection::Filter(filter).into(),
        key: KeyMode::Same,
        stale: StaleRows::Skip,
        rate: None,
    };
    new(world.admin.create_replay(&request, None, &act()).await.unwrap()).id
}

/// Twenty orders that died at `crm`, one that `hook` took, and a replay of each kind; steps of `crm` fail.
async fn two_replays(rows: u32, sqlstate: &str) -> (World, i64, i64) {
    let world = World::new(Backend::Postgres).await;
    world.commit_orders(1, 20).await;
    world.settle("crm", "true", Reason::Refused).await;
    world.settle("hook", "outbox_id = 1", Reason::Accepted).await;
    fail_above(&world, rows, sqlstate).await;
    let failing = start(&world, State::Dead).await;
    let other = start(&world, State::Delivered).await;
    (world, failing, other)
}

/// Lets a second go by as it were, takes the steps that may be taken then, and says where the replay stands.
async fn a_second(world: &World, replay: i64) -> Replay {
    world
        .execute("update aftercommit.replay set next_step_at = now()")
        .await;
    while world.store.advance_replays(20).await.unwrap().looked_at > 0 {}
    world.admin.replay(replay).await.unwrap()
}

const STEP: &str = "select coalesce(cast(step_rows as text), 'whole') from aftercommit.replay where id = 1";

#[tokio::test]
async fn a_step_that_runs_into_the_time_out_is_tried_smaller_until_it_goes_and_others_have_their_turn() {
    let (world, failing, other) = two_replays(3, "57014").await;
    let step = world.store.advance_replays(20).await.unwrap();
    assert_eq!(step.looked_at, 20, "the other one had its turn");
    assert_eq!(world.admin.replay(other).await.unwrap().requeued, 1);
    assert_eq!(world.text(STEP).await, "10");

    let mut seen = vec![];
    let done = loop {
        let replay = a_second(&world, failing).await;
        if replay.state == ReplayState::Done {
            break replay;
        }
        assert_eq!(replay.state, ReplayState::Running);
        seen.push(world.text(STEP).await);
    };
    assert_eq!((done.requeued, done.left_alone), (20, 0));
    // Two go well, then three, then four do not.
    assert_eq!(seen[..3], ["5", "2", "2"]);
    world.assert_none_lost(40).await;
}

#[tokio::test]
async fn a_replay_of_which_not_one_delivery_can_be_looked_at_in_time_is_paused_with_the_reason() {
    let (world, failing, other) = two_replays(0, "57014").await;
    let mut seconds = 0;
    let paused = loop {
        let replay = a_second(&world, failing).await;
        if replay.state != ReplayState::Running {
            break replay;
        }
        seconds += 1;
    };
    assert_eq!(
        (paused.state, paused.requeued, seconds),
        (ReplayState::Paused, 0, 4)
    );
    assert_eq!(world.admin.replay(other).await.unwrap().state, ReplayState::Done);
    let why = world
        .text("select reason from aftercommit.audit where action = 'pause' and subject = 'replay 1'")
        .await;
    assert!(
        why.starts_with("it cannot go on") && why.contains("statement_timeout"),
        "{why}"
    );

    world.execute("drop trigger fail_above on aftercommit.owed").await;
    world.admin.resume_replay(failing, &act()).await.unwrap();
    while world.admin.replay(failing).await.unwrap().state == ReplayState::Running {
        a_second(&world, failing).await;
    }
    assert_eq!(world.admin.replay(failing).await.unwrap().requeued, 20);
}

#[tokio::test]
async fn a_step_that_another_transaction_was_in_the_way_of_comes_later_and_whole() {
    let (world, failing, other) = two_replays(3, "40001").await;
    for _ in 0..3 {
        assert_eq!(a_second(&world, failing).await.state, ReplayState::Running);
    }
    assert_eq!(world.text(STEP).await, "whole");
    assert_eq!(world.admin.replay(other).await.unwrap().state, ReplayState::Done);
    world.execute("drop trigger fail_above on aftercommit.owed").await;
    let done = a_second(&world, failing).await;
    assert_eq!((done.state, done.requeued), (ReplayState::Done, 20));
}
