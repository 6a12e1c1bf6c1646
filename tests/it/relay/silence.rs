//! A relay whose database falls silent, or that was silent itself: it sends nothing past its lease, and recovers.

use std::sync::Arc;
use std::time::Duration;

use aftercommit::store::{Database, DatabaseOptions, SqlStore};
use secrecy::SecretString;

use super::swallowing::Swallowing;
use super::watched::Watched;
use super::world::{Backend, Running, SWIFT, World, on_both};

/// Before a silent connection is given up.
const PATIENCE: Duration = Duration::from_secs(2);

/// A relay whose database is behind this network; its store tells nobody what it has done.
async fn relay_behind(network: &Swallowing, world: &mut World) -> Running {
    let options = DatabaseOptions {
        acquire_timeout: PATIENCE,
        answer_timeout: PATIENCE,
        ..DatabaseOptions::default()
    };
    let url = SecretString::from(network.url(&world.base.url));
    let store = SqlStore::new(Database::connect(&url, &options).unwrap());
    let direct = std::mem::replace(&mut world.store, Watched::over(Arc::new(store)));
    let relay = world.relay(SWIFT).await;
    world.store = direct;
    relay
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relay_whose_network_swallows_everything_sends_nothing_past_its_lease_and_recovers() {
    let mut world = World::with(Backend::Postgres, SWIFT).await;
    let network = Swallowing::before(&world.base.url).await;
    let cut_off = relay_behind(&network, &mut world).await;
    world.receiver.hold();
    world.orders(5, |number| format!("order-{number}")).await;
    world.receiver.received(5).await;
    network.swallow();
    world.receiver.release();

    // What is in flight is answered, and cannot be recorded; the other relay finds it, and sends it once more.
    let other = world.relay(SWIFT).await;
    world.until(&[("delivered", 5)]).await;
    assert_eq!(world.receiver.counts().requests, 10);
    world.orders(20, |number| format!("later-{number}")).await;
    world.until(&[("delivered", 25)]).await;
    assert_eq!(
        world.receiver.counts().requests,
        30,
        "the relay that was cut off sent something"
    );

    network.heal();
    world
        .until_number("select count(distinct owner) from aftercommit.lease", 2)
        .await;
    other.relay.shutdown(Duration::from_secs(5)).await.unwrap();
    let watcher = world.relay(SWIFT).await;
    world.orders(5, |number| format!("last-{number}")).await;
    world.until(&[("delivered", 30)]).await;
    assert_eq!(world.receiver.counts().requests, 35);
    world.finish([cut_off, watcher]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relay_whose_database_does_not_answer_ends_within_its_grace_time() {
    let mut world = World::with(Backend::Postgres, SWIFT).await;
    let network = Swallowing::before(&world.base.url).await;
    let cut_off = relay_behind(&network, &mut world).await;
    world.receiver.hold();
    world.orders(5, |number| format!("order-{number}")).await;
    world.receiver.received(5).await;
    network.swallow();
    world.receiver.release();
    let grace = Duration::from_secs(3);
    let ended = tokio::time::timeout(grace + Duration::from_millis(500), cut_off.relay.shutdown(grace)).await;
    ended
        .expect("it waits for a database that does not answer")
        .unwrap();
    let other = world.relay(SWIFT).await;
    world.until(&[("delivered", 5)]).await;
    world.finish([other]).await;
}

on_both! {
    async fn a_relay_that_was_silent_too_long_sends_nothing_that_it_had_ready(backend: Backend) {
        let one = "concurrency = 1\n".to_owned() + SWIFT;
        let world = World::with(backend, SWIFT).await;
        let relay = world.relay(SWIFT).await;
        world.customer("c-0", 1, "{}").await;
        world.until(&[("delivered", 1)]).await;
        world.receiver.hold();
        // Ten on one record, of which one at a time finds room on the wire.
        world.store.fail_records(u32::MAX);
        world.orders(10, |number| format!("order-{number}")).await;
        world.store.records_failed(1).await;
        relay.relay.reload(world.destinations(&one));
        world.store.renderings_kept(2).await;
        world.store.fail_records(0);
        world.receiver.received(2).await;
        // The lease runs out: its time to live is four seconds. Another takes it, and lives.
        world.store.fail_beats(u32::MAX);
        world.store.beats_failed(110).await;
        let others = match backend {
            Backend::Postgres => "insert into aftercommit.relay (id, version, beat_at)
                values ('6f9619ff-8b86-4d01-b42d-00cf4fc964ff', '', now() + interval '1 hour')",
            Backend::Sqlite => "insert into aftercommit.relay (id, version, beat_at)
                values ('6f9619ff-8b86-4d01-b42d-00cf4fc964ff', '', now() + 3600000000)",
        };
        world.base.execute(others).await;
        let taken = "update aftercommit.lease set epoch = epoch + 1, owner = '6f9619ff-8b86-4d01-b42d-00cf4fc964ff'";
        world.base.execute(taken).await;
        let before = world.receiver.counts().requests;
        let mut answers = world.store.answers();
        answers.mark_unchanged();
        world.store.fail_beats(0);
        answers.changed().await.unwrap();
        assert_eq!(world.receiver.counts().requests, before, "it sent on the strength of its next beat");

        world.receiver.release();
        world.base.execute("delete from aftercommit.relay where version = ''").await;
        world.until(&[("delivered", 11)]).await;
        world.finish([relay]).await;
    }
}
