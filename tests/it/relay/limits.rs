//! Limits of a destination and of a host, as the receiver sees them.

use std::time::Duration;

use aftercommit::clock::Clock as _;
use aftercommit::mock::receiver::{Fault, Rule};

use super::world::{Backend, SWIFT, World, on_both};

/// `hook` as always, and `other`, at the same host, which takes the notes.
fn beside(world: &World, hosts: &str) -> String {
    let url = world.receiver.url();
    format!(
        r#"{SWIFT}
        [topics.notes]
        kind = "event"
        [destinations.other]
        type = "webhook"
        url = "{url}other"
        topics = ["notes"]
        allow_http = true
        allow_networks = ["127.0.0.0/8"]
        timeout = "1s"
        {hosts}"#
    )
}

async fn notes(world: &World, count: i64) {
    for number in 1..=count {
        world
            .base
            .execute(&format!(
                "insert into aftercommit.outbox (topic, row_key, op, payload) values ('notes', 'n-{number}', 'event', '{{}}')"
            ))
            .await;
    }
}

on_both! {
    async fn a_rate_holds_at_the_receiver(backend: Backend) {
        let paced = "rate = \"10/200ms\"\n".to_owned() + SWIFT;
        let world = World::with(backend, &paced).await;
        world.orders(20, |number| format!("order-{number}")).await;
        let relay = world.relay(&paced).await;
        world.until(&[("delivered", 20)]).await;
        let requests = world.receiver.requests();
        let took = requests[19].elapsed.saturating_sub(requests[0].elapsed);
        // One each 20 ms; only the way of the first can have taken longer than that of the last.
        assert!(took >= Duration::from_millis(300), "{took:?}");
        world.finish([relay]).await;
    }

    async fn what_a_rate_does_not_let_through_is_not_put_on_record(backend: Backend) {
        let hourly = "rate = \"1/h\"\n".to_owned() + SWIFT;
        let world = World::with(backend, &hourly).await;
        world.orders(20, |number| format!("order-{number}")).await;
        let relay = world.relay(&hourly).await;
        world.until(&[("delivered", 1), ("pending", 19)]).await;
        // It has read them anew, and they stay where they are.
        let fetches = world.store.fetches("hook");
        world.orders(25, |number| format!("order-{number}")).await;
        world.store.fetched("hook", fetches + 3).await;
        assert_eq!(world.store.begun(), 1);

        relay.relay.reload(world.destinations(SWIFT));
        world.until(&[("delivered", 25)]).await;
        world.finish([relay]).await;
    }

    async fn a_reload_lets_nothing_through_twice(backend: Backend) {
        let hourly = "rate = \"1/h\"\n".to_owned() + SWIFT;
        let world = World::with(backend, &hourly).await;
        let relay = world.relay(&hourly).await;
        world.orders(1, |_| "o-1".into()).await;
        world.until(&[("delivered", 1)]).await;
        relay.relay.reload(world.destinations(&format!("method = \"PUT\"\n{hourly}")));
        world.store.renderings_kept(2).await;
        world.orders(2, |number| format!("o-{number}")).await;
        let fetches = world.store.fetches("hook");
        world.store.fetched("hook", fetches + 3).await;
        assert_eq!(world.store.begun(), 1);
        world.finish([relay]).await;
    }

    async fn the_bytes_in_flight_are_bounded_and_a_larger_row_goes_alone(backend: Backend) {
        let few = "max_in_flight_bytes = \"10KiB\"\n".to_owned() + SWIFT;
        let world = World::with(backend, &few).await;
        let filled = |bytes: usize| format!("{{\"a\":\"{}\"}}", "x".repeat(bytes));
        for number in 1..=8 {
            world.customer(&format!("c-{number}"), 1, &filled(4_000)).await;
        }
        world.customer("large", 1, &filled(20_000)).await;
        world.receiver.script([Rule::always(Fault::Delay { time: Duration::from_millis(50) })]).unwrap();
        world.receiver.hold();
        let relay = world.relay(&few).await;
        world.receiver.received(2).await;
        world.receiver.release();
        world.until(&[("delivered", 9)]).await;
        assert_eq!(world.receiver.counts().peak_in_flight, 2);
        world.finish([relay]).await;
    }

    async fn destinations_of_one_host_share_what_it_allows(backend: Backend) {
        let world = World::with(backend, SWIFT).await;
        let more = beside(&world, "[hosts.\"127.0.0.1\"]\nconcurrency = 3");
        world.apply(&more).await;
        world.orders(20, |number| format!("order-{number}")).await;
        notes(&world, 20).await;
        world.receiver.script([Rule::always(Fault::Delay { time: Duration::from_millis(5) })]).unwrap();
        world.receiver.hold();
        let relay = world.relay(&more).await;
        world.receiver.received(3).await;
        world.receiver.release();
        world.until(&[("delivered", 40)]).await;
        assert_eq!(world.receiver.counts().peak_in_flight, 3);
        world.finish([relay]).await;
    }

    async fn a_backlog_at_a_host_does_not_starve_another_destination_there(backend: Backend) {
        let world = World::with(backend, SWIFT).await;
        let more = beside(&world, "[hosts.\"127.0.0.1\"]\nconcurrency = 1");
        world.apply(&more).await;
        world.orders(200, |number| format!("order-{number}")).await;
        world.receiver.hold();
        let relay = world.relay(&more).await;
        world.receiver.received(1).await;
        notes(&world, 1).await;
        world.until_number("select count(*) from aftercommit.dispatch where destination = 'other'", 1).await;
        world.receiver.release();
        world.until(&[("delivered", 201)]).await;
        let requests = world.receiver.requests();
        let place = requests.iter().position(|request| request.path() == "/other").unwrap();
        assert!(place < 8, "{place} went before it");
        world.finish([relay]).await;
    }

    async fn a_rate_of_a_host_holds_for_all_of_its_destinations_together(backend: Backend) {
        let world = World::with(backend, SWIFT).await;
        let more = beside(&world, "[hosts.\"127.0.0.1\"]\nrate = \"10/200ms\"");
        world.apply(&more).await;
        world.orders(10, |number| format!("order-{number}")).await;
        notes(&world, 10).await;
        let relay = world.relay(&more).await;
        world.until(&[("delivered", 20)]).await;
        let requests = world.receiver.requests();
        let took = requests[19].elapsed.saturating_sub(requests[0].elapsed);
        assert!(took >= Duration::from_millis(300), "{took:?}");
        let first_ten = requests[..10].iter().filter(|request| request.path() == "/other").count();
        assert!((3..=7).contains(&first_ten), "they take turns: {first_ten} of ten");
        world.finish([relay]).await;
    }

    async fn a_relay_that_has_to_wait_looks_as_seldom_as_one_that_has_nothing_to_do(backend: Backend) {
        let hourly = "rate = \"1/h\"\n".to_owned() + SWIFT;
        let world = World::with(backend, &hourly).await;
        world.orders(20, |number| format!("order-{number}")).await;
        let relay = world.relay_with(&hourly, |relay| {
            relay.heartbeat = Duration::from_secs(1);
            relay.poll_idle = Duration::from_secs(1);
        }).await;
        world.until(&[("delivered", 1), ("pending", 19)]).await;
        let (fetches, started) = (world.store.fetches("hook"), world.clock.monotonic());
        world.store.fetched("hook", fetches + 20).await;
        let took = world.clock.monotonic().saturating_sub(started);
        assert!(took >= Duration::from_secs(2), "{took:?}");
        world.finish([relay]).await;
    }

    async fn fewer_requests_are_in_flight_once_the_receiver_slows(backend: Backend) {
        let adaptive = "adaptive_concurrency = true\nconcurrency = 16\n".to_owned() + SWIFT;
        let world = World::with(backend, &adaptive).await;
        let relay = world.relay(&adaptive).await;
        world.orders(50, |number| format!("order-{number}")).await;
        world.until(&[("delivered", 50)]).await;
        let time = Duration::from_millis(60);
        world.receiver.script([Rule::always(Fault::Delay { time })]).unwrap();
        world.orders(250, |number| format!("order-{number}")).await;
        world.until(&[("delivered", 250)]).await;
        let requests = world.receiver.requests();
        let at_once = |end: usize| {
            let until = requests[end].elapsed;
            requests[..=end].iter().filter(|request| request.elapsed + time > until).count()
        };
        let last = (220..250).map(at_once).max().unwrap();
        assert!(last <= 10, "{last} at once at the end, of 16 that are allowed");
        world.finish([relay]).await;
    }
}
