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
    async fn the_demo_with_crms_ends_with_what_is_there_equal_to_the_table(backend: Backend) {
        let world = World::empty(backend).await;
        let arguments = ["demo", "--crm", "--rows", "200", "--database", &world.url];
        let summary = Project::empty().run(&[&arguments[..], &["--json"]].concat()).await.json();
        assert_eq!(summary["clean"], true, "{summary}");
        let crms = summary["crms"].as_array().unwrap();
        let receivers: Vec<_> = crms.iter().map(|crm| crm["receiver"].as_str().unwrap()).collect();
        assert_eq!(receivers, ["Salesforce", "HubSpot"]);
        for crm in crms {
            assert_eq!((&crm["differing"], &crm["dead"]), (&0.into(), &0.into()), "{summary}");
            assert!(crm["records"].as_u64() > Some(0) && crm["attempts"].as_u64() > crm["delivered"].as_u64(), "{summary}");
        }
        let text = Project::empty().run(&arguments).await.done();
        let said = "the accounts at Salesforce equal the table, the contacts at HubSpot equal the table";
        assert!(text.contains(said) && text.contains("0 lost, 0 repeated"), "{text}");
    }

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
