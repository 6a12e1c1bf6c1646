//! What happens between a look and a write, held open by a lock of the story: on PostgreSQL, where locks can be watched.

use aftercommit::core::delivery::{Reason, State};
use aftercommit::store::Store as _;
use aftercommit::store::admin::{
    Cancelled, DeliveryFilter, KeyMode, ReplayRequest, ReplayState, Selection, StaleRows,
};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

use super::missing::{missing_at, request};
use super::world::{Backend, World, act, id};

/// Runs statements in a transaction that stays open.
async fn begin(world: &World, sql: &str) -> PgConnection {
    let mut blocker = PgConnection::connect(&world.url).await.unwrap();
    let sql = AssertSqlSafe(format!("begin; {sql}"));
    sqlx::raw_sql(sql).execute(&mut blocker).await.unwrap();
    blocker
}

async fn commit(mut blocker: PgConnection, sql: &str) {
    let sql = AssertSqlSafe(format!("{sql}; commit"));
    sqlx::raw_sql(sql).execute(&mut blocker).await.unwrap();
}

async fn until_somebody_waits(world: &World) {
    world
        .until("select count(*) > 0 from pg_locks where not granted")
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relay_that_takes_the_lease_during_a_cancel_is_asked_to_cancel() {
    let world = World::new(Backend::Postgres).await;
    world.commit_orders(1, 1).await;
    let lease = world.lease("crm").await;
    world.execute("update aftercommit.lease set owner = null").await;
    let takes = format!(
        "update aftercommit.lease set owner = '{}', epoch = epoch + 1",
        lease.owner.0
    );
    let relay = begin(&world, &takes).await;

    let admin = world.admin.clone();
    let cancel = async move {
        admin
            .cancel(&Selection::Ids(vec![id(1, "crm")]), &act())
            .await
            .unwrap()
    };
    let mut cancel = Box::pin(cancel);
    tokio::select! {
        done = &mut cancel => panic!("it did not wait for the relay: {done:?}"),
        () = until_somebody_waits(&world) => {}
    }
    commit(relay, "select 1").await;

    let requested = Cancelled {
        requested: 1,
        ..Cancelled::default()
    };
    assert_eq!(cancel.await, requested);
    assert_eq!(world.state(1, "crm").await, State::Pending);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delivery_that_is_cancelled_during_a_step_of_a_replay_stays_cancelled() {
    let world = World::new(Backend::Postgres).await;
    world.commit_orders(1, 2).await;
    world.settle("crm", "true", Reason::OutcomeUnknown).await;
    let filter = DeliveryFilter {
        states: vec![State::Uncertain],
        ..Default::default()
    };
    let request = ReplayRequest {
        selection: Selection::Filter(filter).into(),
        key: KeyMode::Same,
        stale: StaleRows::Skip,
        rate: None,
    };
    world.admin.create_replay(&request, None, &act()).await.unwrap();
    let person = begin(&world, "select 1 from aftercommit.replay for update").await;

    let mut step = Box::pin(world.store.advance_replays(10));
    tokio::select! {
        done = &mut step => panic!("it did not wait: {done:?}"),
        () = until_somebody_waits(&world) => {}
    }
    let cancels =
        "update aftercommit.settled set state = 'cancelled', reason = 'operator' where outbox_id = 1";
    commit(person, cancels).await;

    assert_eq!(step.await.unwrap().looked_at, 2);
    let replay = world.admin.replay(1).await.unwrap();
    assert_eq!(
        (replay.state, replay.requeued, replay.left_alone),
        (ReplayState::Done, 1, 1)
    );
    assert_eq!(world.state(1, "crm").await, State::Cancelled);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replay_that_is_cancelled_during_a_step_does_not_take_it() {
    let world = World::new(Backend::Postgres).await;
    world.commit_orders(1, 2).await;
    world.settle("crm", "true", Reason::Refused).await;
    let request = ReplayRequest {
        selection: Selection::Ids(vec![id(1, "crm"), id(2, "crm")]).into(),
        key: KeyMode::Same,
        stale: StaleRows::Skip,
        rate: None,
    };
    world.admin.create_replay(&request, None, &act()).await.unwrap();
    let person = begin(&world, "update aftercommit.replay set state = 'cancelled'").await;

    let mut step = Box::pin(world.store.advance_replays(10));
    tokio::select! {
        done = &mut step => panic!("it did not wait: {done:?}"),
        () = until_somebody_waits(&world) => {}
    }
    commit(person, "select 1").await;

    assert_eq!(step.await.unwrap().looked_at, 0);
    assert_eq!(world.state(1, "crm").await, State::Dead);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_that_its_rate_allows_no_more_is_not_taken() {
    let world = World::new(Backend::Postgres).await;
    world.commit_orders(1, 2).await;
    world.settle("crm", "true", Reason::Refused).await;
    let request = ReplayRequest {
        selection: Selection::Ids(vec![id(1, "crm"), id(2, "crm")]).into(),
        key: KeyMode::Same,
        stale: StaleRows::Skip,
        rate: None,
    };
    world.admin.create_replay(&request, None, &act()).await.unwrap();
    let other = begin(&world, "select 1 from aftercommit.replay for update").await;

    let mut step = Box::pin(world.store.advance_replays(10));
    tokio::select! {
        done = &mut step => panic!("it did not wait: {done:?}"),
        () = until_somebody_waits(&world) => {}
    }
    let later = "update aftercommit.replay set next_step_at = now() + interval '1 hour'";
    commit(other, later).await;

    assert_eq!(step.await.unwrap().looked_at, 0);
    assert_eq!(world.state(1, "crm").await, State::Dead);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_row_that_was_delivered_while_a_step_found_it_missing_is_not_owed_again() {
    let world = World::new(Backend::Postgres).await;
    world.commit_orders(1, 2).await;
    world
        .execute("delete from aftercommit.owed where destination = 'hook'")
        .await;
    let request = request(missing_at("hook"));
    world.admin.create_replay(&request, None, &act()).await.unwrap();
    let other = begin(&world, "select 1 from aftercommit.replay for update").await;

    let mut step = Box::pin(world.store.advance_replays(10));
    tokio::select! {
        done = &mut step => panic!("it did not wait: {done:?}"),
        () = until_somebody_waits(&world) => {}
    }
    let delivered =
        "insert into aftercommit.settled (outbox_id, destination, state, reason, attempts, key_epoch)
        values (1, 'hook', 'delivered', 'accepted', 1, 0)";
    commit(other, delivered).await;

    assert_eq!(step.await.unwrap().looked_at, 2);
    let replay = world.admin.replay(1).await.unwrap();
    assert_eq!((replay.requeued, replay.left_alone), (1, 1));
    world.assert_none_lost(4).await;
}
