//! Heartbeats and leases.

use std::time::Duration;

use aftercommit::store::Store as _;
use tokio::task::JoinSet;

use super::world::{Backend, TTL, World, connect, hook, on_both, relay, shard};

on_both! {
    async fn a_heartbeat_says_who_lives_and_what_time_it_is(backend: Backend) {
        let world = World::migrated(backend).await;
        let first = world.store.beat(&relay(2), TTL).await.unwrap();
        let second = world.store.beat(&relay(1), TTL).await.unwrap();
        assert_eq!(first.live, [relay(2)]);
        assert_eq!(second.live, [relay(1), relay(2)]);
        assert!(second.now >= first.now);

        let alone = world.store.beat(&relay(1), Duration::ZERO).await.unwrap();
        assert_eq!(alone.live, [relay(1)], "a relay is alive to itself however short the time to live");
    }

    async fn a_relay_that_was_silent_for_a_day_is_forgotten(backend: Backend) {
        let world = World::migrated(backend).await;
        world.store.beat(&relay(1), TTL).await.unwrap();
        let long_ago = match backend {
            Backend::Postgres => "update aftercommit.relay set beat_at = beat_at - interval '25 hours'",
            Backend::Sqlite => "update aftercommit.relay set beat_at = beat_at - 25 * 3600 * 1000000",
        };
        world.execute(long_ago).await;
        world.store.beat(&relay(2), TTL).await.unwrap();
        assert_eq!(world.number("select count(*) from aftercommit.relay").await, 1);
    }

    async fn a_lease_has_one_owner_until_it_is_given_back(backend: Backend) {
        let world = World::migrated(backend).await;
        let first = world.lease(relay(1)).await;
        assert_eq!(first.epoch, 1);
        world.store.beat(&relay(2), TTL).await.unwrap();
        assert_eq!(world.store.acquire(&hook(), &relay(2), TTL).await.unwrap(), None);

        world.store.release(&first).await.unwrap();
        let second = world.lease(relay(2)).await;
        assert_eq!(second.epoch, 2);
        world.store.release(&first).await.unwrap();
        let rows = world.store.leases(TTL).await.unwrap();
        assert_eq!(rows[0].live_owner, Some(relay(2)), "a lease that is lost cannot be given back");
    }

    async fn the_owner_gets_its_lease_again_under_a_new_epoch(backend: Backend) {
        let world = World::migrated(backend).await;
        assert_eq!(world.lease(relay(1)).await.epoch, 1);
        assert_eq!(world.lease(relay(1)).await.epoch, 2);
    }

    async fn a_lease_whose_owner_fell_silent_is_free(backend: Backend) {
        let world = World::migrated(backend).await;
        world.lease(relay(1)).await;
        world.store.beat(&relay(2), TTL).await.unwrap();
        let rows = world.store.leases(Duration::ZERO).await.unwrap();
        assert_eq!(rows[0].live_owner, None);
        let taken = world.store.acquire(&hook(), &relay(2), Duration::ZERO).await.unwrap();
        assert_eq!(taken.unwrap().epoch, 2);
    }

    async fn a_lease_whose_owner_said_goodbye_is_free(backend: Backend) {
        let world = World::migrated(backend).await;
        world.lease(relay(1)).await;
        assert_eq!(world.take_from(relay(1), relay(2)).await.epoch, 2);
    }

    async fn of_sixteen_relays_that_ask_at_once_one_gets_the_lease(backend: Backend) {
        let world = World::migrated(backend).await;
        let doors: Vec<_> = (0..4).map(|_| aftercommit::store::SqlStore::new(connect(&world.url))).collect();
        for number in 1..=16 {
            world.store.beat(&relay(number), TTL).await.unwrap();
        }
        for round in 1..=20 {
            let mut askers = JoinSet::new();
            for number in 1..=16_u128 {
                let store = doors[usize::try_from(number).unwrap() % 4].clone();
                askers.spawn(async move { store.acquire(&hook(), &relay(number), TTL).await.unwrap() });
            }
            let winners: Vec<_> = askers.join_all().await.into_iter().flatten().collect();
            assert_eq!(winners.len(), 1, "round {round}: {winners:?}");
            assert_eq!(winners[0].epoch, round);
            world.store.release(&winners[0]).await.unwrap();
        }
    }

    async fn nobody_shares_a_destination_that_is_divided_otherwise(backend: Backend) {
        let world = World::migrated(backend).await;
        let whole = world.lease(relay(1)).await;
        world.store.beat(&relay(2), TTL).await.unwrap();
        let half = shard("hook", 1, 2);
        assert_eq!(world.store.acquire(&half, &relay(2), TTL).await.unwrap(), None);
        assert_eq!(world.store.acquire(&half, &relay(1), TTL).await.unwrap(), None, "not even the owner may");

        world.store.release(&whole).await.unwrap();
        assert!(world.store.acquire(&half, &relay(2), TTL).await.unwrap().is_some());
        assert_eq!(world.store.acquire(&hook(), &relay(1), TTL).await.unwrap(), None);
        let other = shard("hook", 0, 2);
        assert!(world.store.acquire(&other, &relay(1), TTL).await.unwrap().is_some());
    }

    async fn of_two_divisions_asked_for_at_once_one_is_there(backend: Backend) {
        let world = World::migrated(backend).await;
        let (one, two) = (world.store.clone(), aftercommit::store::SqlStore::new(connect(&world.url)));
        for number in 1..=2 {
            world.store.beat(&relay(number), TTL).await.unwrap();
        }
        for round in 0..20 {
            let whole = shard(&format!("hook {round}"), 0, 1);
            let half = shard(&format!("hook {round}"), 1, 2);
            let (relay_one, relay_two) = (relay(1), relay(2));
            let (whole, half) = tokio::join!(
                one.acquire(&whole, &relay_one, TTL),
                two.acquire(&half, &relay_two, TTL),
            );
            let holders = usize::from(whole.unwrap().is_some()) + usize::from(half.unwrap().is_some());
            assert_eq!(holders, 1, "round {round}");
        }
    }
}
