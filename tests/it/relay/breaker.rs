//! The breaker: it opens on a receiver that fails throughout, consumes no attempt while it is open, and is to be seen.

use std::time::Duration;

use aftercommit::mock::receiver::{Fault, Rule};
use aftercommit::store::admin::AdminStore;

use super::world::{Backend, SWIFT, World, on_both};

const OPEN: &str = "select count(*) from aftercommit.failing where breaker_opened_at is not null";
const FAILING: &str = "select count(*) from aftercommit.failing";

fn with_breaker(breaker: &str) -> String {
    format!("concurrency = 4\n{SWIFT}\n[destinations.hook.breaker]\n{breaker}\n")
}

on_both! {
    async fn it_opens_where_all_fails_and_no_attempt_is_consumed_while_it_is_open(backend: Backend) {
        let hour = with_breaker("min_requests = 5\nopen_for = \"1h\"");
        let world = World::with(backend, &hour).await;
        world.receiver.script([Rule::always(Fault::Fail { status: 502 })]).unwrap();
        world.orders(50, |number| format!("order-{number}")).await;
        let relay = world.relay(&hour).await;
        world.until_number(OPEN, 1).await;
        world.until_number("select count(*) from aftercommit.dispatch", 0).await;
        let attempts = world.base.number("select count(*) from aftercommit.attempt").await;
        assert!((5..5 + 4).contains(&attempts), "{attempts} attempts");
        let begun = world.store.begun();

        let fetches = world.store.fetches("hook");
        world.orders(60, |number| format!("order-{number}")).await;
        world.store.fetched("hook", fetches + 3).await;
        assert_eq!(world.store.begun(), begun, "nothing is begun");
        assert_eq!(world.base.number("select count(*) from aftercommit.attempt").await, attempts);
        assert_eq!(world.states().await["pending"], 60);

        let desk = AdminStore::new(world.base.database.clone(), Duration::from_secs(4));
        let status = desk.status(&["hook".to_owned()]).await.unwrap();
        let failing = status.destinations[0].failing.as_ref().unwrap();
        assert!(failing.breaker_opened_at.is_some() && failing.since <= status.now);
        assert!(failing.detail.contains("HTTP 502"), "{}", failing.detail);
        assert_eq!(failing.dying_from, failing.since.plus(Duration::from_hours(72)));
        world.finish([relay]).await;
    }

    async fn after_a_restart_a_single_row_looks_whether_the_receiver_is_back(backend: Backend) {
        let hour = with_breaker("min_requests = 5\nopen_for = \"1h\"");
        let world = World::with(backend, &hour).await;
        world.receiver.script([Rule::always(Fault::Reset)]).unwrap();
        world.orders(50, |number| format!("order-{number}")).await;
        let first = world.relay(&hour).await;
        world.until_number(OPEN, 1).await;
        first.relay.shutdown(Duration::from_secs(5)).await.unwrap();

        world.receiver.clear_script();
        world.receiver.hold();
        let (requests, begun) = (world.receiver.counts().requests, world.store.begun());
        let second = world.relay(&hour).await;
        world.receiver.received(requests + 1).await;
        assert_eq!(world.store.begun(), begun + 1, "one row, and no other until it is back");
        world.receiver.release();
        world.until(&[("delivered", 50)]).await;
        world.until_number(FAILING, 0).await;
        world.finish([second]).await;
    }

    async fn it_closes_once_the_receiver_is_back(backend: Backend) {
        let moment = with_breaker("min_requests = 5\nopen_for = \"20ms\"");
        let world = World::with(backend, &moment).await;
        world.receiver.script([Rule::always(Fault::Fail { status: 500 })]).unwrap();
        world.orders(50, |number| format!("order-{number}")).await;
        let relay = world.relay(&moment).await;
        world.until_number(OPEN, 1).await;
        // It probes, and fails again.
        let requests = world.receiver.counts().requests;
        world.receiver.received(requests + 3).await;
        assert_eq!(world.base.number(OPEN).await, 1);
        world.receiver.clear_script();
        world.until(&[("delivered", 50)]).await;
        world.until_number(FAILING, 0).await;
        world.finish([relay]).await;
    }

    async fn rows_that_probe_do_not_die_of_it(backend: Backend) {
        let six = "concurrency = 1\n[destinations.hook.retry]\nfirst = \"1ms\"\nmax_delay = \"1ms\"\nmax_attempts = 6\n\
            [destinations.hook.breaker]\nmin_requests = 5\nopen_for = \"1ms\"\n";
        let world = World::with(backend, six).await;
        world.receiver.script([Rule::always(Fault::Fail { status: 502 })]).unwrap();
        world.orders(5, |number| format!("order-{number}")).await;
        let relay = world.relay(six).await;
        world.until_number(OPEN, 1).await;
        // More often than the five may be sent if every attempt counts.
        world.receiver.received(5 * 6 + 10).await;
        world.receiver.clear_script();
        world.until(&[("delivered", 5)]).await;
        world.finish([relay]).await;
    }

    async fn while_it_is_open_no_more_is_read_than_is_held(backend: Backend) {
        let hour = with_breaker("min_requests = 5\nopen_for = \"1h\"");
        let world = World::with(backend, &hour).await;
        world.receiver.script([Rule::always(Fault::Fail { status: 502 })]).unwrap();
        world.orders(5, |number| format!("order-{number}")).await;
        let relay = world.relay_that_holds(40, &hour).await;
        world.until_number(OPEN, 1).await;
        world.until_number("select count(*) from aftercommit.dispatch", 0).await;
        let read = world.store.read();
        world.orders(400, |number| format!("order-{number}")).await;
        let fetches = world.store.fetches("hook");
        world.store.fetched("hook", fetches + 20).await;
        let read = world.store.read() - read;
        assert!(read <= 2 * 40, "{read} were read, and nothing was sent");
        world.finish([relay]).await;
    }

    async fn a_probe_is_not_put_on_record_before_the_rate_lets_it_go(backend: Backend) {
        let hourly = format!("rate = \"1/h\"\n{}", with_breaker("min_requests = 1\nopen_for = \"1ms\""));
        let world = World::with(backend, &hourly).await;
        world.receiver.script([Rule::always(Fault::Fail { status: 502 })]).unwrap();
        world.orders(10, |number| format!("order-{number}")).await;
        let relay = world.relay(&hourly).await;
        world.until_number(OPEN, 1).await;
        let fetches = world.store.fetches("hook");
        world.store.fetched("hook", fetches + 3).await;
        assert_eq!(world.store.begun(), 1);
        world.finish([relay]).await;
    }

    async fn a_poison_row_does_not_keep_it_open(backend: Backend) {
        let touchy = with_breaker("min_requests = 1\nfailing_share = 0.01\nopen_for = \"30ms\"").replace("[destinations.hook.retry]", "[destinations.hook.retry]\nmax_attempts = 1000000");
        let world = World::with(backend, &touchy).await;
        let poison = Rule::always(Fault::Fail { status: 502 }).for_row_key("order-1");
        world.receiver.script([poison]).unwrap();
        world.orders(20, |number| format!("order-{number}")).await;
        let relay = world.relay(&touchy).await;
        world.until(&[("delivered", 19), ("pending", 1)]).await;
        world.finish([relay]).await;
    }

    async fn switched_off_it_never_opens(backend: Backend) {
        let off = with_breaker("enabled = false\nmin_requests = 1").replace("[destinations.hook.retry]", "[destinations.hook.retry]\nmax_attempts = 2");
        let world = World::with(backend, &off).await;
        world.receiver.script([Rule::always(Fault::Fail { status: 500 })]).unwrap();
        world.orders(30, |number| format!("order-{number}")).await;
        let relay = world.relay(&off).await;
        world.until(&[("dead", 30)]).await;
        assert_eq!(world.base.number(FAILING).await, 0);
        world.finish([relay]).await;
    }

    async fn switching_it_off_closes_it(backend: Backend) {
        let hour = with_breaker("min_requests = 1\nopen_for = \"1h\"");
        let world = World::with(backend, &hour).await;
        world.receiver.script([Rule::always(Fault::Fail { status: 500 })]).unwrap();
        world.orders(10, |number| format!("order-{number}")).await;
        let relay = world.relay(&hour).await;
        world.until_number(OPEN, 1).await;
        world.receiver.clear_script();
        relay.relay.reload(world.destinations(&with_breaker("enabled = false")));
        world.until(&[("delivered", 10)]).await;
        world.until_number(FAILING, 0).await;
        world.finish([relay]).await;
    }
}
