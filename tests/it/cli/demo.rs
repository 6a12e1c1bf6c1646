//! `aftercommit demo`: what a person sees first.

use crate::store::world::{Backend, World, on_both};

use super::command::Project;

#[tokio::test]
async fn the_demo_comes_out_clean_and_says_so() {
    let printed = Project::empty().run(&["demo"]).await.done();
    assert!(printed.contains("0 lost, 0 repeated"), "{printed}");
    assert!(printed.contains("rows committed"), "{printed}");
}

on_both! {
    async fn the_demo_runs_on_a_database_that_is_named_and_again_on_its_own(backend: Backend) {
        let world = World::empty(backend).await;
        let arguments = ["demo", "--json", "--rows", "100", "--database", &world.url];
        for seed in ["1", "2"] {
            let summary = Project::empty().run(&[&arguments[..], &["--seed", seed]].concat()).await.json();
            assert_eq!(summary["clean"], true, "{summary}");
            assert_eq!(summary["committed"], 100, "{summary}");
            assert!(summary["skipped"].as_u64() > Some(0) && summary["rolled_back"].as_u64() > Some(0), "{summary}");
            assert!(summary["superseded"].as_u64() > Some(0), "{summary}");
            assert!(summary["attempts"].as_u64() > summary["delivered"].as_u64(), "{summary}");
        }
    }

    async fn the_demo_keeps_off_an_outbox_that_is_not_its_own(backend: Backend) {
        let world = World::migrated(backend).await;
        let error = Project::empty().run(&["demo", "--database", &world.url]).await.failed(2);
        assert!(error.contains("not the demo's"), "{error}");
        assert_eq!(world.number("select count(*) from aftercommit.outbox").await, 0);
    }
}
