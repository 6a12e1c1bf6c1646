//! A destination that is divided, and one that is divided anew. On PostgreSQL: SQLite serves one relay.

use aftercommit::store::Store as _;

use super::draft::under;
use super::world::{Backend, FetchedIds as _, LIMITS, TTL, World, hook, relay, shard};

#[tokio::test]
async fn each_delivery_belongs_to_one_shard() {
    let world = World::routed(Backend::Postgres).await;
    world.commit_many(200).await;
    let mut seen = vec![];
    for number in 0..3 {
        let part = world
            .store
            .fetch(&shard("hook", number, 3), 0, LIMITS)
            .await
            .unwrap();
        assert!(part.owed.len() > 30, "shard {number} has {}", part.owed.len());
        assert_eq!(part.upto, 200, "a window is read for all shards");
        seen.extend(part.ids());
    }
    seen.sort_unstable();
    assert_eq!(seen, (1..=200).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_shard_begins_and_settles_only_what_is_its_own() {
    let world = World::routed(Backend::Postgres).await;
    world.commit_many(20).await;
    world.store.beat(&relay(1), TTL).await.unwrap();
    let lease = world
        .store
        .acquire(&shard("hook", 0, 2), &relay(1), TTL)
        .await
        .unwrap()
        .unwrap();
    let mine = world.store.fetch(&lease.shard, 0, LIMITS).await.unwrap().ids();
    let all: Vec<_> = (1..=20).map(|id| (id, 1)).collect();
    let recorded = under(&lease).begin(1, &all).commit(&world.store).await;
    assert_eq!(recorded.begun, mine);

    let other = (1..=20).find(|id| !mine.contains(id)).unwrap();
    under(&lease).retry(other, 1).commit(&world.store).await;
    assert_eq!(
        world.store.load(&hook(), &[other], LIMITS).await.unwrap()[0].attempts,
        0
    );
    under(&lease).refused(other, 1).commit(&world.store).await;
    assert_eq!(world.state(other).await, "pending");
}

#[tokio::test]
async fn what_was_in_flight_is_found_when_the_destination_is_divided_anew() {
    let world = World::routed(Backend::Postgres).await;
    world.commit_many(20).await;
    let whole = world.lease(relay(1)).await;
    let all: Vec<_> = (1..=20).map(|id| (id, 1)).collect();
    under(&whole).begin(1, &all).commit(&world.store).await;
    world.store.leave(&relay(1)).await.unwrap();

    let mut found = vec![];
    for number in 0..2 {
        world.store.beat(&relay(2), TTL).await.unwrap();
        let lease = world
            .store
            .acquire(&shard("hook", number, 2), &relay(2), TTL)
            .await
            .unwrap()
            .unwrap();
        let orphan = world.store.orphans(&lease).await.unwrap().remove(0);
        let mut draft = under(&lease).finish_dispatch(orphan.dispatch);
        for owed in &orphan.owed {
            found.push(owed.entry.outbox_id);
            draft = draft.unknown(owed.entry.outbox_id, 1, orphan.at);
        }
        draft.commit(&world.store).await;
    }
    found.sort_unstable();
    assert_eq!(found, (1..=20).collect::<Vec<_>>());
    assert_eq!(world.number("select count(*) from aftercommit.dispatch").await, 0);
}

#[tokio::test]
async fn an_owner_from_before_the_division_writes_nothing_any_more() {
    let world = World::routed(Backend::Postgres).await;
    world.commit_many(4).await;
    world.store.beat(&relay(1), TTL).await.unwrap();
    let half = world
        .store
        .acquire(&shard("hook", 1, 2), &relay(1), TTL)
        .await
        .unwrap()
        .unwrap();
    let mine = world.store.fetch(&half.shard, 0, LIMITS).await.unwrap().ids();
    // Its heart stops; another relay takes the whole, and nobody ever takes shard 1 again.
    world.take_from(relay(1), relay(2)).await;
    let recorded = under(&half).begin(1, &[(mine[0], 1)]).commit(&world.store).await;
    assert!(!recorded.leased && recorded.begun.is_empty());
}

#[tokio::test]
async fn uncertain_deliveries_are_known_to_their_own_shard() {
    let world = World::routed(Backend::Postgres).await;
    world.commit_many(20).await;
    let lease = world.lease(relay(1)).await;
    let mut draft = under(&lease);
    for id in 1..=20 {
        draft = draft.uncertain(id, 1);
    }
    draft.commit(&world.store).await;
    let mut seen = vec![];
    for number in 0..2 {
        let part = world.store.uncertain(&shard("hook", number, 2)).await.unwrap();
        assert!(!part.is_empty());
        seen.extend(part.iter().map(|uncertain| uncertain.outbox_id));
    }
    seen.sort_unstable();
    assert_eq!(seen, (1..=20).collect::<Vec<_>>());
}
