//! That a shard fails is noted by whoever holds its lease, and by nobody else.

use aftercommit::store::{Failing, Store as _};

use super::world::{Backend, World, on_both, relay};

on_both! {
    async fn the_next_owner_reads_what_the_last_one_noted(backend: Backend) {
        let world = World::routed(backend).await;
        let old = world.lease(relay(1)).await;
        assert_eq!(world.store.failing(&old.shard).await.unwrap(), None);
        let now = world.store.beat(&relay(1), std::time::Duration::from_secs(9)).await.unwrap().now;
        let mut failing = Failing {
            since: now,
            breaker_opened_at: None,
            dying_from: now.plus(std::time::Duration::from_mins(1)),
            detail: "HTTP 500".to_owned(),
        };
        world.store.note_failing(&old, Some(&failing)).await.unwrap();
        failing.breaker_opened_at = Some(now);
        world.store.note_failing(&old, Some(&failing)).await.unwrap();
        assert_eq!(world.store.failing(&old.shard).await.unwrap(), Some(failing.clone()));

        let new = world.take_from(relay(1), relay(2)).await;
        assert_eq!(world.store.failing(&new.shard).await.unwrap(), Some(failing.clone()));
        world.store.note_failing(&old, None).await.unwrap();
        assert_eq!(world.store.failing(&new.shard).await.unwrap(), Some(failing.clone()), "it has lost the lease");
        world.store.note_failing(&new, None).await.unwrap();
        world.store.note_failing(&new, None).await.unwrap();
        assert_eq!(world.store.failing(&new.shard).await.unwrap(), None);
        world.store.note_failing(&old, Some(&failing)).await.unwrap();
        assert_eq!(world.store.failing(&new.shard).await.unwrap(), None, "it has lost the lease");
    }
}
