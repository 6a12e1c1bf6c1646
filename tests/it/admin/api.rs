//! The HTTP API: each way in, and each way to be turned away.

use aftercommit::admin::{AdminSettings, Limits};
use aftercommit::core::delivery::Reason;
use aftercommit::store::Store as _;
use serde_json::json;

use super::client::{Client, settings};
use super::world::{Backend, TTL, World, on_both};

on_both! {
    async fn health_needs_no_token_and_says_what_is_wrong(backend: Backend) {
        let world = World::new(backend).await;
        let client = Client::of(&world).await;
        let live = client.ask("GET /livez HTTP/1.1\r\n").await;
        assert_eq!((live.status, live.json()["live"].as_bool()), (200, Some(true)));

        let early = client.ask("GET /readyz HTTP/1.1\r\n").await;
        assert_eq!((early.status, early.json()["database"]["ok"].as_bool()), (503, Some(true)));
        assert_eq!(early.json()["relay"]["detail"], "there was no heartbeat yet");

        world.store.beat(&client.relay, TTL).await.unwrap();
        let ready = client.ask("GET /readyz HTTP/1.1\r\n").await;
        assert_eq!((ready.status, ready.json()["ready"].as_bool()), (200, Some(true)));

        let long_ago = match backend {
            Backend::Postgres => "now() - interval '1 hour'",
            Backend::Sqlite => "now() - 3600000000",
        };
        world.execute(&format!("update aftercommit.relay set beat_at = {long_ago}")).await;
        assert_eq!(client.ask("GET /readyz HTTP/1.1\r\n").await.status, 503);

        world.execute("update aftercommit.migration set version = 999 where version = 1").await;
        let stale = client.ask("GET /readyz HTTP/1.1\r\n").await;
        assert_eq!(stale.status, 503);
        assert!(stale.json()["database"]["detail"].as_str().unwrap().contains("upgrade the program"));
    }

    async fn what_is_below_v1_wants_the_token(backend: Backend) {
        let world = World::new(backend).await;
        let client = Client::of(&world).await;
        assert_eq!(client.get("/v1/status").await.status, 200);
        for wrong in ["", "authorization: Bearer wrong\r\n", "authorization: Basic a-token-for-tests\r\n",
            "authorization: Bearer a-token-for-tests-and-more\r\n", "authorization: Bearer\r\n"] {
            let answer = client.ask(&format!("GET /v1/status HTTP/1.1\r\n{wrong}")).await;
            answer.problem(401);
            assert_eq!(answer.header("www-authenticate"), Some("Bearer realm=\"aftercommit\""));
        }
        client.server.reload(AdminSettings { token: None, ..settings() });
        assert!(client.get("/v1/status").await.problem(401).contains("[admin]"));
    }

    async fn the_status_is_told_with_what_the_configuration_names(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 4).await;
        let client = Client::of(&world).await;
        client.server.reload(AdminSettings { destinations: vec!["hook".to_owned()], ..settings() });
        let status = client.get("/v1/status").await.json();
        assert_eq!(status["destinations"][0]["name"], "crm");
        assert_eq!(status["destinations"][0]["configured"], false);
        assert_eq!(status["destinations"][1]["configured"], true);
        assert_eq!(status["destinations"][1]["owed"], 4);
    }

    async fn deliveries_are_listed_by_filter_and_page_by_page(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 30).await;
        world.settle("crm", "outbox_id <= 12", Reason::Refused).await;
        let client = Client::of(&world).await;
        let mut path = "/v1/deliveries?state=dead&state=uncertain&destination=crm&limit=5".to_owned();
        let mut seen = vec![];
        loop {
            let page = client.get(&path).await.json();
            seen.extend(page["deliveries"].as_array().unwrap().iter().map(|one| one["outbox_id"].as_i64().unwrap()));
            let Some(next) = page["next"].as_str() else { break };
            path = format!("/v1/deliveries?state=dead&state=uncertain&destination=crm&limit=5&after={next}");
        }
        assert!(seen.iter().copied().eq((1..=12).rev()));

        let by_row = client.get("/v1/deliveries?topic=orders&row_key=order-3&reason=refused").await.json();
        assert_eq!(by_row["deliveries"].as_array().unwrap().len(), 1);
        assert_eq!(by_row["deliveries"][0]["state"], "dead");
        let misspelt = client.get("/v1/deliveries?destination=crmm").await;
        misspelt.problem(404);
        assert_eq!(misspelt.json()["known"], json!(["crm", "hook"]));
        let future = client.get("/v1/deliveries?since=2999-01-01T00:00:00Z").await.json();
        assert_eq!(future, json!({"deliveries": [], "next": null}));
    }

    async fn a_query_that_cannot_be_read_is_refused_with_what_would_do(backend: Backend) {
        let world = World::new(backend).await;
        let client = Client::of(&world).await;
        let refused = client.get("/v1/deliveries?stat=dead").await;
        assert!(refused.problem(400).starts_with("unknown query parameter `stat`; known are: state, destination,"));
        assert_eq!(refused.json()["known"][0], "state");
        for (query, says) in [
            ("state=lost", "unknown state `lost`; known are pending"),
            ("reason=bad", "unknown reason `bad`"),
            ("since=yesterday", "RFC 3339"),
            ("limit=0", "1 to 1000"),
            ("limit=1001", "1 to 1000"),
            ("limit=many", "invalid digit"),
            ("after=here", "no cursor"),
            ("topic=a&topic=b", "given once"),
            ("first_outbox_id=x", "invalid digit"),
        ] {
            let detail = client.get(&format!("/v1/deliveries?{query}")).await.problem(400);
            assert!(detail.contains(says), "{query}: {detail}");
        }
    }

    async fn one_delivery_is_told_whole_or_said_to_be_missing(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 1).await;
        let client = Client::of(&world).await;
        let shown = client.get("/v1/deliveries/1/crm").await.json();
        assert_eq!((shown["outbox_id"].as_i64(), shown["state"].as_str()), (Some(1), Some("pending")));
        assert_eq!((shown["payload"].as_str(), shown["history"].as_array().map(Vec::len)), (Some("{\"order\": 1}"), Some(0)));
        assert!(shown["idempotency_key"].as_str().unwrap().starts_with("ac1-"));
        assert!(client.get("/v1/deliveries/1/nobody").await.problem(404).contains("outbox row 1 to `nobody`"));
        client.get("/v1/deliveries/one/crm").await.problem(400);
    }

    async fn a_delivery_is_cancelled_with_a_reason(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 2).await;
        let client = Client::of(&world).await;
        let done = client.post("/v1/deliveries/1/crm/cancel", r#"{"reason": "a mistake"}"#).await.json();
        assert_eq!(done, json!({"cancelled": 1, "requested": 0, "left_alone": 0}));
        let again = client.post("/v1/deliveries/1/crm/cancel", r#"{"reason": "a mistake"}"#).await.json();
        assert_eq!(again["left_alone"], 1);
        let line = "select actor || ' ' || origin || ' ' || subject || ': ' || reason from aftercommit.audit";
        assert_eq!(world.text(line).await, "config 127.0.0.1 delivery 1 to crm: a mistake");
        client.post("/v1/deliveries/9/crm/cancel", r#"{"reason": "a mistake"}"#).await.problem(404);
        client.post("/v1/deliveries/2/crm/cancel", r#"{"reason": " "}"#).await.problem(422);
        client.post("/v1/deliveries/2/crm/cancel", "{}").await.problem(422);
    }

    async fn a_destination_is_paused_and_resumed_with_a_reason(backend: Backend) {
        let world = World::new(backend).await;
        let client = Client::of(&world).await;
        let paused = client.post("/v1/destinations/crm/pause", r#"{"reason": "their token is gone"}"#).await.json();
        assert_eq!(paused["pause"]["by"], "config");
        assert_eq!(paused["pause"]["reason"], "their token is gone");
        let resumed = client.post("/v1/destinations/crm/resume", r#"{"reason": "it is back"}"#).await.json();
        assert_eq!(resumed, json!({"destination": "crm", "pause": null}));
        let unknown = client.post("/v1/destinations/crmm/pause", r#"{"reason": "x"}"#).await;
        unknown.problem(404);
        assert_eq!(unknown.json()["known"], json!(["crm", "hook"]));
    }

    async fn a_replay_is_accepted_once_however_often_it_is_asked_for(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 6).await;
        world.settle("crm", "outbox_id <= 4", Reason::Refused).await;
        let client = Client::of(&world).await;
        let body = r#"{"filter": {"states": ["dead"]}, "reason": "they are back"}"#;

        let dry = client.post("/v1/replays", r#"{"filter": {"states": ["dead"]}, "dry_run": true}"#).await;
        assert_eq!((dry.status, dry.json()["matched"].as_u64(), dry.json()["by_state"]["dead"].as_u64()), (200, Some(4), Some(4)));
        assert_eq!(world.number("select count(*) from aftercommit.replay").await, 0);

        let key = "idempotency-key: tuesday\r\n";
        let first = client.post_with("/v1/replays", body, key).await;
        assert_eq!((first.status, first.header("location")), (202, Some("/v1/replays/1")));
        let second = client.post_with("/v1/replays", body, key).await;
        assert_eq!((second.status, second.json()), (202, first.json()));
        let other = body.replace("dead", "delivered");
        assert!(client.post_with("/v1/replays", &other, key).await.problem(422).contains("replay 1"));

        while world.store.advance_replays(10).await.unwrap().looked_at > 0 {}
        let done = client.get("/v1/replays/1").await.json();
        assert_eq!((done["state"].as_str(), done["requeued"].as_u64()), (Some("done"), Some(4)));
        assert_eq!((&done["filter"], &done["key"], &done["force"]), (&json!({"states": ["dead"]}), &json!("same"), &json!(false)));
        client.get("/v1/replays/2").await.problem(404);
        let ended = client.post("/v1/replays/1/cancel", r#"{"reason": "enough"}"#).await.json();
        assert_eq!(ended["state"], "done");
    }

    async fn a_replay_that_says_too_little_or_nonsense_is_refused_with_the_field(backend: Backend) {
        let world = World::new(backend).await;
        let client = Client::of(&world).await;
        for (body, status, says) in [
            (r#"{"filter": {"states": ["dead"]}}"#, 422, "the reason is missing"),
            (r#"{"filter": {}, "reason": "x"}"#, 422, "narrows"),
            (r#"{"ids": [], "reason": "x"}"#, 422, "narrows"),
            (r#"{"reason": "x"}"#, 422, "one of `ids`"),
            (r#"{"all": true, "ids": [{"outbox_id": 1, "destination": "crm"}], "reason": "x"}"#, 422, "one of `ids`"),
            (r#"{"filter": {"states": ["pending"]}, "reason": "x"}"#, 422, "owed already"),
            (r#"{"filter": {"states": ["lost"]}, "reason": "x"}"#, 422, "filter.states[0]"),
            (r#"{"filter": {"since": "yesterday"}, "reason": "x"}"#, 422, "filter.since"),
            (r#"{"filter": {"stat": "dead"}, "reason": "x"}"#, 422, "unknown field `stat`"),
            (r#"{"ids": [{"outbox_id": "one", "destination": "crm"}], "reason": "x"}"#, 422, "ids[0].outbox_id"),
            (r#"{"filter": {"destination": "crmm"}, "reason": "x"}"#, 404, "no destination `crmm`; known are: crm, hook"),
            (r#"{"filter": {"destination": "crmm"}, "dry_run": true}"#, 404, "no destination `crmm`"),
            (r#"{"ids": [{"outbox_id": 1, "destination": "crm"}, {"outbox_id": 1, "destination": "crmm"}], "reason": "x"}"#,
                404, "no destination `crmm`"),
            (r#"{"ids": "#, 400, "EOF"),
            ("", 400, "EOF"),
        ] {
            let detail = client.post("/v1/replays", body).await.problem(status);
            assert!(detail.contains(says), "{body}: {detail}");
        }
        assert_eq!(world.number("select count(*) from aftercommit.replay").await, 0);
        let long = format!("idempotency-key: {}\r\n", "k".repeat(256));
        let body = r#"{"filter": {"states": ["dead"]}, "reason": "x"}"#;
        assert!(client.post_with("/v1/replays", body, &long).await.problem(400).contains("1 to 255"));
    }

    async fn of_two_idempotency_keys_in_one_request_none_is_taken(backend: Backend) {
        let world = World::new(backend).await;
        let client = Client::of(&world).await;
        let twice = "idempotency-key: one\r\nidempotency-key: two\r\n";
        let rows = r#"[{"topic": "orders", "row_key": "1", "op": "event", "payload": {}}]"#;
        for (path, body) in [("/v1/replays", r#"{"all": true, "reason": "x"}"#), ("/v1/outbox", rows)] {
            let detail = client.post_with(path, body, twice).await.problem(400);
            assert!(detail.contains("it came more than once; send one"), "{detail}");
        }
        for table in ["replay", "outbox"] {
            assert_eq!(world.number(&format!("select count(*) from aftercommit.{table}")).await, 0, "{table}");
        }
    }

    async fn what_the_api_does_not_know_is_a_problem_document_too(backend: Backend) {
        let world = World::new(backend).await;
        let limits = Limits { body_bytes: 1_000, ..Limits::default() };
        let client = Client::with(&world, settings(), limits).await;
        client.get("/v2/status").await.problem(404);
        assert!(client.get("/v1/nothing").await.problem(404).contains("/v1/nothing"));
        let wrong = client.post("/v1/status", "{}").await;
        assert!(wrong.problem(405).contains("`/v1/status` does not take POST"));
        assert_eq!(wrong.header("allow"), Some("GET,HEAD"));
        client.get("/v1/replays/1/cancel").await.problem(405);
        let form = "POST /v1/replays HTTP/1.1\r\nauthorization: Bearer a-token-for-tests\r\ncontent-type: text/plain\r\ncontent-length: 2\r\nhost: t\r\nconnection: close\r\n\r\n{}";
        client.send(form).await.problem(415);
        let large = format!(r#"{{"reason": "{}"}}"#, "x".repeat(2_000));
        assert!(client.post("/v1/destinations/crm/pause", &large).await.problem(413).contains("1000 bytes"));
        let answer = client.get("/v1/status").await;
        assert_eq!((answer.header("cache-control"), answer.header("x-content-type-options")), (Some("no-store"), Some("nosniff")));
    }
}
