//! `aftercommit preview`: what the next rows would send, for a person and for a program.

use crate::store::world::{Backend, World, on_both};

use super::command::Project;

/// Orders and their lines go to `hook`, whose URL has a secret in its path.
async fn project(world: &World) -> Project {
    let project = Project::with(&format!(
        r#"
[database]
url = "{}"
[topics.orders]
kind = "event"
[destinations.hook]
type = "webhook"
url = "https://example.com/hooks/canary"
topics = ["orders"]
secrets = ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"]
[destinations.hook.headers]
x-api-key = "canary"
"#,
        world.url
    ));
    project.run(&["apply"]).await.done();
    project
}

async fn commit(world: &World, row_key: &str, payload: &str) {
    world
        .execute(&format!(
            "insert into aftercommit.outbox (topic, row_key, op, payload) values ('orders', '{row_key}', 'event', '{payload}')"
        ))
        .await;
}

on_both! {
    async fn the_requests_of_the_next_rows_are_shown_without_secrets(backend: Backend) {
        let world = World::migrated(backend).await;
        let project = project(&world).await;
        assert_eq!(project.run(&["preview", "hook"]).await.done(), "nothing is owed to hook\n");
        for number in 1..=7 {
            commit(&world, &format!("o-{number}"), r#"{"total":1.50}"#).await;
        }
        let text = project.run(&["preview", "hook"]).await.done();
        assert!(text.starts_with("1. POST https://example.com/(path not shown)\n"), "{text}");
        assert!(text.contains("\n{\n  \"total\": 1.50\n}\n"), "{text}");
        assert!(text.contains("\nwebhook-signature: (secret)\n") && text.contains("\nx-api-key: (secret)\n"), "{text}");
        assert!(text.contains("orders/o-5") && !text.contains("orders/o-6"), "five by default: {text}");
        assert!(!text.contains("canary") && !text.contains("v1,"), "{text}");

        let json = project.run(&["preview", "hook", "--rows", "7", "--json"]).await.json();
        assert_eq!(json["requests"].as_array().unwrap().len(), 7);
        let first = &json["requests"][0];
        assert_eq!((&first["method"], &first["body"]), (&"POST".into(), &r#"{"total":1.50}"#.into()));
        let key = first["deliveries"][0]["idempotency_key"].as_str().unwrap();
        let header = serde_json::json!(["idempotency-key", key]);
        assert!(first["headers"].as_array().unwrap().contains(&header), "{first}");
        assert_eq!(world.number("select count(*) from aftercommit.rendering").await, 0, "nothing is written");
    }

    async fn a_paused_destination_is_previewed_all_the_same_and_an_unknown_one_is_not(backend: Backend) {
        let world = World::migrated(backend).await;
        let project = project(&world).await;
        commit(&world, "o-1", "{}").await;
        project.run(&["pause", "hook", "--reason", "x"]).await.done();
        let text = project.run(&["preview", "hook"]).await.done();
        assert!(text.starts_with("hook is paused: ") && text.contains("1. POST "), "{text}");
        let error = project.run(&["preview", "hok"]).await.failed(4);
        assert!(error.contains("no destination `hok`") && error.contains("there are: hook"), "{error}");
    }
}
