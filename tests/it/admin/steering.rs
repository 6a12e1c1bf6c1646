//! The HTTP API of what people steer: deliveries settled by hand, and replays under way.

use aftercommit::core::delivery::Reason;
use serde_json::json;

use super::client::Client;
use super::world::{Backend, World, on_both};

on_both! {
    async fn a_delivery_is_hurried_marked_or_skipped_with_a_reason(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 3).await;
        world.settle("crm", "outbox_id = 1", Reason::OutcomeUnknown).await;
        let client = Client::of(&world).await;
        let marked = client.post("/v1/deliveries/1/crm/mark-delivered", r#"{"reason": "r", "evidence": "their log"}"#).await;
        assert_eq!(marked.json(), json!({"marked": 1, "left_alone": 0}));
        let hurried = client.post("/v1/deliveries/2/crm/retry-now", r#"{"reason": "r"}"#).await.json();
        assert_eq!(hurried, json!({"hurried": 0, "left_alone": 1}));
        let free = client.post("/v1/deliveries/2/crm/skip-head", r#"{"head": 1, "reason": "r"}"#).await;
        assert!(free.problem(409).contains("nothing of its row key stands before"));
        for (path, body, status) in [
            ("1/crm/mark-delivered", r#"{"reason": "r"}"#, 422),
            ("1/crm/mark-delivered", r#"{"reason": "r", "evidence": " "}"#, 422),
            ("9/crm/mark-delivered", r#"{"reason": "r", "evidence": "x"}"#, 404),
            ("9/crm/retry-now", r#"{"reason": "r"}"#, 404),
            ("9/crm/skip-head", r#"{"head": 1, "reason": "r"}"#, 404),
            ("2/crm/skip-head", r#"{"reason": "r"}"#, 422),
            ("2/crm/retry-now", r#"{"reason": ""}"#, 422),
            ("2/crm/retry-now", &format!("{{\"reason\": \"{}\"}}", "ä".repeat(1_001)), 422),
            ("1/crm/mark-delivered", &format!("{{\"reason\": \"r\", \"evidence\": \"{}\"}}", "ä".repeat(4_001)), 422),
        ] {
            client.post(&format!("/v1/deliveries/{path}"), body).await.problem(status);
        }
    }

    async fn many_deliveries_are_settled_by_ids_or_filter_after_a_dry_run(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 6).await;
        world.settle("crm", "outbox_id <= 4", Reason::Refused).await;
        let client = Client::of(&world).await;
        let dead = r#""filter": {"states": ["dead"]}"#;
        for verb in ["cancel", "retry-now", "mark-delivered"] {
            let path = format!("/v1/deliveries/{verb}");
            let dry = client.post(&path, &format!("{{{dead}, \"dry_run\": true}}")).await;
            assert_eq!(dry.status, 200, "{verb}: a dry run needs no reason");
            let bare = client.post(&path, &format!("{{{dead}}}")).await.problem(422);
            assert!(bare.contains("is missing"), "{verb}: {bare}");
            client.post(&path, r#"{"reason": "r", "evidence": "e"}"#).await.problem(422);
            let long = format!("{{{dead}, \"dry_run\": true, \"reason\": \"{}\"}}", "r".repeat(1_001));
            let long = client.post(&path, &long).await.problem(422);
            assert!(long.contains("may have 1000 characters; shorten it"), "{verb}: {long}");
        }
        let path = "/v1/deliveries/mark-delivered";
        let done = client.post(path, &format!("{{{dead}, \"reason\": \"r\", \"evidence\": \"e\"}}")).await.json();
        assert_eq!(done, json!({"marked": 4, "left_alone": 0, "next": null}));
        let ids = r#"{"ids": [{"outbox_id": 5, "destination": "crm"}, {"outbox_id": 1, "destination": "crm"}], "reason": "r"}"#;
        let done = client.post("/v1/deliveries/cancel", ids).await.json();
        assert_eq!(done, json!({"cancelled": 1, "requested": 0, "left_alone": 1, "next": null}));
        let unknown = r#"{"filter": {"destination": "crmm"}, "reason": "r"}"#;
        client.post("/v1/deliveries/retry-now", unknown).await.problem(404);
    }

    async fn replays_are_listed_stopped_and_let_go_on(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 3).await;
        let client = Client::of(&world).await;
        world.execute("insert into aftercommit.route (topic, destination) values ('orders', 'erp')").await;
        let missing = r#"{"missing": {"destination": "erp", "topic": "orders"}, "rate": 2, "dry_run": true}"#;
        let dry = client.post("/v1/replays", missing).await.json();
        assert_eq!((&dry["matched"], &dry["rate"], &dry["seconds"]), (&json!(3), &json!(2), &json!(2)));
        assert_eq!((&dry["by_state"], &dry["sample"][0]["row_key"]), (&json!({"missing": 3}), &json!("order-1")));
        let wanted = missing.replace("\"dry_run\": true", "\"reason\": \"r\"");
        let replay = client.post("/v1/replays", &wanted).await.json();
        assert_eq!((&replay["missing"]["destination"], &replay["missing"]["versions"]), (&json!("erp"), &json!("newest")));
        assert!(replay["consequence"].as_str().unwrap().starts_with("the same key"));

        let paused = client.post("/v1/replays/1/pause", r#"{"reason": "r"}"#).await.json();
        assert_eq!(paused["state"], "paused");
        let page = client.get("/v1/replays?state=paused&limit=1").await.json();
        assert_eq!((&page["replays"][0]["id"], &page["next"]), (&json!(1), &json!(null)));
        assert_eq!(client.get("/v1/replays?state=running").await.json()["replays"], json!([]));
        assert_eq!(client.post("/v1/replays/1/resume", r#"{"reason": "r"}"#).await.json()["state"], "running");
        client.post("/v1/replays/9/pause", r#"{"reason": "r"}"#).await.problem(404);
        client.post("/v1/replays/1/pause", r#"{"reason": ""}"#).await.problem(422);
        for (query, says) in [("state=lost", "known are running"), ("after=x", "invalid digit"), ("page=2", "unknown query parameter")] {
            let detail = client.get(&format!("/v1/replays?{query}")).await.problem(400);
            assert!(detail.contains(says), "{detail}");
        }
        for (body, says) in [
            (r#"{"missing": {"destination": "erp"}, "all": true, "reason": "r"}"#, "one of `ids`"),
            (r#"{"missing": {"topic": "orders"}, "reason": "r"}"#, "missing field `destination`"),
            (r#"{"missing": {"destination": "hook", "topic": "accounts"}, "reason": "r"}"#, "`accounts` is not routed to `hook`"),
            (r#"{"all": true, "rate": 0, "reason": "r"}"#, "rate"),
        ] {
            let detail = client.post("/v1/replays", body).await.problem(422);
            assert!(detail.contains(says), "{body}: {detail}");
        }
        let nowhere = r#"{"missing": {"destination": "eerp"}, "reason": "r"}"#;
        client.post("/v1/replays", nowhere).await.problem(404);
    }
}
