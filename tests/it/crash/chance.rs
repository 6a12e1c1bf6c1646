//! Relays that are killed at random while rows flow in and the receiver fails now and then.

use aftercommit::mock::receiver::{Fault, Rule, Times};

use super::world::{Backend, ORDERS, World, on_both};

const ROUNDS: usize = 20;

on_both! {
    async fn two_relays_that_are_killed_at_random_twenty_times_lose_and_repeat_nothing(backend: Backend) {
        let seed = std::env::var("AFTERCOMMIT_SEED").ok();
        let seed = seed.map_or_else(|| uuid::Uuid::new_v4().as_u64_pair().0, |seed| seed.parse().unwrap());
        println!("AFTERCOMMIT_SEED={seed} chooses the same relays and moments again");
        let mut chance = fastrand::Rng::with_seed(seed);

        let mut world = World::new(backend).await;
        // Only on PostgreSQL can both be at work; on SQLite one waits for the other's end.
        let more = if backend == Backend::Postgres { "shards = 4" } else { "" };
        world.configure(&world.receiver.url(), more);
        let faults = [Fault::Fail { status: 500 }, Fault::ProcessedThenDropped];
        let faults = faults.map(|fault| Rule::new(Times::Chance(0.05), fault));
        world.receiver.script(faults).unwrap();
        let mut relays = [world.relay(), world.relay()];
        for _ in 0..ROUNDS {
            let before = world.receiver.counts().requests;
            world.commit_batch().await;
            // Each of a batch's orders is a request at least, whatever became of earlier ones.
            world.received(before + chance.u64(1..=ORDERS.unsigned_abs())).await;
            let killed = &mut relays[chance.usize(..2)];
            killed.signal("KILL").await;
            killed.ended().await;
            *killed = world.relay();
        }
        world.finish(relays.into()).await;
    }
}
