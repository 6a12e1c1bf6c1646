//! What a receiver or a database can do wrong, and what becomes of the delivery.

use std::time::Duration;

use aftercommit::mock::receiver::{Fault, Rule};

use super::world::{Backend, SWIFT, World, on_both};

on_both! {
    async fn a_refusal_for_good_is_dead_at_once(backend: Backend) {
        let world = World::with(backend, SWIFT).await;
        world.receiver.script([Rule::once(Fault::Fail { status: 422 })]).unwrap();
        world.orders(1, |_| "o-1".into()).await;
        let relay = world.relay(SWIFT).await;
        world.until(&[("dead", 1)]).await;
        assert_eq!(world.base.text("select reason from aftercommit.settled").await.unwrap(), "refused");
        world.finish([relay]).await;
    }

    async fn three_attempts_at_most_means_three_requests(backend: Backend) {
        let three = SWIFT.to_owned() + "max_attempts = 3\n";
        let world = World::with(backend, &three).await;
        world.receiver.script([Rule::always(Fault::Fail { status: 500 })]).unwrap();
        world.orders(1, |_| "o-1".into()).await;
        let relay = world.relay(&three).await;
        world.until(&[("dead", 1)]).await;
        assert_eq!(world.receiver.counts().requests, 3);
        assert_eq!(world.base.text("select reason from aftercommit.settled").await.unwrap(), "attempts_exhausted");
        world.finish([relay]).await;
    }

    async fn a_stored_failure_is_dead_with_that_reason(backend: Backend) {
        let world = World::with(backend, SWIFT).await;
        world.receiver.script([Rule::once(Fault::StoredFailure { status: 500 })]).unwrap();
        world.orders(1, |_| "o-1".into()).await;
        let relay = world.relay(SWIFT).await;
        world.until(&[("dead", 1)]).await;
        assert_eq!(world.base.text("select reason from aftercommit.settled").await.unwrap(), "stored_failure");
        world.finish([relay]).await;
    }

    async fn a_throttled_destination_waits_as_a_whole_and_no_attempt_counts(backend: Backend) {
        let once = SWIFT.to_owned() + "max_attempts = 1\n";
        let world = World::with(backend, &once).await;
        let busy = Fault::Throttle { status: 429, retry_after: "1".into() };
        world.receiver.script([Rule::once(busy)]).unwrap();
        world.orders(40, |number| format!("order-{number}")).await;
        let relay = world.relay(&once).await;
        world.until(&[("delivered", 40)]).await;
        let requests = world.receiver.requests();
        let throttled = requests.iter().find(|request| request.status == Some(429)).unwrap();
        let again = requests.iter().filter(|request| request.key == throttled.key).nth(1).unwrap();
        assert!(again.elapsed >= throttled.elapsed + Duration::from_secs(1), "Retry-After is never undercut");
        world.finish([relay]).await;
    }

    async fn a_relay_that_waits_for_a_throttled_destination_sleeps(backend: Backend) {
        let world = World::with(backend, SWIFT).await;
        let busy = Fault::Throttle { status: 429, retry_after: "2".into() };
        world.receiver.script([Rule::once(busy)]).unwrap();
        world.orders(1, |_| "o-1".into()).await;
        let relay = world.relay(SWIFT).await;
        world.until_number("select count(*) from aftercommit.owed where attempts = 1", 1).await;
        // This one is due, and waits with its destination.
        world.orders(2, |number| format!("o-{number}")).await;
        let before = world.clock.looks();
        world.until(&[("delivered", 2)]).await;
        // A hundred polls in two seconds, and some eight looks at the clock for each; two and a half thousand if it wakes
        // for what it cannot send.
        let looks = world.clock.looks() - before;
        assert!(looks < 1_700, "looked at the clock {looks} times");
        world.finish([relay]).await;
    }

    async fn a_key_in_use_is_waited_for_and_no_attempt_counts(backend: Backend) {
        let once = SWIFT.to_owned() + "max_attempts = 1\n";
        let world = World::with(backend, &once).await;
        world.receiver.script([Rule::next(2, Fault::Fail { status: 409 })]).unwrap();
        world.orders(1, |_| "o-1".into()).await;
        let relay = world.relay(&once).await;
        world.until(&[("delivered", 1)]).await;
        assert_eq!(world.receiver.counts().requests, 3);
        world.finish([relay]).await;
    }

    async fn a_receiver_that_is_gone_pauses_its_destination_and_loses_nothing(backend: Backend) {
        let world = World::with(backend, SWIFT).await;
        world.receiver.script([Rule::once(Fault::Fail { status: 410 })]).unwrap();
        world.orders(1, |_| "o-1".into()).await;
        let relay = world.relay(SWIFT).await;
        let paused = "select count(*) from aftercommit.destination_state where paused_at is not null";
        world.until_number(paused, 1).await;
        world.orders(5, |number| format!("later-{number}")).await;
        assert_eq!(world.states().await["pending"], 6);
        world.base.execute("update aftercommit.destination_state set paused_at = null").await;
        world.until(&[("delivered", 6)]).await;
        world.finish([relay]).await;
    }

    async fn a_redirect_is_not_followed_and_is_not_success(backend: Backend) {
        let two = SWIFT.to_owned() + "max_attempts = 2\n";
        let world = World::with(backend, &two).await;
        let elsewhere = Fault::Redirect { status: 307, location: format!("{}elsewhere", world.receiver.url()) };
        world.receiver.script([Rule::always(elsewhere)]).unwrap();
        world.orders(1, |_| "o-1".into()).await;
        let relay = world.relay(&two).await;
        world.until(&[("dead", 1)]).await;
        assert!(world.receiver.requests().iter().all(|request| request.path() == "/"));
        world.finish([relay]).await;
    }

    async fn a_payload_without_a_canonical_form_is_dead_without_a_request(backend: Backend) {
        let world = World::with(backend, SWIFT).await;
        let deep = "[".repeat(66) + &"]".repeat(66);
        world.customer("deep", 1, &deep).await;
        world.customer("flat", 1, "{}").await;
        let relay = world.relay(SWIFT).await;
        world.until(&[("dead", 1), ("delivered", 1)]).await;
        assert_eq!(
            world.base.text("select reason from aftercommit.settled where state = 'dead'").await.unwrap(),
            "not_canonical"
        );
        assert_eq!(world.receiver.counts().requests, 1);
        world.finish([relay]).await;
    }

    async fn a_connection_that_the_receiver_closes_when_idle_loses_nothing(backend: Backend) {
        let world = World::with(backend, SWIFT).await;
        world.receiver.script([Rule::always(Fault::CloseIdle { after: Duration::ZERO })]).unwrap();
        world.orders(500, |number| format!("order-{number}")).await;
        let relay = world.relay(SWIFT).await;
        world.until(&[("delivered", 500)]).await;
        assert_eq!(world.receiver.counts().effects, 500);
        world.finish([relay]).await;
    }

    async fn a_receiver_that_hangs_is_given_up_by_the_deadline_and_its_outcome_is_unknown(backend: Backend) {
        let world = World::with(backend, SWIFT).await;
        world.receiver.script([Rule::once(Fault::Hang)]).unwrap();
        world.orders(1, |_| "o-1".into()).await;
        let relay = world.relay(SWIFT).await;
        world.until(&[("delivered", 1)]).await;
        let unknown = "select count(*) from aftercommit.attempt where number = 1 and outcome = 'unknown'";
        assert_eq!(world.base.number(unknown).await, 1);
        world.finish([relay]).await;
    }

    async fn a_database_that_loses_its_answers_repeats_no_transition(backend: Backend) {
        let world = World::with(backend, SWIFT).await;
        world.store.lose_answers(3);
        world.orders(50, |number| format!("order-{number}")).await;
        let relay = world.relay(SWIFT).await;
        world.until(&[("delivered", 50)]).await;
        assert_eq!(world.receiver.counts().requests, 50);
        assert_eq!(world.base.number("select count(*) from aftercommit.attempt").await, 50);
        world.finish([relay]).await;
    }

    async fn a_database_that_cannot_record_lets_nothing_be_sent(backend: Backend) {
        let world = World::with(backend, SWIFT).await;
        world.orders(5, |number| format!("order-{number}")).await;
        // The first record is the takeover's.
        world.store.fail_records(3);
        let relay = world.relay(SWIFT).await;
        world.until(&[("delivered", 5)]).await;
        assert_eq!(world.receiver.counts().requests, 5);
        world.finish([relay]).await;
    }

    async fn a_database_that_is_away_when_the_relay_begins_to_watch_it_does_not_end_it(backend: Backend) {
        let world = World::with(backend, SWIFT).await;
        world.store.fail_ears(2);
        let relay = world.relay(SWIFT).await;
        world.orders(5, |number| format!("order-{number}")).await;
        world.until(&[("delivered", 5)]).await;
        world.finish([relay]).await;
    }
}
