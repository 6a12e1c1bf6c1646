//! Promise 8: a bad destination does not slow the others, nor does one that owes much.

use aftercommit::mock::receiver::{Receiver, ReceiverOptions};

use super::world::{Backend, SWIFT, World, on_both};

/// `hook` as always, and `single` at a receiver of its own, which takes the notes.
fn beside(receiver: &Receiver) -> String {
    let url = receiver.url();
    format!(
        r#"{SWIFT}
        [destinations.hook.breaker]
        enabled = false
        [topics.notes]
        kind = "event"
        [destinations.single]
        type = "webhook"
        url = "{url}"
        topics = ["notes"]
        allow_http = true
        allow_networks = ["127.0.0.0/8"]
        timeout = "1s""#
    )
}

async fn note(world: &World, number: usize) {
    let insert = format!(
        "insert into aftercommit.outbox (topic, row_key, op, payload) values ('notes', 'n-{number}', 'event', '{{}}')"
    );
    world.base.execute(&insert).await;
}

on_both! {
    async fn a_row_is_found_within_two_looks_though_another_destination_owes_much(backend: Backend) {
        let world = World::with(backend, SWIFT).await;
        let receiver = Receiver::start(ReceiverOptions::default()).await.unwrap();
        let more = beside(&receiver);
        world.apply(&more).await;
        world.orders(20_000, |number| format!("order-{number}")).await;
        let relay = world.relay(&more).await;
        world.receiver.received(100).await;
        for number in 1..=5 {
            note(&world, number).await;
            let before = world.store.fetches("single");
            receiver.received(number as u64).await;
            // One look may have been under way when it was committed; the next one finds it.
            let looks = world.store.found_at("single").saturating_sub(before);
            assert!(looks <= 2, "found by look {looks}");
        }
        assert!(world.receiver.counts().requests < 20_000, "the other still owes much");
        world.finish([relay]).await;
        receiver.shutdown().await.unwrap();
    }

    async fn a_destination_that_hangs_does_not_slow_another(backend: Backend) {
        let world = World::with(backend, SWIFT).await;
        let receiver = Receiver::start(ReceiverOptions::default()).await.unwrap();
        let more = beside(&receiver);
        world.apply(&more).await;
        world.receiver.hold();
        world.orders(100, |number| format!("order-{number}")).await;
        let relay = world.relay(&more).await;
        world.receiver.received(32).await;
        for number in 1..=30 {
            note(&world, number).await;
        }
        receiver.received(30).await;
        let delivered = "select count(*) from aftercommit.settled where destination = 'single' and state = 'delivered'";
        world.until_number(delivered, 30).await;
        let hanging = "select count(*) from aftercommit.settled where destination = 'hook'";
        assert_eq!(world.base.number(hanging).await, 0, "it hangs all the while");
        world.receiver.release();
        world.until(&[("delivered", 130)]).await;
        world.finish([relay]).await;
        receiver.shutdown().await.unwrap();
    }
}
