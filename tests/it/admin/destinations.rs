//! Destinations as a person sees them: what is configured, trying one out, what it would send and what it was sent.

use std::sync::Arc;

use aftercommit::admin::{AdminSettings, Limits};
use aftercommit::clock::{Clock, SystemClock};
use aftercommit::config::{Config, System};
use aftercommit::core::delivery::Reason;
use aftercommit::relay::assemble;
use aftercommit::relay::receivers::Receivers;
use aftercommit::store::Store as _;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::client::{Client, settings};
use super::trouble::met;
use super::world::{Backend, World, on_both};

/// Where nobody listens: a port that is reserved.
pub(super) const NOBODY: &str = "http://127.0.0.1:1/hooks/canary";

/// The configuration has `hook` at this address, with secrets wherever one can stand; `crm` it does not have.
pub(super) fn config(url: &str, more: &str) -> Config {
    let text = format!(
        r#"
[database]
url = "sqlite:unused.db"
[destinations.hook]
type = "webhook"
url = "{url}"
topics = ["orders"]
rate = "100/10s"
allow_http = true
allow_networks = ["127.0.0.0/8"]
secrets = ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"]
{more}
[destinations.hook.headers]
x-api-key = "canary"
"#
    );
    Config::parse(&text, &System::beside(std::path::Path::new(".")))
        .unwrap_or_else(|faults| panic!("{faults}"))
}

pub(super) async fn client(world: &World, config: &Config) -> Client {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let destinations = assemble::destinations(config, &clock).unwrap();
    let settings = AdminSettings {
        receivers: Receivers::of(config, &destinations, &clock),
        ..settings()
    };
    Client::with(world, settings, Limits::default()).await
}

/// Answers one request, once it has looked at the audit. Returns what it was sent, and what was on the audit by then.
async fn answer_once(listener: TcpListener, world: &World, status: &str) -> (String, i64) {
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut request = Vec::new();
    while !request.ends_with(b"}") {
        let mut part = [0; 4_096];
        let read = stream.read(&mut part).await.unwrap();
        assert!(read > 0, "it hung up");
        request.extend_from_slice(&part[..read]);
    }
    let audited = world
        .number("select count(*) from aftercommit.audit where action = 'test' and subject = 'hook'")
        .await;
    let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    stream.write_all(answer.as_bytes()).await.unwrap();
    (String::from_utf8(request).unwrap(), audited)
}

const BECAUSE: &str = r#"{"reason": "is it back?"}"#;

