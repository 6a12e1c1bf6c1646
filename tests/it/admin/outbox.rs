//! Rows over HTTP: all of them or none, and a request that comes again does nothing.

use aftercommit::admin::Limits;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::client::{Answer, Client, TOKEN, settings};
use super::world::{Backend, World, on_both};

const NDJSON: &str = "application/x-ndjson";
const JSON: &str = "application/json";
const COUNT: &str = "select count(*) from aftercommit.outbox";

on_both! {
    async fn lines_and_elements_become_rows_byte_for_byte(backend: Backend) {
        let world = World::new(backend).await;
        let client = Client::of(&world).await;
        let lines = "{ \"id\": 12345678901234567890, \"at\": \"2026-11-29T18:05:37Z\", \"n\": 1.50 }\n\n{\"id\": \"b/c\", \"at\": 7}\n";
        let answer = post(&client, "/v1/outbox?topic=orders&key=id,at&version=at", NDJSON, lines, "").await;
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.json(), json!({"admitted": 2, "unchanged": 0, "stale": 0, "refused": 0, "total": 2}));
        assert_eq!(world.text("select payload from aftercommit.outbox where row_version = 7").await, "{\"id\": \"b/c\", \"at\": 7}");
        assert_eq!(world.text("select row_key from aftercommit.outbox where row_version = 7").await, "b~1c/7");

        let elements = format!("[{}]", lines.trim().replace("\n\n", ","));
        let answer = post(&client, "/v1/outbox?topic=orders&key=id,at&version=at", JSON, &elements, "").await;
        assert_eq!(answer.json(), json!({"admitted": 0, "unchanged": 2, "stale": 0, "refused": 0, "total": 2}));

        let whole = "[{\"topic\": \"accounts\", \"row_key\": \"7\", \"row_version\": 2, \"op\": \"upsert\", \"payload\": {\"a\": 1}}]";
        assert_eq!(post(&client, "/v1/outbox", JSON, whole, "").await.json()["admitted"], 1);
        let older = whole.replace("\"row_version\": 2", "\"row_version\": 1").replace("{\"a\": 1}", "{\"a\": 0}");
        assert_eq!(post(&client, "/v1/outbox", JSON, &older, "").await.json()["stale"], 1);
        assert_eq!(world.text("select subject from aftercommit.audit where action = 'enqueue' and actor = 'config' and origin = '127.0.0.1' and id = 1").await,
            "2 of 2 rows");
        assert_eq!(world.number("select count(*) from aftercommit.audit").await, 2, "what brought nothing new is not on record");
    }

    async fn the_first_bad_row_is_named_and_nothing_is_committed(backend: Backend) {
        let world = World::new(backend).await;
        let client = Client::of(&world).await;
        let good = (0..2_000).map(|id| format!("{{\"id\": {id}}}\n")).collect::<Vec<_>>().concat();
        let path = "/v1/outbox?topic=orders&key=id";
        let answer = post(&client, path, NDJSON, &format!("{good}{{\"id\"\n"), "").await;
        assert!(answer.problem(422).starts_with("line 2001: not JSON"), "{answer:?}");
        assert_eq!(answer.json()["line"], 2_001);

        let elements = "[{\"id\": 1}, {\"id\": 2}, {\"no\": 3}]";
        let answer = post(&client, path, JSON, elements, "").await;
        assert_eq!(answer.problem(422), "element 2: there is no field `id`");
        assert_eq!(answer.json()["index"], 2);

        // What only the database can see.
        let answer = post(&client, "/v1/outbox?topic=orders&key=id&op=upsert", JSON, elements, "").await;
        assert!(answer.problem(422).starts_with("element 2: ") || answer.json()["index"] == 0, "{answer:?}");
        let answer = post(&client, "/v1/outbox?topic=orders&key=id&op=upsert", NDJSON, &good, "").await;
        assert!(answer.problem(422).contains("event topic"), "{answer:?}");
        assert_eq!(answer.json()["line"], 1);
        assert_eq!(world.number(COUNT).await, 0);
    }

    async fn a_request_that_comes_again_under_its_key_gets_the_same_answer_and_does_nothing(backend: Backend) {
        let world = World::new(backend).await;
        let client = Client::of(&world).await;
        let path = "/v1/outbox?topic=accounts&key=id";
        let key = "idempotency-key: nightly-1\r\n";
        let first = post(&client, path, NDJSON, "{\"id\": 1}\n{\"id\": 2}\n", key).await;
        assert_eq!((first.status, first.header("idempotent-replayed")), (200, None));
        // Without the key it would be admitted: another state came between.
        post(&client, path, NDJSON, "{\"id\": 1, \"a\": 1}\n", "").await;
        let again = post(&client, path, NDJSON, "{\"id\": 1}\n{\"id\": 2}\n", key).await;
        assert_eq!((again.status, again.header("idempotent-replayed")), (200, Some("true")));
        assert_eq!(again.json(), first.json());
        assert_eq!(world.number(COUNT).await, 3);

        let conflict = post(&client, path, NDJSON, "{\"id\": 1}\n", key).await;
        assert!(conflict.problem(422).contains("use a new key"));
        let conflict = post(&client, &format!("{path}&op=delete"), NDJSON, "{\"id\": 1}\n{\"id\": 2}\n", key).await;
        assert!(conflict.problem(422).contains("another mapping"));

        let failed = post(&client, path, NDJSON, "{\"id\": 1\n", "idempotency-key: nightly-2\r\n").await;
        assert_eq!(failed.status, 422);
        let mended = post(&client, path, NDJSON, "{\"id\": 9}\n", "idempotency-key: nightly-2\r\n").await;
        assert_eq!(mended.status, 200, "a request that failed has left nothing: {mended:?}");
    }

    async fn a_key_is_forgotten_after_seven_days(backend: Backend) {
        let world = World::new(backend).await;
        let client = Client::of(&world).await;
        let path = "/v1/outbox?topic=accounts&key=id";
        for key in ["a", "b"] {
            post(&client, path, NDJSON, "{\"id\": 1}\n", &format!("idempotency-key: {key}\r\n")).await;
        }
        let ago = match backend {
            Backend::Postgres => "now() - interval '8 days'",
            Backend::Sqlite => "now() - 8 * 86400000000",
        };
        world.execute(&format!("update aftercommit.outbox_request set came_at = {ago} where key = 'a'")).await;
        post(&client, path, NDJSON, "{\"id\": 1}\n", "idempotency-key: c\r\n").await;
        assert_eq!(world.number("select count(*) from aftercommit.outbox_request where key in ('b', 'c')").await, 2);
        assert_eq!(world.number("select count(*) from aftercommit.outbox_request").await, 2);
    }

    async fn a_client_that_is_slow_holds_nobody_up_and_its_key_is_under_way(backend: Backend) {
        let world = World::new(backend).await;
        let client = Client::of(&world).await;
        let mut slow = client.connect().await;
        let body = "{\"id\": 1}\n{\"id\": 2}\n";
        let path = "/v1/outbox?topic=orders&key=id";
        let key = "idempotency-key: slow\r\n";
        let (begun, rest) = body.split_at(12);
        slow.write_all((head(path, NDJSON, body.len(), &format!("{key}expect: 100-continue\r\n")) + begun).as_bytes()).await.unwrap();
        let mut answer = vec![0; 25];
        slow.read_exact(&mut answer).await.unwrap();
        assert_eq!(answer, b"HTTP/1.1 100 Continue\r\n\r\n", "its body is read");
        let meanwhile = post(&client, path, NDJSON, "{\"id\": 1}\n", key).await;
        assert!(meanwhile.problem(409).contains("under way"));
        assert_eq!(post(&client, path, NDJSON, "{\"id\": 3}\n", "").await.json()["admitted"], 1);
        slow.write_all(rest.as_bytes()).await.unwrap();
        answer.clear();
        slow.read_to_end(&mut answer).await.unwrap();
        assert_eq!(Answer::read(&answer).status, 200);
    }

    async fn a_body_is_bounded_and_kept_in_a_file_where_it_is_large(backend: Backend) {
        let world = World::new(backend).await;
        let client = Client::of(&world).await;
        let path = "/v1/outbox?topic=orders&key=id";
        let wide = "x".repeat(900_000);
        let lines = (0..4).map(|id| format!("{{\"id\": {id}, \"wide\": \"{wide}\"}}\n")).collect::<Vec<_>>().concat();
        assert_eq!(post(&client, path, NDJSON, &lines, "").await.json()["admitted"], 4);

        let told = client.send(&head(path, NDJSON, 5 << 20, "")).await;
        assert!(told.problem(413).contains("max_outbox_body"), "before it is sent");
        let chunk = format!("{:x}\r\n{lines}\r\n", lines.len());
        let chunked = head(path, NDJSON, 0, "transfer-encoding: chunked\r\n").replace("content-length: 0\r\n", "");
        let mut stream = client.connect().await;
        // It may close before all is sent.
        let _ = stream.write_all((chunked + &chunk + &chunk).as_bytes()).await;
        let mut answer = vec![0; 4_096];
        let length = stream.read(&mut answer).await.unwrap();
        assert!(answer[..length].starts_with(b"HTTP/1.1 413 "));
        assert_eq!(world.number(COUNT).await, 4);
    }

    async fn what_is_no_request_for_rows_is_refused(backend: Backend) {
        let world = World::new(backend).await;
        let limits = Limits { body_timeout: std::time::Duration::from_millis(50), ..Limits::default() };
        let client = Client::with(&world, settings(), limits).await;
        let path = "/v1/outbox?topic=orders&key=id";
        let other = post(&client, path, "text/csv", "id\n1\n", "").await;
        assert!(other.problem(415).contains(NDJSON));
        assert_eq!(other.json()["type"], "urn:aftercommit:problem:unsupported-media-type");
        for (query, missing) in [("topic=orders", "key"), ("key=id", "topic"), ("op=upsert", "topic")] {
            let said = post(&client, &format!("/v1/outbox?{query}"), NDJSON, "", "").await.problem(400);
            assert!(said.starts_with(&format!("query parameter `{missing}`: it is missing; give topic and key")), "{said}");
        }
        assert!(post(&client, "/v1/outbox?topic=new&key=id", NDJSON, "", "").await.problem(400).contains("`op`"));
        assert!(post(&client, "/v1/outbox?topik=orders", NDJSON, "", "").await.problem(400).contains("topik"));
        let unknown = client.send(&format!("{}{{}}", head(path, NDJSON, 2, "").replace(TOKEN, "wrong"))).await;
        unknown.problem(401);
        let half = client.send(&format!("{}{{", head(path, NDJSON, 9, ""))).await;
        half.problem(408);
        assert_eq!(world.number(COUNT).await, 0);
    }
}

async fn post(client: &Client, path: &str, media_type: &str, body: &str, lines: &str) -> Answer {
    client
        .send(&(head(path, media_type, body.len(), lines) + body))
        .await
}

fn head(path: &str, media_type: &str, length: usize, lines: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nauthorization: Bearer {TOKEN}\r\ncontent-type: {media_type}\r\n{lines}\
         content-length: {length}\r\nhost: test\r\nconnection: close\r\n\r\n"
    )
}
