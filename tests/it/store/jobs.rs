//! The job that a dispatch travels by: noted under the lease alone, and found by the next owner.

use aftercommit::store::Store as _;

use super::draft::{dispatch, under};
use super::world::{Backend, World, on_both, relay};

on_both! {
    async fn a_job_on_record_is_found_by_the_next_owner(backend: Backend) {
        let world = World::routed(backend).await;
        world.commit_many(2).await;
        let old = world.lease(relay(1)).await;
        under(&old).begin(1, &[(1, 1)]).commit(&world.store).await;
        under(&old).begin(2, &[(2, 1)]).commit(&world.store).await;
        assert!(world.store.note_job(&old, dispatch(relay(1), 2), "750A").await.unwrap());
        assert!(world.store.note_job(&old, dispatch(relay(1), 2), "750A").await.unwrap(), "it may be repeated");

        let new = world.take_from(relay(1), relay(2)).await;
        let orphans = world.store.orphans(&new).await.unwrap();
        let jobs: Vec<_> = orphans.iter().map(|orphan| orphan.job.as_deref()).collect();
        assert_eq!(jobs, [None, Some("750A")]);
    }

    async fn without_the_lease_or_the_dispatch_no_job_is_noted(backend: Backend) {
        let world = World::routed(backend).await;
        world.commit_many(1).await;
        let old = world.lease(relay(1)).await;
        under(&old).begin(1, &[(1, 1)]).commit(&world.store).await;
        assert!(!world.store.note_job(&old, dispatch(relay(1), 9), "750A").await.unwrap());
        let new = world.take_from(relay(1), relay(2)).await;
        assert!(!world.store.note_job(&old, dispatch(relay(1), 1), "750A").await.unwrap());
        assert_eq!(world.store.orphans(&new).await.unwrap()[0].job, None);
    }
}
