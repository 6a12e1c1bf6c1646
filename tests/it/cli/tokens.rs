//! Tokens by command line: shown once, listed without themselves, ended for good, and all of it on the audit.

use serde_json::json;

use crate::store::world::{Backend, World, on_both};

use super::command::Project;

on_both! {
    async fn a_token_is_shown_once_and_its_life_is_on_the_audit(backend: Backend) {
        let world = World::migrated(backend).await;
        let project = Project::with(&format!("[database]\nurl = \"{}\"\n", world.url));
        let made = project.run(&["token", "create", "ada", "--role", "operator", "--expires", "90d", "--json"]).await.json();
        let token = made["token"].as_str().unwrap();
        assert!(token.starts_with("aftercommit_") && token.len() == 76, "{token}");
        assert_eq!((&made["name"], &made["role"]), (&json!("ada"), &json!("operator")));
        let shown = project.run(&["token", "create", "grafana", "--role", "viewer"]).await.done();
        assert!(shown.contains("\naftercommit_") && shown.contains("not shown again"), "{shown}");

        let list = project.run(&["token", "list"]).await.done();
        assert!(list.contains("in 89d") && list.contains("never") && !list.contains("aftercommit_"), "{list}");
        assert!(!project.run(&["token", "list", "--json"]).await.done().contains(token));
        let revoked = project.run(&["token", "revoke", "ada"]).await.done();
        assert!(revoked.starts_with("ada has ended"), "{revoked}");
        assert!(project.run(&["token", "list"]).await.done().contains("revoked "));

        let audit = project.run(&["audit", "--json"]).await.json();
        let said: Vec<String> = audit["entries"].as_array().unwrap().iter().map(|entry| format!(
            "{} {} from {}", entry["action"].as_str().unwrap(), entry["subject"].as_str().unwrap(), entry["origin"].as_str().unwrap()
        )).collect();
        assert_eq!(said, [
            "revoke token ada from command line", "create viewer token grafana from command line",
            "create operator token ada from command line",
        ]);
        assert!(!audit.to_string().contains(token));
        let table = project.run(&["audit", "--limit", "1"]).await.done();
        assert!(table.contains("command line") && table.contains("more with --after 3"), "{table}");
        assert_eq!(project.run(&["audit", "--actor", "nobody"]).await.done(), "nothing of this is on record\n");
    }

    async fn a_token_that_cannot_be_made_or_ended_is_refused(backend: Backend) {
        let world = World::migrated(backend).await;
        let project = Project::with(&format!("[database]\nurl = \"{}\"\n", world.url));
        project.run(&["token", "create", "ada", "--role", "viewer"]).await.done();
        let again = project.run(&["token", "create", "ada", "--role", "viewer"]).await.failed(2);
        assert!(again.contains("choose another name"), "{again}");
        let reserved = project.run(&["token", "create", "config", "--role", "viewer"]).await.failed(2);
        assert!(reserved.contains("cannot name a token"), "{reserved}");
        project.run(&["token", "create", "bob", "--role", "admin"]).await.failed(2);
        assert!(project.run(&["token", "revoke", "eve"]).await.failed(4).contains("token list"));
    }
}
