//! What a relay counts of itself: it agrees with what is on record.

use std::time::Duration;

use aftercommit::mock::receiver::{Fault, Rule};
use aftercommit::relay::RelayMetrics;

use super::world::{Backend, SWIFT, World, on_both};
use crate::scrape::Scrape;

const OPEN: &str = "select count(*) from aftercommit.failing where breaker_opened_at is not null";

fn scrape(metrics: &RelayMetrics) -> Scrape {
    let mut text = String::new();
    metrics.write(&mut text).unwrap();
    Scrape::read(&text)
}

fn attempts(outcome: &str) -> String {
    format!("attempts_total{{destination=\"hook\",outcome=\"{outcome}\"}}")
}

fn settled(state: &str) -> String {
    format!("settled_total{{destination=\"hook\",state=\"{state}\"}}")
}

on_both! {
    async fn what_is_counted_is_what_is_on_record_and_the_charts_hold_it_in_the_end(backend: Backend) {
        let world = World::with(backend, SWIFT).await;
        world.receiver.script([
            Rule::always(Fault::Fail { status: 422 }).for_row_key("order-3"),
            Rule::next(7, Fault::Fail { status: 500 }),
        ]).unwrap();
        world.orders(40, |number| format!("order-{number}")).await;
        let relay = world.relay(SWIFT).await;
        world.until(&[("delivered", 39), ("dead", 1)]).await;
        let metrics = relay.metrics.clone();
        assert_eq!(scrape(&metrics).value("leases"), 2, "of the destination, and of what has no route");
        relay.relay.shutdown(Duration::from_secs(10)).await.unwrap();

        let scrape = scrape(&metrics);
        assert_eq!(scrape.value(&settled("delivered")), 39);
        assert_eq!(scrape.value(&settled("dead")), 1);
        assert_eq!(scrape.value(&attempts("accepted")), 39);
        assert_eq!(scrape.value(&attempts("refused")), 8);
        assert_eq!(scrape.value(&attempts("unknown")), 0);
        assert_eq!(scrape.value("delivery_latency_seconds_count{destination=\"hook\"}"), 39);
        assert!(scrape.fraction("delivery_latency_seconds_sum{destination=\"hook\"}") > 0.0);
        assert_eq!(scrape.value("settle_batch_size_sum{destination=\"hook\"}"), 47, "every attempt is settled once");
        assert_eq!((scrape.value("leases"), scrape.value("leases_acquired_total")), (0, 2));
        assert_eq!((scrape.value("leases_released_total"), scrape.value("leases_lost_total")), (2, 0));
        let on_record = "select count(*) from aftercommit.attempt where outcome = 'refused'";
        assert_eq!(world.base.number(on_record).await, 8);
        // Written at the end of a relay, if not before.
        let chart = "select sum(delivered) * 1000 + sum(failed) from aftercommit.tally where destination = 'hook'";
        assert_eq!(world.base.number(&format!("select cast(({chart}) as bigint)")).await, 39_008);
        world.finish([]).await;
    }

    async fn what_another_relay_left_behind_counts_as_unknown(backend: Backend) {
        let world = World::with(backend, SWIFT).await;
        world.receiver.hold();
        world.orders(10, |number| format!("order-{number}")).await;
        let first = world.relay(SWIFT).await;
        world.receiver.received(10).await;
        first.relay.abort_token().cancel();
        first.relay.shutdown(Duration::ZERO).await.unwrap();
        world.receiver.release();
        let second = world.relay(SWIFT).await;
        world.until(&[("delivered", 10)]).await;
        assert_eq!(scrape(&second.metrics).value(&attempts("unknown")), 10);
        world.finish([second]).await;
    }

    async fn a_lease_that_another_took_is_counted_as_lost(backend: Backend) {
        let world = World::with(backend, SWIFT).await;
        world.receiver.hold();
        world.orders(1, |_| "order".to_owned()).await;
        let relay = world.relay(SWIFT).await;
        world.receiver.received(1).await;
        world.base.execute("update aftercommit.lease set epoch = epoch + 1 where destination = 'hook'").await;
        world.receiver.release();
        world.until(&[("delivered", 1)]).await;
        // It takes the lease anew, since nobody holds it.
        world.orders(2, |number| format!("order-{number}")).await;
        world.until(&[("delivered", 3)]).await;
        let scrape = scrape(&relay.metrics);
        assert_eq!((scrape.value("leases_lost_total"), scrape.value("leases_acquired_total")), (1, 3));
        world.finish([relay]).await;
    }

    async fn an_open_breaker_is_shown_by_the_relay_that_dispatches_and_by_no_other(backend: Backend) {
        const BREAKERS: &str = "breakers_open{destination=\"hook\"}";
        let hour = format!("concurrency = 4\n{SWIFT}\n[destinations.hook.breaker]\nmin_requests = 5\nopen_for = \"1h\"\n");
        let world = World::with(backend, &hour).await;
        world.receiver.script([Rule::always(Fault::Fail { status: 502 })]).unwrap();
        world.orders(20, |number| format!("order-{number}")).await;
        let first = world.relay(&hour).await;
        world.until_number(OPEN, 1).await;
        let metrics = first.metrics.clone();
        first.relay.shutdown(Duration::from_secs(10)).await.unwrap();
        assert_eq!(scrape(&metrics).value(BREAKERS), 0, "it dispatches nothing any more");

        world.receiver.clear_script();
        world.receiver.hold();
        let requests = world.receiver.counts().requests;
        let second = world.relay(&hour).await;
        world.receiver.received(requests + 1).await;
        assert_eq!(scrape(&second.metrics).value(BREAKERS), 1, "it was left open");
        world.receiver.release();
        world.until(&[("delivered", 20)]).await;
        assert_eq!(scrape(&second.metrics).value(BREAKERS), 0);
        world.finish([second]).await;
    }
}
