//! Leases: who may send, what becomes of what an ended relay left behind, and what a relay without a lease may not do.

use std::collections::BTreeSet;
use std::time::Duration;

use aftercommit::mock::receiver::{Fault, Rule, Times};

use super::world::{Backend, SWIFT, World, on_both};

on_both! {
    async fn what_a_relay_left_in_flight_is_unknown_and_takes_effect_once(backend: Backend) {
        let world = World::with(backend, SWIFT).await;
        world.receiver.hold();
        world.orders(10, |number| format!("order-{number}")).await;
        let first = world.relay(SWIFT).await;
        world.receiver.received(10).await;
        first.relay.abort_token().cancel();
        first.relay.shutdown(Duration::ZERO).await.unwrap();
        assert_eq!(world.states().await["pending"], 10, "nobody knows what became of them");

        world.receiver.release();
        let second = world.relay(SWIFT).await;
        world.until(&[("delivered", 10)]).await;
        assert_eq!(world.receiver.counts().effects, 10);
        let unknown = "select count(*) from aftercommit.attempt where outcome = 'unknown' and number = 1";
        assert_eq!(world.base.number(unknown).await, 10, "the first attempts count, and say what is known of them");
        world.finish([second]).await;
    }

    async fn a_delivery_that_was_put_back_and_begun_anew_is_taken_over_once(backend: Backend) {
        let one = "concurrency = 1\n".to_owned() + SWIFT;
        let world = World::with(backend, SWIFT).await;
        let first = world.relay(SWIFT).await;
        world.customer("c-0", 1, "{}").await;
        world.until(&[("delivered", 1)]).await;
        world.receiver.hold();
        // Three on one record, of which only one finds room on the wire: the others are put back, and begun anew.
        world.store.fail_records(u32::MAX);
        world.orders(3, |number| format!("order-{number}")).await;
        world.store.records_failed(1).await;
        first.relay.reload(world.destinations(&one));
        world.store.renderings_kept(2).await;
        world.store.fail_records(0);
        world.receiver.received(2).await;
        let pause = "insert into aftercommit.destination_state (destination, paused_at) values ('hook', now())";
        world.base.execute(pause).await;
        world.store.pause_seen().await;
        first.relay.reload(world.destinations(SWIFT));
        world.base.execute("delete from aftercommit.destination_state").await;
        world.receiver.received(4).await;
        first.relay.abort_token().cancel();
        first.relay.shutdown(Duration::ZERO).await.unwrap();

        world.receiver.release();
        let second = world.relay(SWIFT).await;
        world.until(&[("delivered", 4)]).await;
        world.finish([second]).await;
    }

    async fn a_row_that_ends_its_relay_each_time_dies_in_the_end(backend: Backend) {
        let three = SWIFT.to_owned() + "max_attempts = 3\n";
        let world = World::with(backend, &three).await;
        world.receiver.script([Rule::always(Fault::Hang).for_row_key("poison")]).unwrap();
        world.orders(1, |_| "poison".into()).await;
        for requests in 1..=3 {
            let relay = world.relay(&three).await;
            world.receiver.received(requests).await;
            relay.relay.abort_token().cancel();
            relay.relay.shutdown(Duration::ZERO).await.unwrap();
        }
        let relay = world.relay(&three).await;
        world.until(&[("dead", 1)]).await;
        assert_eq!(world.receiver.counts().requests, 3);
        world.finish([relay]).await;
    }

    async fn a_relay_that_lost_its_lease_begins_nothing_and_another_goes_on(backend: Backend) {
        let world = World::with(backend, SWIFT).await;
        world.receiver.hold();
        world.orders(5, |number| format!("order-{number}")).await;
        let relay = world.relay(SWIFT).await;
        world.receiver.received(5).await;
        // Somebody else takes the lease, as after a pause of this process that was longer than the time to live.
        world.base.execute("update aftercommit.lease set epoch = epoch + 1 where destination = 'hook'").await;
        world.receiver.release();
        // What was answered is a fact; the relay then takes the lease anew, since nobody holds it.
        world.until(&[("delivered", 5)]).await;
        world.orders(10, |number| format!("order-{number}")).await;
        world.until(&[("delivered", 10)]).await;
        assert_eq!(world.receiver.counts().requests, 10, "nothing was sent twice");
        world.finish([relay]).await;
    }

    async fn nothing_is_sent_beyond_the_last_good_heartbeat(backend: Backend) {
        let world = World::with(backend, SWIFT).await;
        let relay = world.relay(SWIFT).await;
        world.orders(1, |_| "first".into()).await;
        world.until(&[("delivered", 1)]).await;
        // Without heartbeats the lease runs out; its time to live is 4 s, and a request may take 1 s.
        world.store.fail_beats(u32::MAX);
        world.store.beats_failed(50).await;
        world.customer("c-1", 1, "{}").await;
        world.store.beats_failed(100).await;
        assert_eq!(world.receiver.counts().requests, 1, "the lease could not outlive the request");
        world.store.fail_beats(0);
        world.until(&[("delivered", 2)]).await;
        world.finish([relay]).await;
    }

    async fn two_relays_share_the_shards_and_hand_over_without_a_request_too_many(backend: Backend) {
        let four = FOUR.to_owned();
        let world = World::with(backend, "").await;
        let more = four.replace("{url}", &world.receiver.url());
        world.apply(&more).await;
        world.receiver.script([Rule::new(Times::Chance(0.1), Fault::Delay { time: Duration::from_millis(5) })]).unwrap();
        let first = world.relay(&more).await;
        let owners = "select count(distinct owner) from aftercommit.lease";
        world.until_number("select count(*) from aftercommit.lease where owner is not null", 4).await;
        let second = world.relay(&more).await;
        world.orders(300, |number| format!("order-{number}")).await;
        world.until_number(owners, 2).await;
        first.relay.shutdown(Duration::from_secs(10)).await.unwrap();
        world.until(&[("delivered", 900)]).await;
        assert_eq!(world.receiver.counts().requests, 900, "handed over, and nothing sent twice");
        world.finish([second]).await;
    }
}

/// Two further destinations, so that there are four shards in all with that of what has no route.
const FOUR: &str = r#"
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

/// Slots are divided over shards; only PostgreSQL can, since only it can compute a slot.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn four_relays_keep_the_order_of_every_row_on_one_destination_of_eight_shards() {
    let eight = "shards = 8\n".to_owned() + SWIFT;
    let world = World::with(Backend::Postgres, &eight).await;
    world
        .receiver
        .script([Rule::new(Times::Chance(0.05), Fault::Fail { status: 500 })])
        .unwrap();
    world.orders(600, |number| format!("key-{}", number % 40)).await;
    let mut relays = Vec::new();
    for _ in 0..4 {
        relays.push(world.relay(&eight).await);
    }
    world.until(&[("delivered", 600)]).await;
    let mut last = std::collections::HashMap::new();
    for effect in world.receiver.effects() {
        let version: i64 = effect.row_version().unwrap().parse().unwrap();
        let before = last.insert(effect.row_key().unwrap().to_owned(), version);
        assert!(before.is_none_or(|before: i64| before < version));
    }
    let keys: BTreeSet<_> = last.keys().collect();
    assert_eq!(keys.len(), 40);
    world.finish(relays).await;
}
