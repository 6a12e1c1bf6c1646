//! Little memory, and more owed than it holds: nothing stops, nothing is lost, and the bounds hold.

use super::world::{Backend, SWIFT, World, on_both};
use aftercommit::mock::receiver::{Fault, Rule};

/// Far more than the relay of the story reads at once; not more, since hashes are slow without optimisation.
const LARGE: usize = 128 << 10;

on_both! {
    async fn a_row_key_that_waits_for_a_person_does_not_stop_the_shard_however_much_waits_behind_it(backend: Backend) {
        let hold = "uncertain_policy = \"hold\"\n".to_owned() + SWIFT;
        let world = World::with(backend, &hold).await;
        world.receiver.script([Rule::once(Fault::ProcessedThenDropped)]).unwrap();
        world.orders(1, |_| "held".into()).await;
        let relay = world.relay_that_holds(40, &hold).await;
        world.until(&[("uncertain", 1)]).await;
        world.orders(300, |number| if number > 250 { format!("free-{number}") } else { "held".into() }).await;
        world.until(&[("uncertain", 1), ("delivered", 50), ("pending", 250 - 1)]).await;
        // The person decides, and all of it is found again, in its order.
        world.base.execute("update aftercommit.settled set state = 'dead', reason = 'refused' where state = 'uncertain'").await;
        world.until(&[("dead", 1), ("delivered", 50 + 250 - 1)]).await;
        let number = |body: &String| body.trim_matches(|one: char| !one.is_ascii_digit()).parse::<i64>().unwrap();
        let in_order: Vec<i64> = world.effects().iter().map(number).filter(|number| (2..=250).contains(number)).collect();
        assert!(in_order.is_sorted(), "{in_order:?}");
        world.finish([relay]).await;
    }

    async fn what_waits_for_a_person_is_not_read_over_and_over(backend: Backend) {
        const WAITING: i64 = 1_000;
        let hold = "uncertain_policy = \"hold\"\n".to_owned() + SWIFT;
        let world = World::with(backend, &hold).await;
        world.receiver.script([Rule::once(Fault::ProcessedThenDropped)]).unwrap();
        world.orders(1, |_| "held".into()).await;
        let relay = world.relay(&hold).await;
        world.until(&[("uncertain", 1)]).await;
        world.orders(WAITING + 1, |_| "held".into()).await;
        let fetches = world.store.fetches("hook");
        world.store.fetched("hook", fetches + 100).await;
        let read = i64::try_from(world.store.read()).unwrap();
        assert!(read <= 2 * WAITING, "{read} were read");
        world.base.execute("update aftercommit.settled set state = 'dead', reason = 'refused' where state = 'uncertain'").await;
        world.until(&[("dead", 1), ("delivered", WAITING)]).await;
        world.finish([relay]).await;
    }

    async fn large_rows_pass_through_little_memory(backend: Backend) {
        const ROWS: i64 = 40;
        let world = World::with(backend, SWIFT).await;
        let payload = format!("\"{}\"", "x".repeat(LARGE - 2));
        for number in 1..=ROWS {
            let insert = format!(
                "insert into aftercommit.outbox (topic, row_key, op, payload) values ('orders', 'order-{number}', 'event', '{payload}')"
            );
            world.base.execute(&insert).await;
        }
        let relay = world.relay_with(SWIFT, |relay| relay.fetch_bytes = 20_000).await;
        world.until(&[("delivered", ROWS)]).await;
        let most = world.store.most_bytes();
        assert!((LARGE..=40_000 + LARGE).contains(&most), "{most} bytes of payload were held at once");
        world.finish([relay]).await;
    }
}
