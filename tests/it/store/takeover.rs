//! What a new owner finds: attempts that were put on record and never settled.

use aftercommit::core::decide::CancelRequest;
use aftercommit::store::Store as _;

use super::draft::{RENDERING, dispatch, under};
use super::world::{Backend, World, on_both, relay};

on_both! {
    async fn attempts_without_an_outcome_are_found_by_the_next_owner(backend: Backend) {
        let world = World::routed(backend).await;
        world.commit_many(6).await;
        let old = world.lease(relay(1)).await;
        under(&old).begin(1, &[(5, 1), (6, 1)]).commit(&world.store).await;
        under(&old).begin(2, &[(1, 1), (2, 1), (3, 1)]).commit(&world.store).await;
        under(&old).success(2, 1).retry(3, 1).commit(&world.store).await;
        assert!(world.store.orphans(&old).await.unwrap().is_empty(), "its own are no orphans");

        world.execute("update aftercommit.owed set cancel_at = now() where outbox_id = 6").await;
        let new = world.take_from(relay(1), relay(2)).await;
        let orphans = world.store.orphans(&new).await.unwrap();
        let found: Vec<_> = orphans
            .iter()
            .map(|orphan| (orphan.dispatch, orphan.owed.iter().map(|owed| owed.entry.outbox_id).collect::<Vec<_>>()))
            .collect();
        assert_eq!(found, [(dispatch(relay(1), 2), vec![1]), (dispatch(relay(1), 1), vec![5, 6])]);
        assert_eq!(orphans[0].rendering, RENDERING);
        let entry = &orphans[1].owed[1];
        assert_eq!((entry.entry.attempt, entry.entry.key_epoch, entry.excused), (1, 0, 0));
        assert_eq!((entry.cancel, entry.unknown_since, entry.rendering), (CancelRequest::Requested, None, None));
    }

    async fn a_dispatch_whose_deliveries_have_all_ended_is_found_too(backend: Backend) {
        let world = World::routed(backend).await;
        world.commit_many(1).await;
        let old = world.lease(relay(1)).await;
        under(&old).begin(1, &[(1, 1)]).commit(&world.store).await;
        under(&old).success(1, 1).commit(&world.store).await;
        let new = world.take_from(relay(1), relay(2)).await;
        let orphans = world.store.orphans(&new).await.unwrap();
        assert_eq!(orphans.len(), 1);
        assert!(orphans[0].owed.is_empty());

        under(&new).finish_dispatch(orphans[0].dispatch).commit(&world.store).await;
        assert!(world.store.orphans(&new).await.unwrap().is_empty());
    }

    async fn a_replay_with_a_new_key_is_no_orphan(backend: Backend) {
        let world = World::routed(backend).await;
        world.commit_many(1).await;
        let old = world.lease(relay(1)).await;
        under(&old).begin(1, &[(1, 1)]).commit(&world.store).await;
        world.execute("update aftercommit.owed set key_epoch = 1").await;
        let new = world.take_from(relay(1), relay(2)).await;
        assert!(world.store.orphans(&new).await.unwrap()[0].owed.is_empty());
    }

    async fn a_takeover_settles_once_what_two_owners_report(backend: Backend) {
        let world = World::routed(backend).await;
        world.commit_many(1).await;
        let old = world.lease(relay(1)).await;
        under(&old).begin(1, &[(1, 1)]).commit(&world.store).await;
        let new = world.take_from(relay(1), relay(2)).await;
        let orphan = world.store.orphans(&new).await.unwrap().remove(0);
        under(&new).unknown(1, 1, orphan.at).finish_dispatch(orphan.dispatch).commit(&world.store).await;
        under(&old).retry(1, 1).commit(&world.store).await;
        let owed = &world.owed().await.owed[0];
        assert_eq!((owed.attempts, owed.unknown_since), (1, Some(orphan.at)));
        assert_eq!(world.outcomes(1).await, "unknown");
    }
}
