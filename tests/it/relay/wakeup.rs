//! The wake-up: a relay that looks by itself once an hour still hears of every row, unless that is switched off.

use std::time::Duration;

use aftercommit::config::WakeupMode;
use sqlx::postgres::PgListener;
use sqlx::{Connection as _, PgConnection};

use super::world::{Backend, Running, SWIFT, World, on_both};
use crate::postgres::Server;
use crate::store::world::World as Base;

on_both! {
    async fn a_row_that_is_committed_while_the_relay_has_nothing_to_do_arrives_without_the_poll(backend: Backend) {
        let world = World::with(backend, SWIFT).await;
        let relay = world.sleeper(WakeupMode::Notify, SWIFT).await;
        for version in 1..=5 {
            world.customer("c-1", version, &format!("{{\"version\":{version}}}")).await;
            world.until(&[("delivered", version)]).await;
        }
        world.finish([relay]).await;
    }

    async fn with_the_wake_up_switched_off_only_the_poll_finds_a_row(backend: Backend) {
        let world = World::with(backend, SWIFT).await;
        world.customer("c-1", 1, "{}").await;
        let relay = world.sleeper(WakeupMode::Poll, SWIFT).await;
        world.until(&[("delivered", 1)]).await;
        world.customer("c-2", 1, "{}").await;
        // Longer than any hint has taken.
        world.store.fail_beats(10);
        world.store.beats_failed(10).await;
        assert_eq!(world.receiver.counts().requests, 1);
        world.finish([relay]).await;
    }
}

/// A producer whose transaction is open.
struct Open(PgConnection);

impl Open {
    async fn with_order(world: &World, row_key: &str) -> Self {
        let mut connection = PgConnection::connect(&world.base.url).await.unwrap();
        sqlx::query("begin").execute(&mut connection).await.unwrap();
        sqlx::query(
            "insert into aftercommit.outbox (topic, row_key, op, payload) values ('orders', $1, 'event', '{}')",
        )
        .bind(row_key)
        .execute(&mut connection)
        .await
        .unwrap();
        Self(connection)
    }

    async fn commit(mut self) {
        sqlx::query("commit").execute(&mut self.0).await.unwrap();
        self.0.close().await.unwrap();
    }
}

/// Who holds the sleepers' lock.
const SLEEPERS: &str = "select coalesce(max(pid), 0) from pg_locks
    where locktype = 'advisory' and mode = 'ExclusiveLock' and granted
        and database = (select oid from pg_database where datname = current_database())";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_producer_that_stays_open_while_the_relay_tries_to_sleep_loses_nothing_and_nobody_notifies() {
    let world = World::with(Backend::Postgres, SWIFT).await;
    let mut notified = PgListener::connect(&world.base.url).await.unwrap();
    notified.listen("aftercommit").await.unwrap();
    // Nobody sleeps yet, so this one goes unheard; and nobody can sleep before it has ended.
    let open = Open::with_order(&world, "open").await;
    let relay = world.sleeper(WakeupMode::Notify, SWIFT).await;
    world.store.ears_opened(1).await;
    for row in 1..=5 {
        world.customer(&format!("c-{row}"), 1, "{}").await;
        world.until_number(DELIVERED, row).await;
    }
    assert_eq!(world.base.number(SLEEPERS).await, 0);
    world.base.execute("notify aftercommit, 'the first'").await;
    assert_eq!(notified.recv().await.unwrap().payload(), "the first");
    // Its id lies below those that were delivered meanwhile.
    open.commit().await;
    world.until_number(DELIVERED, 6).await;
    world.finish([relay]).await;
}

const DELIVERED: &str = "select count(*) from aftercommit.settled where state = 'delivered'";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_relay_hears_of_a_row_and_another_sleeps_when_the_sleeper_leaves() {
    let world = World::with(Backend::Postgres, SWIFT).await;
    let more = format!(
        "[destinations.second]\ntype = \"webhook\"\nurl = \"{}second\"\ntopics = [\"customers\"]\n\
         allow_http = true\nallow_networks = [\"127.0.0.0/8\"]\ntimeout = \"1s\"\n",
        world.receiver.url()
    );
    let more = SWIFT.to_owned() + &more;
    world.apply(&more).await;
    let mut relays: Vec<Running> = Vec::new();
    for _ in 0..3 {
        relays.push(world.sleeper(WakeupMode::Notify, &more).await);
    }
    world
        .until_number("select count(distinct owner) from aftercommit.lease", 3)
        .await;
    let mut rows = 0;
    while let Some(relay) = relays.pop() {
        for _ in 0..5 {
            rows += 1;
            world.customer(&format!("c-{rows}"), 1, "{}").await;
            world.until_number(DELIVERED, rows * 2).await;
        }
        relay.relay.shutdown(Duration::from_secs(10)).await.unwrap();
    }
    world.finish([]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_listener_whose_connection_is_ended_listens_again_and_leaves_no_lock_behind() {
    let world = World::with(Backend::Postgres, SWIFT).await;
    let relay = world.sleeper(WakeupMode::Notify, SWIFT).await;
    for row in 1..=3 {
        world.customer(&format!("c-{row}"), 1, "{}").await;
        world.until_number(DELIVERED, i64::from(row)).await;
        let end = "select count(pg_terminate_backend(pid)) from pg_stat_activity
            where datname = current_database() and pid <> pg_backend_pid()
                and (query like 'LISTEN%' or query like '%sleepers_lock%')";
        assert_eq!(world.base.number(end).await, 1);
        world.store.ears_opened(row + 1).await;
    }
    let held = "select count(*) from pg_locks where locktype = 'advisory' and granted
        and database = (select oid from pg_database where datname = current_database())";
    world.customer("c-4", 1, "{}").await;
    world.until_number(DELIVERED, 4).await;
    assert!(world.base.number(held).await <= 1, "only the sleeper's own");
    world.finish([relay]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn beside_a_relay_that_only_polls_a_producer_can_prepare_its_transaction() {
    let server = Server::own_with("max_prepared_transactions = 4\n").await;
    let base = Base::on(server.database().await);
    base.database.migrate("test").await.unwrap();
    let world = World::over(base, SWIFT).await;
    let relay = world
        .relay_with(SWIFT, |limits| limits.wakeup = WakeupMode::Poll)
        .await;
    world.customer("c-1", 1, "{}").await;
    world.until(&[("delivered", 1)]).await;
    world
        .base
        .execute(
            "begin;
             insert into aftercommit.outbox (topic, row_key, op, payload) values ('orders', '1', 'event', '{}');
             prepare transaction 'by the pipeline'",
        )
        .await;
    world.base.execute("commit prepared 'by the pipeline'").await;
    world.until(&[("delivered", 2)]).await;
    world.finish([relay]).await;
}
