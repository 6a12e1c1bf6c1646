//! What goes away beside the relay, and relays that come back: a database, a lease, a row that is deadly.

use super::world::{Backend, World, on_both, stopped};
use crate::store::world::World as Base;

/// From the last heartbeat of the dead relay to the first attempt of its heir, in milliseconds by the database's clock.
fn milliseconds_without_a_relay(backend: Backend) -> &'static str {
    match backend {
        Backend::Postgres => {
            "select (1000 * extract(epoch from
                (select min(started_at) from aftercommit.attempt
                    where lease_epoch = (select max(lease_epoch) from aftercommit.attempt))
                - (select min(beat_at) from aftercommit.relay)))::bigint"
        }
        Backend::Sqlite => {
            "select ((select min(started_at) from attempt
                    where lease_epoch = (select max(lease_epoch) from attempt))
                - (select min(beat_at) from relay)) / 1000"
        }
    }
}

on_both! {
    async fn a_relay_that_is_killed_is_taken_over_once_its_time_to_live_is_over(backend: Backend) {
        let mut world = World::new(backend).await;
        let mut first = world.relay();
        world.commit_batch().await;
        world.settled(&mut first).await;
        let mut second = world.relay();
        second.line("ready").await;
        first.signal("KILL").await;
        first.ended().await;
        world.commit_batch().await;
        world.settled(&mut second).await;
        let gap = world.base.number(milliseconds_without_a_relay(backend)).await;
        assert!(gap >= 2_000, "the dead relay still had its lease: {gap} ms");
        assert!(gap < 4_000, "a time to live of 2 s and a heartbeat, and no more than as much again: {gap} ms");
        world.finish(vec![second]).await;
    }

    async fn a_row_that_kills_its_relay_each_time_is_dead_after_its_attempts(backend: Backend) {
        let mut world = World::new(backend).await;
        world.configure(&world.receiver.url(), "retry.max_attempts = 3");
        world.commit_orders(1).await;
        for _ in 0..3 {
            world.crash("after_send:1").await;
        }
        // It would die again if the row were sent again.
        let mut relay = world.relay_until("after_send:1");
        world.settled(&mut relay).await;
        let reason = world.base.text("select state || ' ' || reason from aftercommit.settled").await;
        assert_eq!(reason.as_deref(), Some("dead attempts_exhausted"));
        assert_eq!(world.receiver.counts().requests, 3);
        stopped(&mut relay).await;

        world.commit_orders(1).await;
        let mut relay = world.relay();
        world.settled(&mut relay).await;
        assert_eq!(world.base.number("select count(*) from aftercommit.settled where state = 'delivered'").await, 1);
        stopped(&mut relay).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relay_survives_the_crash_of_its_database_and_delivers_everything_by_itself() {
    let server = crate::postgres::Server::own().await;
    let base = Base::on(server.database().await);
    base.database.migrate("test").await.unwrap();
    let mut world = World::over(base).await;
    let mut relay = world.relay();
    world.commit_batch().await;
    world.settled(&mut relay).await;

    world.receiver.hold();
    let before = world.receiver.counts().requests;
    world.commit_batch().await;
    world.received(before + 1).await;
    server.restart_immediately().await;
    world.receiver.release();
    world.commit_batch().await;
    world.finish(vec![relay]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relay_waits_for_a_database_that_is_stopped_and_goes_on_when_it_is_back() {
    let server = crate::postgres::Server::own().await;
    let base = Base::on(server.database().await);
    base.database.migrate("test").await.unwrap();
    let mut world = World::over(base).await;
    world.commit_batch().await;
    world.receiver.hold();
    let mut relay = world.relay();
    world.received(1).await;
    server.stop().await;
    world.receiver.release();
    for _ in 0..3 {
        relay.says("the heartbeat failed").await;
    }
    server.start().await;
    world.commit_batch().await;
    world.finish(vec![relay]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_relays_on_one_sqlite_file_hand_over_and_take_over() {
    let mut world = World::new(Backend::Sqlite).await;
    let mut first = world.relay();
    world.commit_batch().await;
    world.settled(&mut first).await;
    let mut second = world.relay();
    second.says("looked at the leases").await;
    for _ in 0..5 {
        world.commit_batch().await;
    }
    first.signal("KILL").await;
    first.ended().await;
    let third = world.relay();
    for _ in 0..5 {
        world.commit_batch().await;
    }
    world.settled(&mut second).await;
    world.commit_batch().await;
    stopped(&mut second).await;
    world.finish(vec![third]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relay_that_slept_through_its_lease_finds_it_lost_and_changes_nothing() {
    let mut world = World::new(Backend::Postgres).await;
    let mut sleeper = world.relay();
    world.receiver.hold();
    world.commit_batch().await;
    world.received(4).await;
    sleeper.signal("STOP").await;
    let mut other = world.relay();
    other.says("attempts without an outcome were left behind").await;
    world.receiver.release();
    world.settled(&mut other).await;
    sleeper.signal("CONT").await;
    sleeper.says("the lease is lost").await;
    world.commit_batch().await;
    world.finish(vec![other, sleeper]).await;
}
