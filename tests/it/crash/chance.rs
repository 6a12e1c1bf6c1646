//! Relays that are killed at random while rows flow in.

use super::world::{Backend, ORDERS, World};

const ROUNDS: usize = 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_relays_that_are_killed_at_random_twenty_times_lose_and_repeat_nothing() {
    let seed = std::env::var("AFTERCOMMIT_SEED").ok();
    let seed = seed.map_or_else(
        || uuid::Uuid::new_v4().as_u64_pair().0,
        |seed| seed.parse().unwrap(),
    );
    println!("AFTERCOMMIT_SEED={seed} chooses the same relays and moments again");
    let mut chance = fastrand::Rng::with_seed(seed);

    let mut world = World::new(Backend::Postgres).await;
    world.configure(&world.receiver.url(), "shards = 4");
    let mut relays = [world.relay(), world.relay()];
    for _ in 0..ROUNDS {
        let before = world.receiver.counts().requests;
        world.commit_batch().await;
        // Each of a batch's orders is a request at least, whatever became of earlier ones.
        world
            .received(before + chance.u64(1..=ORDERS.unsigned_abs()))
            .await;
        let killed = &mut relays[chance.usize(..2)];
        killed.signal("KILL").await;
        killed.ended().await;
        *killed = world.relay();
    }
    world.finish(relays.into()).await;
}
