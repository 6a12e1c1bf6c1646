//! The promises of ARCHITECTURE.md, section 1, each as a sentence. Crashes of a whole process stand in `crash`.

use std::collections::HashMap;
use std::time::Duration;

use aftercommit::mock::receiver::{Fault, Rule, Times};

use super::world::{Backend, SWIFT, World, on_both};

on_both! {
    /// Promise 1, nothing lost.
    async fn every_committed_row_reaches_an_end_state_whatever_the_receiver_does(backend: Backend) {
        let world = World::with(backend, SWIFT).await;
        let faults = [
            Fault::Fail { status: 500 },
            Fault::Fail { status: 502 },
            Fault::Reset,
            Fault::ProcessedThenDropped,
            Fault::ProcessedThenReset,
            Fault::Truncated,
            Fault::InvalidUtf8,
            Fault::NulBody,
            Fault::NonAsciiHeader,
        ];
        world.receiver.script(faults.into_iter().map(|fault| Rule::new(Times::Chance(0.05), fault))).unwrap();
        world.orders(300, |number| format!("order-{number}")).await;
        let relay = world.relay(SWIFT).await;
        world.until(&[("delivered", 300)]).await;
        assert_eq!(world.receiver.counts().effects, 300, "each took effect, once");
        world.finish([relay]).await;
    }

    /// Promise 2, nothing invented.
    async fn a_row_of_a_rolled_back_transaction_is_never_sent(backend: Backend) {
        let world = World::with(backend, SWIFT).await;
        world.base.execute(
            "begin;
             insert into aftercommit.outbox (topic, row_key, op, payload) values ('orders', 'ghost', 'event', '{}');
             rollback;",
        ).await;
        world.orders(1, |_| "real".into()).await;
        let relay = world.relay(SWIFT).await;
        world.until(&[("delivered", 1)]).await;
        let keys: Vec<String> =
            world.receiver.requests().iter().filter_map(|request| request.row_key().map(str::to_owned)).collect();
        assert_eq!(keys, ["real"]);
        world.finish([relay]).await;
    }

    /// Promise 3, one key.
    async fn every_attempt_of_a_delivery_carries_one_key_one_method_and_the_same_bytes(backend: Backend) {
        let world = World::with(backend, SWIFT).await;
        world.receiver.script([Rule::next(3, Fault::Fail { status: 500 })]).unwrap();
        world.customer("c-1", 1, r#"{ "id": 9007199254740993, "amount": 10.10 }"#).await;
        let relay = world.relay(SWIFT).await;
        world.until(&[("delivered", 1)]).await;
        let requests = world.receiver.requests();
        assert_eq!(requests.len(), 4);
        for request in &requests {
            assert_eq!(request.key, requests[0].key);
            assert_eq!(request.body.as_deref(), Some(br#"{ "id": 9007199254740993, "amount": 10.10 }"#.as_slice()));
        }
        let attempts: Vec<&str> = requests.iter().filter_map(|request| request.header("aftercommit-attempt")).collect();
        assert_eq!(attempts, ["1", "2", "3", "4"]);
        world.finish([relay]).await;
    }

    /// Promise 3, one key: a reload between two attempts changes neither method nor bytes.
    async fn a_retry_keeps_its_bytes_though_the_configuration_has_changed(backend: Backend) {
        let world = World::with(backend, SWIFT).await;
        world.receiver.script([Rule::once(Fault::Fail { status: 500 })]).unwrap();
        let patient = "[destinations.hook.retry]\nfirst = \"30s\"\nmax_delay = \"30s\"\n";
        world.customer("c-1", 1, r#"{"id":1}"#).await;
        let first = world.relay(patient).await;
        world.until_number("select count(*) from aftercommit.owed where attempts = 1", 1).await;
        first.relay.shutdown(Duration::from_secs(5)).await.unwrap();

        world.base.execute("update aftercommit.owed set due_at = owed_at").await;
        world.customer("c-2", 1, r#"{"id":2}"#).await;
        let other = CHANGED.to_owned() + SWIFT;
        let second = world.relay(&other).await;
        world.until(&[("delivered", 2)]).await;
        let requests = world.receiver.requests();
        let of = |key: &str| requests.iter().filter(|request| request.row_key() == Some(key)).collect::<Vec<_>>();
        assert_eq!(of("c-1").len(), 2);
        for request in of("c-1") {
            assert_eq!((request.method.as_str(), request.body.as_deref()), ("POST", Some(br#"{"id":1}"#.as_slice())));
        }
        assert_eq!(of("c-2")[0].method, "PUT", "what was never attempted follows the new configuration");
        world.finish([second]).await;
    }

    /// Promise 4, effectively once.
    async fn a_request_that_was_processed_and_dropped_takes_effect_once(backend: Backend) {
        let world = World::with(backend, SWIFT).await;
        world.receiver.script([Rule::once(Fault::ProcessedThenDropped)]).unwrap();
        world.orders(1, |_| "o-1".into()).await;
        let relay = world.relay(SWIFT).await;
        world.until(&[("delivered", 1)]).await;
        assert_eq!((world.receiver.counts().requests, world.receiver.counts().effects), (2, 1));
        let outcomes = "select count(*) from aftercommit.attempt where outcome = 'unknown'";
        assert_eq!(world.base.number(outcomes).await, 1);
        world.finish([relay]).await;
    }

    /// Promise 4, where the receiver honours no key.
    async fn an_attempt_with_unknown_outcome_is_held_where_the_operator_says_so(backend: Backend) {
        let hold = "uncertain_policy = \"hold\"\n".to_owned() + SWIFT;
        let world = World::with(backend, &hold).await;
        world.receiver.script([Rule::once(Fault::ProcessedThenDropped)]).unwrap();
        world.orders(2, |_| "o-1".into()).await;
        let relay = world.relay(&hold).await;
        world.until(&[("pending", 1), ("uncertain", 1)]).await;
        assert_eq!(world.receiver.counts().requests, 1, "not resent, and the next of its row key waits");
        world.finish([relay]).await;
    }

    /// Promise 5, re-runs are free.
    async fn a_pipeline_that_runs_again_adds_no_delivery(backend: Backend) {
        let world = World::with(backend, SWIFT).await;
        let relay = world.relay(SWIFT).await;
        for _ in 0..2 {
            world.orders(20, |number| format!("order-{number}")).await;
            world.customer("c-1", 7, r#"{"name":"Ada"}"#).await;
        }
        world.until(&[("delivered", 21)]).await;
        assert_eq!(world.receiver.counts().requests, 21);
        world.finish([relay]).await;
    }

    /// Promise 5, an older version never overwrites a newer one.
    async fn an_older_version_never_overwrites_a_newer_one(backend: Backend) {
        let world = World::with(backend, SWIFT).await;
        let relay = world.relay(SWIFT).await;
        world.customer("c-1", 2, r#"{"name":"new"}"#).await;
        world.until(&[("delivered", 1)]).await;
        world.customer("c-1", 1, r#"{"name":"old"}"#).await;
        world.customer("c-2", 1, r#"{"name":"other"}"#).await;
        world.until(&[("delivered", 2)]).await;
        assert_eq!(world.effects(), [r#"{"name":"new"}"#, r#"{"name":"other"}"#]);
        world.finish([relay]).await;
    }

    /// Promise 6, order per row.
    async fn changes_of_one_row_arrive_in_their_order_whatever_fails(backend: Backend) {
        let world = World::with(backend, SWIFT).await;
        world.receiver.script([
            Rule::new(Times::Chance(0.2), Fault::Fail { status: 500 }),
            Rule::new(Times::Chance(0.1), Fault::ProcessedThenDropped),
        ]).unwrap();
        world.orders(200, |number| format!("key-{}", number % 5)).await;
        let relay = world.relay(SWIFT).await;
        world.until(&[("delivered", 200)]).await;
        let mut last: HashMap<String, i64> = HashMap::new();
        for effect in world.receiver.effects() {
            let version = effect.row_version().unwrap().parse().unwrap();
            let before = last.insert(effect.row_key().unwrap().to_owned(), version);
            assert!(before.is_none_or(|before| before < version), "{before:?} before {version}");
        }
        world.finish([relay]).await;
    }

    /// Promise 6, for the states of a row: what stays at the receiver is the newest.
    async fn the_last_word_about_a_row_is_its_newest_version(backend: Backend) {
        let world = World::with(backend, SWIFT).await;
        world.receiver.script([Rule::new(Times::Chance(0.3), Fault::Fail { status: 503 })]).unwrap();
        let relay = world.relay(SWIFT).await;
        for version in 1..=30 {
            world.customer("c-1", version, &format!(r#"{{"v":{version}}}"#)).await;
        }
        world.until_number("select count(*) from aftercommit.owed", 0).await;
        assert_eq!(world.effects().last().unwrap(), r#"{"v":30}"#);
        let states = world.states().await;
        assert_eq!(states.values().sum::<i64>(), 30, "each ended: {states:?}");
        world.finish([relay]).await;
    }

    /// Promise 7, an attempt is on record before its first byte leaves.
    async fn an_attempt_is_on_record_when_its_request_arrives(backend: Backend) {
        let world = World::with(backend, SWIFT).await;
        let two = OTHER.replace("{url}", &world.receiver.url()) + SWIFT;
        world.apply(&two).await;
        world.receiver.hold();
        world.orders(3, |number| format!("order-{number}")).await;
        let relay = world.relay(&two).await;
        world.receiver.received(6).await;
        let entries = "select sum(json_array_length(entries)) from aftercommit.dispatch";
        assert_eq!(world.base.number(entries).await, 6, "three for each of the two destinations");
        assert_eq!(world.base.number("select count(*) from aftercommit.attempt").await, 0);
        world.receiver.release();
        world.until(&[("delivered", 6)]).await;
        world.finish([relay]).await;
    }

    /// Promise 8, a bad destination does not slow the others.
    async fn a_destination_that_hangs_does_not_slow_another(backend: Backend) {
        let world = World::with(backend, "").await;
        let two = OTHER.replace("{url}", &world.receiver.url());
        world.apply(&two).await;
        world.receiver.script([Rule::always(Fault::Hang).for_path("/stuck")]).unwrap();
        world.orders(200, |number| format!("order-{number}")).await;
        let relay = world.relay(&two).await;
        let done = "select count(*) from aftercommit.settled where destination = 'hook' and state = 'delivered'";
        world.until_number(done, 200).await;
        let stuck = "select count(*) from aftercommit.settled where destination = 'stuck'";
        assert_eq!(world.base.number(stuck).await, 0, "the other has not moved at all");
        relay.relay.abort_token().cancel();
        drop(relay);
    }
}

/// Another method and another body for `hook`.
const CHANGED: &str = "method = \"PUT\"\nbody = \"envelope\"\n";

/// A second destination, whose path the receiver leaves hanging.
const OTHER: &str = r#"
[destinations.stuck]
type = "webhook"
url = "{url}stuck"
topics = ["orders"]
allow_http = true
allow_networks = ["127.0.0.0/8"]
timeout = "1s"
"#;
