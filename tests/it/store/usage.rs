//! What receivers say of their daily limits: the last word counts.

use std::time::Duration;

use aftercommit::core::limit::usage::Usage;
use aftercommit::store::admin::AdminStore;
use aftercommit::store::{NotedUsage, Store as _};

use super::world::{Backend, World, on_both, relay};

on_both! {
    async fn the_last_word_of_a_receiver_counts_whoever_brings_it_first(backend: Backend) {
        let world = World::routed(backend).await;
        let now = world.store.beat(&relay(1), Duration::from_secs(9)).await.unwrap().now;
        let said = |used, after| NotedUsage {
            usage: Usage::reserving(used, 5_000, 0.05),
            heard_at: now.plus(Duration::from_secs(after)),
        };
        let desk = AdminStore::new(world.database.clone(), Duration::from_secs(9));
        let shown = async || desk.status(&[]).await.unwrap().destinations[0].usage;
        assert_eq!(shown().await, None);
        for (word, counts) in [(said(20, 2), said(20, 2)), (said(18, 1), said(20, 2)), (said(21, 3), said(21, 3))] {
            world.store.note_usage("hook", &word).await.unwrap();
            assert_eq!(shown().await, Some(counts));
        }
        world.store.note_usage("gone", &said(1, 1)).await.unwrap();
        assert_eq!(desk.status(&[]).await.unwrap().destinations.len(), 1, "nobody knows it any more");
    }
}
