//! What an operator does while the relay runs: pause, cancel, route, change the configuration.

use std::time::Duration;

use aftercommit::mock::receiver::{Fault, Rule};

use super::world::{Backend, SWIFT, World, on_both};

/// Retries that never come within a test.
const PATIENT: &str = "[destinations.hook.retry]\nfirst = \"1h\"\nmax_delay = \"1h\"\n";

on_both! {
    async fn a_pause_holds_what_arrives_and_a_resume_sends_it(backend: Backend) {
        let world = World::with(backend, SWIFT).await;
        let pause = "insert into aftercommit.destination_state (destination, paused_at) values ('hook', now())";
        world.base.execute(pause).await;
        let relay = world.relay(SWIFT).await;
        world.orders(20, |number| format!("order-{number}")).await;
        world.customer("c-1", 1, "{}").await;
        world.until_number("select count(*) from aftercommit.lease where owner is not null", 2).await;
        assert_eq!(world.states().await["pending"], 21);
        assert_eq!(world.receiver.counts().requests, 0);
        world.base.execute("delete from aftercommit.destination_state").await;
        world.until(&[("delivered", 21)]).await;
        world.finish([relay]).await;
    }

    async fn a_resume_ends_what_the_receiver_asked_the_destination_to_wait(backend: Backend) {
        let world = World::with(backend, SWIFT).await;
        let hour = Fault::Throttle { status: 429, retry_after: "3600".into() };
        world.receiver.script([Rule::once(hour)]).unwrap();
        world.orders(1, |_| "o-1".into()).await;
        let relay = world.relay(SWIFT).await;
        world.until_number("select count(*) from aftercommit.owed where attempts = 1", 1).await;
        world.orders(1, |_| "o-2".into()).await;
        let pause = "insert into aftercommit.destination_state (destination, paused_at) values ('hook', now())";
        world.base.execute(pause).await;
        world.store.pause_seen().await;
        world.base.execute("delete from aftercommit.destination_state").await;
        world.until(&[("delivered", 1), ("pending", 1)]).await;
        world.finish([relay]).await;
    }

    async fn a_cancel_of_what_waits_takes_effect_at_once(backend: Backend) {
        let world = World::with(backend, PATIENT).await;
        world.receiver.script([Rule::always(Fault::Fail { status: 500 })]).unwrap();
        world.orders(1, |_| "o-1".into()).await;
        let relay = world.relay(PATIENT).await;
        world.until_number("select count(*) from aftercommit.owed where attempts = 1", 1).await;
        world.base.execute("update aftercommit.owed set cancel_at = now()").await;
        world.until(&[("cancelled", 1)]).await;
        world.finish([relay]).await;
    }

    async fn a_cancel_takes_effect_though_the_destination_is_paused(backend: Backend) {
        let world = World::with(backend, SWIFT).await;
        let pause = "insert into aftercommit.destination_state (destination, paused_at) values ('hook', now())";
        world.base.execute(pause).await;
        let relay = world.relay(SWIFT).await;
        world.store.pause_seen().await;
        world.orders(3, |_| "o-1".into()).await;
        world.base.execute("update aftercommit.owed set cancel_at = now() where outbox_id > 1").await;
        world.until(&[("cancelled", 2), ("pending", 1)]).await;
        world.finish([relay]).await;
    }

    async fn a_cancel_of_what_is_in_flight_gives_way_to_a_success(backend: Backend) {
        let world = World::with(backend, PATIENT).await;
        world.receiver.hold();
        world.orders(1, |_| "o-1".into()).await;
        let relay = world.relay(PATIENT).await;
        world.receiver.received(1).await;
        world.base.execute("update aftercommit.owed set cancel_at = now()").await;
        world.receiver.release();
        world.until(&[("delivered", 1)]).await;
        world.finish([relay]).await;
    }

    async fn a_cancel_of_what_is_in_flight_takes_effect_when_it_fails(backend: Backend) {
        let world = World::with(backend, PATIENT).await;
        world.receiver.script([Rule::always(Fault::Fail { status: 500 })]).unwrap();
        world.receiver.hold();
        world.orders(1, |_| "o-1".into()).await;
        let relay = world.relay(PATIENT).await;
        world.receiver.received(1).await;
        world.base.execute("update aftercommit.owed set cancel_at = now()").await;
        world.receiver.release();
        world.until(&[("cancelled", 1)]).await;
        assert_eq!(world.receiver.counts().requests, 1);
        world.finish([relay]).await;
    }

    async fn a_cancel_of_what_is_in_flight_takes_effect_though_nobody_knows_whether_it_arrived(backend: Backend) {
        let hold = format!("uncertain_policy = \"hold\"\n{PATIENT}");
        let world = World::with(backend, &hold).await;
        world.receiver.script([Rule::always(Fault::ProcessedThenDropped)]).unwrap();
        world.receiver.hold();
        world.orders(1, |_| "o-1".into()).await;
        let relay = world.relay(&hold).await;
        world.receiver.received(1).await;
        world.base.execute("update aftercommit.owed set cancel_at = now()").await;
        world.store.cancels_seen(2).await;
        world.receiver.release();
        world.until(&[("cancelled", 1)]).await;
        world.finish([relay]).await;
    }

    async fn rows_without_a_route_are_kept_and_sent_once_there_is_one(backend: Backend) {
        let world = World::with(backend, SWIFT).await;
        world.base.execute("insert into aftercommit.outbox (topic, row_key, op, payload) values ('late', '1', 'event', '{}')").await;
        let relay = world.relay(SWIFT).await;
        world.orders(1, |_| "o-1".into()).await;
        world.until(&[("delivered", 1)]).await;
        world.base.execute("insert into aftercommit.route (topic, destination) values ('late', 'hook')").await;
        world.until(&[("delivered", 2)]).await;
        world.finish([relay]).await;
    }

    async fn rows_without_a_route_are_routed_though_no_step_of_a_replay_comes_to_an_end(backend: Backend) {
        let world = World::with(backend, SWIFT).await;
        world.store.fail_replays(u32::MAX);
        world.base.execute("insert into aftercommit.outbox (topic, row_key, op, payload) values ('late', '1', 'event', '{}')").await;
        let relay = world.relay(SWIFT).await;
        world.store.replays_failed(1).await;
        world.base.execute("insert into aftercommit.route (topic, destination) values ('late', 'hook')").await;
        world.until(&[("delivered", 1)]).await;
        world.store.fail_replays(0);
        world.finish([relay]).await;
    }

    async fn a_destination_that_left_the_configuration_keeps_its_debts(backend: Backend) {
        let world = World::with(backend, SWIFT).await;
        let relay = world.relay(SWIFT).await;
        world.until_number("select count(*) from aftercommit.lease where owner is not null", 2).await;
        relay.relay.reload(std::collections::BTreeMap::new());
        world.until_number("select count(*) from aftercommit.lease where owner is not null", 1).await;
        world.orders(5, |number| format!("order-{number}")).await;
        assert_eq!(world.states().await["pending"], 5, "held, and to be seen");
        relay.relay.reload(world.destinations(SWIFT));
        world.until(&[("delivered", 5)]).await;
        world.finish([relay]).await;
    }

    async fn a_changed_destination_is_taken_over_in_mid_flight(backend: Backend) {
        let world = World::with(backend, SWIFT).await;
        world.receiver.hold();
        world.orders(1, |_| "before".into()).await;
        let relay = world.relay(SWIFT).await;
        world.receiver.received(1).await;
        relay.relay.reload(world.destinations(&format!("body = \"envelope\"\n{SWIFT}")));
        world.receiver.release();
        world.until(&[("delivered", 1)]).await;
        world.customer("after", 1, r#"{"a":1}"#).await;
        world.until(&[("delivered", 2)]).await;
        let effects = world.effects();
        assert_eq!(effects[0], r#"{"order":1}"#);
        assert!(effects[1].starts_with(r#"{"type":"customers","timestamp":""#), "{}", effects[1]);
        world.finish([relay]).await;
    }

    async fn a_resume_is_seen_though_the_memory_is_full(backend: Backend) {
        let world = World::with(backend, SWIFT).await;
        world.receiver.script([Rule::once(Fault::Fail { status: 410 })]).unwrap();
        world.orders(5, |number| format!("order-{number}")).await;
        let relay = world.relay_that_holds(1, SWIFT).await;
        let paused = "select count(*) from aftercommit.destination_state where paused_at is not null";
        world.until_number(paused, 1).await;
        world.base.execute("update aftercommit.destination_state set paused_at = null").await;
        world.until(&[("delivered", 5)]).await;
        world.finish([relay]).await;
    }

    async fn a_pause_changes_no_order(backend: Backend) {
        let world = World::with(backend, SWIFT).await;
        let relay = world.relay(SWIFT).await;
        world.customer("c-1", 1, r#"{"v":1}"#).await;
        world.until(&[("delivered", 1)]).await;
        // The pause comes between the moment at which a version is read and that at which its attempt goes on record.
        world.store.fail_records(u32::MAX);
        world.customer("c-1", 2, r#"{"v":2}"#).await;
        world.store.records_failed(1).await;
        let pause = "insert into aftercommit.destination_state (destination, paused_at) values ('hook', now())";
        world.base.execute(pause).await;
        let mut answers = world.store.answers();
        world.store.fail_records(0);
        answers.changed().await.unwrap();
        world.customer("c-1", 3, r#"{"v":3}"#).await;
        world.base.execute("delete from aftercommit.destination_state").await;
        world.until_number("select count(*) from aftercommit.owed", 0).await;
        assert_eq!(world.effects().last().unwrap(), r#"{"v":3}"#);
        world.finish([relay]).await;
    }

    async fn a_changed_destination_is_taken_over_though_the_database_is_away_for_a_moment(backend: Backend) {
        let world = World::with(backend, SWIFT).await;
        let relay = world.relay(SWIFT).await;
        world.orders(1, |_| "before".into()).await;
        world.until(&[("delivered", 1)]).await;
        world.store.fail_renderings(2);
        relay.relay.reload(world.destinations(&format!("body = \"envelope\"\n{SWIFT}")));
        world.store.renderings_kept(2).await;
        // What comes in the moment before it is taken over still goes out as before.
        let mut version = 0;
        while !world.effects().last().unwrap().starts_with(r#"{"type":"customers","timestamp":""#) {
            version += 1;
            assert!(version < 100, "{:?}", world.effects());
            world.customer("after", version, &format!("{{\"a\":{version}}}")).await;
            world.until(&[("delivered", 1 + version)]).await;
        }
        world.finish([relay]).await;
    }

    async fn a_shutdown_finishes_what_is_in_flight_and_hands_the_leases_back(backend: Backend) {
        let world = World::with(backend, SWIFT).await;
        world.receiver.script([Rule::always(Fault::Delay { time: Duration::from_millis(100) })]).unwrap();
        world.orders(10, |number| format!("order-{number}")).await;
        let relay = world.relay(SWIFT).await;
        world.receiver.received(10).await;
        relay.relay.shutdown(Duration::from_secs(10)).await.unwrap();
        assert_eq!(world.states().await["delivered"], 10);
        assert_eq!(world.base.number("select count(*) from aftercommit.lease where owner is not null").await, 0);
        assert_eq!(world.base.number("select count(*) from aftercommit.relay").await, 0);
        world.finish([]).await;
    }
}
