//! Several relays on one database: how they share, and how each keeps what it has.

use std::sync::Arc;
use std::time::Duration;

use aftercommit::mock::receiver::{Fault, Rule};
use aftercommit::store::{Database, DatabaseOptions, SqlStore};
use secrecy::SecretString;
use sqlx::{Connection as _, PgConnection};

use super::watched::Watched;
use super::world::{Backend, Running, SWIFT, World, on_both};

/// Seven shards, and that of what has no route.
const SEVEN: &str = "shards = 7\n";

async fn owned(world: &World, relay: &Running) -> i64 {
    let owned = format!(
        "select count(*) from aftercommit.lease where owner = '{}'",
        relay.id.0
    );
    world.base.number(&owned).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn relays_share_evenly_within_two_heartbeats_of_a_join_and_of_a_leave() {
    let seven = SEVEN.to_owned() + SWIFT;
    let world = World::with(Backend::Postgres, &seven).await;
    // So far apart that what follows from one is done when the next comes, on a busy machine too.
    let start = || world.relay_that_beats(Duration::from_secs(1), Duration::from_secs(10), &seven);
    let first = start().await;
    // What follows from a beat is done when the next one has come.
    world.store.beaten(first.id, 2).await;
    assert_eq!(owned(&world, &first).await, 8);

    let second = start().await;
    world.store.beaten(second.id, 4).await;
    assert_eq!(
        (owned(&world, &first).await, owned(&world, &second).await),
        (4, 4)
    );
    let third = start().await;
    let fourth = start().await;
    tokio::join!(world.store.beaten(third.id, 4), world.store.beaten(fourth.id, 4));
    for relay in [&first, &second, &third, &fourth] {
        assert_eq!(owned(&world, relay).await, 2);
    }

    second.relay.shutdown(Duration::from_secs(5)).await.unwrap();
    third.relay.shutdown(Duration::from_secs(5)).await.unwrap();
    tokio::join!(world.store.beaten(first.id, 3), world.store.beaten(fourth.id, 3));
    assert_eq!(
        (owned(&world, &first).await, owned(&world, &fourth).await),
        (4, 4)
    );
    world.finish([first, fourth]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_survives_a_thousand_slow_deliveries() {
    // A busy machine does not reach the receiver a thousand times before the first request has timed out.
    let thousand = "concurrency = 1000\nbreaker.enabled = false\n".to_owned() + SWIFT;
    let world = World::with(Backend::Postgres, &thousand).await;
    world.receiver.hold();
    world.orders(1_000, |number| format!("order-{number}")).await;
    let relay = world
        .relay_that_beats(Duration::from_millis(200), Duration::from_secs(15), &thousand)
        .await;
    world.receiver.received(1_000).await;
    // They come back without an outcome, and go out again.
    world.store.beaten(relay.id, 20).await;
    world.receiver.release();
    world.until(&[("delivered", 1_000)]).await;
    let taken = "select max(epoch) from aftercommit.lease where owner is not null";
    assert_eq!(world.base.number(taken).await, 1, "the lease was lost meanwhile");
    world.finish([relay]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_heart_beats_while_every_other_connection_waits() {
    let mut world = World::with(Backend::Postgres, SWIFT).await;
    let one = DatabaseOptions {
        max_connections: 1,
        ..DatabaseOptions::default()
    };
    let database = Database::connect(&SecretString::from(world.base.url.clone()), &one).unwrap();
    world.store = Watched::over(Arc::new(SqlStore::new(database)));
    let relay = world.relay(SWIFT).await;
    world.orders(1, |_| "first".into()).await;
    world.until(&[("delivered", 1)]).await;

    let mut other = PgConnection::connect(&world.base.url).await.unwrap();
    let mut transaction = other.begin().await.unwrap();
    sqlx::raw_sql("lock table aftercommit.owed in access exclusive mode")
        .execute(&mut *transaction)
        .await
        .unwrap();
    // Twenty-five beats of 200 ms: longer than the time to live.
    world.store.beaten(relay.id, 25).await;
    transaction.rollback().await.unwrap();
    world.orders(1, |_| "second".into()).await;
    world.until(&[("delivered", 2)]).await;
    assert_eq!(
        world
            .base
            .number("select max(epoch) from aftercommit.lease")
            .await,
        1,
        "the lease was lost meanwhile"
    );
    world.finish([relay]).await;
}

on_both! {
    async fn a_relay_of_another_version_has_its_share(backend: Backend) {
        let three = THREE.replace("{}", SWIFT);
        let world = World::with(backend, "").await;
        let three = three.replace("{url}", &world.receiver.url());
        world.apply(&three).await;
        // It is alive for an hour, and comes first.
        let hour = if backend == Backend::Postgres { "interval '1 hour'" } else { "3600000000" };
        let newer = format!("insert into aftercommit.relay (id, version, beat_at)
            values ('00000000-0000-4000-8000-000000000000', '99.0.0', now() + {hour})");
        world.base.execute(&newer).await;
        let relay = world.relay(&three).await;
        world.store.beaten(relay.id, 3).await;
        assert_eq!(owned(&world, &relay).await, 2, "of four");
        world.base.execute("delete from aftercommit.relay where version = '99.0.0'").await;
        world.store.beaten(relay.id, 3).await;
        assert_eq!(owned(&world, &relay).await, 4);
        world.finish([relay]).await;
    }

    async fn what_a_newer_relay_has_rendered_waits_for_one_and_the_rest_flows(backend: Backend) {
        let world = World::with(backend, SWIFT).await;
        world.orders(3, |number| format!("order-{number}")).await;
        let digest = if backend == Backend::Postgres { r"'\x00'" } else { "x'00'" };
        let newer = format!("insert into aftercommit.rendering (digest, spec) values ({digest}, '{{\"format\": 99}}')");
        world.base.execute(&newer).await;
        let attempted = "update aftercommit.owed set attempts = 1, rendering = (select max(id) from aftercommit.rendering)
            where outbox_id = (select min(outbox_id) from aftercommit.owed)";
        world.base.execute(attempted).await;
        let relay = world.relay(SWIFT).await;
        world.until(&[("delivered", 2), ("pending", 1)]).await;
        world.store.beaten(relay.id, 3).await;
        assert_eq!(world.receiver.counts().requests, 2);
        relay.relay.shutdown(Duration::from_secs(5)).await.unwrap();
        assert_eq!(world.states().await["pending"], 1);
        world.receiver.shutdown().await.unwrap();
    }

    async fn relays_that_come_and_go_under_load_send_nothing_twice(backend: Backend) {
        let three = THREE.replace("{}", SWIFT);
        let world = World::with(backend, "").await;
        let three = three.replace("{url}", &world.receiver.url());
        world.apply(&three).await;
        world.receiver.script([Rule::always(Fault::Delay { time: Duration::from_millis(5) })]).unwrap();
        let mut relays = vec![world.relay(&three).await];
        let mut committed = 0;
        for round in 0..4 {
            let before = world.receiver.counts().requests;
            world.orders(200, |number| format!("order-{round}-{number}")).await;
            committed += 600;
            world.receiver.received(before + 50).await;
            relays.push(world.relay(&three).await);
            let newest = relays[relays.len() - 1].id;
            world.store.beaten(newest, 2).await;
            let oldest = relays.remove(0);
            oldest.relay.shutdown(Duration::from_secs(10)).await.unwrap();
        }
        world.until(&[("delivered", committed)]).await;
        assert_eq!(i64::try_from(world.receiver.counts().requests).unwrap(), committed, "something was sent twice");
        world.finish(relays).await;
    }
}

/// Two further destinations, so that there are four shards in all with that of what has no route.
const THREE: &str = r#"{}
[destinations.second]
type = "webhook"
url = "{url}second"
topics = ["orders"]
allow_http = true
allow_networks = ["127.0.0.0/8"]
timeout = "1s"
[destinations.third]
type = "webhook"
url = "{url}third"
topics = ["orders"]
allow_http = true
allow_networks = ["127.0.0.0/8"]
timeout = "1s"
"#;