on_both! {
    async fn destinations_are_told_with_limits_and_last_errors_and_without_secrets(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 5).await;
        world.settle("hook", "outbox_id <= 2", Reason::Refused).await;
        met(&world, "outbox_id <= 2", "refused", 401, "HTTP 401").await;
        let client = client(&world, &config(NOBODY, "")).await;
        let all = client.get("/v1/destinations").await.json();
        let [crm, hook] = &all["destinations"].as_array().unwrap()[..] else { panic!("{all}") };
        assert_eq!((&crm["name"], &crm["kind"], &crm["url"], &crm["limits"]), (&json!("crm"), &Value::Null, &Value::Null, &Value::Null));
        assert_eq!((&hook["kind"], &hook["url"]), (&json!("webhook"), &json!("http://127.0.0.1:1/(path not shown)")));
        assert_eq!((&hook["owed"], &hook["settled"]["dead"]), (&json!(3), &json!(2)));
        assert_eq!((&hook["limits"]["requests_per_second"], &hook["limits"]["batch_size"]), (&json!(10.0), &json!(1)));
        assert_eq!(hook["last_errors"].as_array().unwrap().len(), 2);
        assert_eq!((&hook["last_errors"][0]["http_status"], &hook["last_errors"][0]["outcome"]), (&json!(401), &json!("refused")));
        assert!(!all.to_string().contains("canary"), "{all}");
        assert_eq!(client.get("/v1/destinations/hook").await.json(), *hook);
        let unknown = client.get("/v1/destinations/hok").await;
        unknown.problem(404);
        assert_eq!(unknown.json()["known"], json!(["crm", "hook"]));
    }

    async fn a_test_is_on_record_before_a_signed_ping_is_sent(backend: Backend) {
        let world = World::new(backend).await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hooks", listener.local_addr().unwrap());
        let client = client(&world, &config(&url, "")).await;
        let (told, (request, audited)) = tokio::join!(
            client.post("/v1/destinations/hook/test", BECAUSE),
            answer_once(listener, &world, "204 No Content"),
        );
        assert_eq!(audited, 1, "it is on record when it arrives");
        let told = told.json();
        assert_eq!((&told["ok"], &told["http_status"]), (&json!(true), &json!(204)));
        assert_eq!(told["sentence"], "the ping was taken with HTTP 204");
        assert!(told["duration_us"].as_u64().unwrap() > 0);
        for part in ["POST /hooks ", "aftercommit-topic: aftercommit.ping", "webhook-signature: v1,", "idempotency-key: ac1-",
            "x-api-key: canary", "{\"ping\":\""] {
            assert!(request.contains(part), "{part:?} is not in: {request}");
        }
        for table in ["owed", "settled", "attempt", "outbox"] {
            assert_eq!(world.number(&format!("select count(*) from aftercommit.{table}")).await, 0, "{table}");
        }
    }

    async fn a_test_says_what_the_receiver_said_and_where_nothing_can_be_sent_nothing_is_on_record(backend: Backend) {
        let world = World::new(backend).await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let client = client(&world, &config(&url, "")).await;
        let (told, _) = tokio::join!(
            client.post("/v1/destinations/hook/test", BECAUSE),
            answer_once(listener, &world, "401 Unauthorized"),
        );
        let told = told.json();
        assert_eq!((&told["ok"], &told["http_status"]), (&json!(false), &json!(401)));
        assert!(told["sentence"].as_str().unwrap().starts_with("the ping was refused with HTTP 401"), "{told}");
        // Nobody listens any more.
        let told = client.post("/v1/destinations/hook/test", BECAUSE).await.json();
        assert!(told["sentence"].as_str().unwrap().starts_with("the ping did not reach the receiver: "), "{told}");

        let tests = "select count(*) from aftercommit.audit where action = 'test'";
        assert_eq!(world.number(tests).await, 2);
        client.post("/v1/destinations/hook/test", r#"{"reason": " "}"#).await.problem(422);
        client.post("/v1/destinations/hok/test", BECAUSE).await.problem(404);
        let held = client.post("/v1/destinations/crm/test", BECAUSE).await;
        assert!(held.problem(409).contains("no destination `crm` in the configuration"));
        assert_eq!(held.json()["known"], json!(["hook"]));
        assert_eq!(world.number(tests).await, 2);
    }

    async fn what_is_next_is_previewed_and_what_was_sent_is_shown_as_it_was_rendered(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 8).await;
        let payload = config(NOBODY, "");
        let client = client(&world, &payload).await;
        let next = client.get("/v1/destinations/hook/preview").await.json();
        assert_eq!(next["requests"].as_array().unwrap().len(), 5);
        let next = client.get("/v1/destinations/hook/preview?limit=7").await.json();
        assert_eq!(next["requests"].as_array().unwrap().len(), 7);
        client.get("/v1/destinations/hook/preview?limit=0").await.problem(400);
        client.get("/v1/destinations/hook/preview?rows=7").await.problem(400);
        client.get("/v1/destinations/crm/preview").await.problem(409);

        let request = client.get("/v1/deliveries/1/hook/request").await.json();
        assert_eq!((&request["method"], &request["body"]), (&json!("POST"), &json!("{\"order\": 1}")));
        assert_eq!(request["headers"], next["requests"][0]["headers"]
            .as_array().unwrap().iter().map(|header| match header[0].as_str() {
                // The one moment is now, the other was.
                Some("webhook-timestamp") => request["headers"].as_array().unwrap().iter()
                    .find(|own| own[0] == "webhook-timestamp").unwrap().clone(),
                _ => header.clone(),
            }).collect::<Value>());
        assert!(!request.to_string().contains("canary") && !request.to_string().contains("v1,"), "{request}");

        let enveloped = config(NOBODY, "body = \"envelope\"");
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
        let destinations = assemble::destinations(&enveloped, &clock).unwrap();
        let spec = destinations["hook"].destination.rendering().0;
        let rendering = world.store.keep_rendering(&spec).await.unwrap();
        world.settle("hook", "outbox_id = 2", Reason::Refused).await;
        world.execute(&format!("update aftercommit.settled set rendering = {rendering}, attempts = 1 where outbox_id = 2")).await;
        met(&world, "outbox_id = 2", "refused", 400, "no").await;
        let request = client.get("/v1/deliveries/2/hook/request").await.json();
        assert!(request["body"].as_str().unwrap().starts_with("{\"type\":\"orders\","), "as it was rendered: {request}");
    }

    async fn a_request_that_cannot_be_made_is_a_conflict_with_its_cause(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 2).await;
        let client = client(&world, &config(NOBODY, "")).await;
        client.get("/v1/deliveries/9/hook/request").await.problem(404);
        assert!(client.get("/v1/deliveries/1/crm/request").await.problem(409).contains("no destination `crm` in the configuration"));
        world.execute("update aftercommit.owed set rendering = 99 where outbox_id = 1").await;
        let why = client.get("/v1/deliveries/1/hook/request").await.problem(409);
        assert!(why.contains("cannot read the recorded rendering: there is no number 99"), "{why}");
        world.execute(&format!(
            "insert into aftercommit.outbox (topic, row_key, op, payload) values ('orders', 'deep', 'event', '{}1{}')",
            "[".repeat(65), "]".repeat(65))).await;
        let why = client.get("/v1/deliveries/3/hook/request").await.problem(409);
        assert!(why.contains("no canonical form"), "{why}");
    }
}
