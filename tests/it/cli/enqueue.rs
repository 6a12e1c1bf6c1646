//! `aftercommit enqueue`: all rows or none, their bytes untouched.

use crate::store::world::{Backend, World, on_both};

use super::command::Project;

const COUNT: &str = "select count(*) from aftercommit.outbox";

on_both! {
    async fn rows_of_a_file_arrive_byte_for_byte_and_a_second_time_as_nothing_new(backend: Backend) {
        let world = World::migrated(backend).await;
        let project = Project::empty();
        let payload = r#"{ "z": 1.50, "id": 12345678901234567890, "at": "2026-11-29T18:05:37Z" }"#;
        project.write("orders.ndjson", &format!("{payload}\n\n{{\"id\": \"b\", \"at\": 7}}\n"));
        let arguments = [
            "enqueue", "--database", &world.url, "--topic", "orders", "--op", "event", "--key", "id", "--version", "at",
            "--json", "orders.ndjson",
        ];
        let first = project.run(&arguments).await.json();
        assert_eq!(first, serde_json::json!({"admitted": 2, "unchanged": 0, "stale": 0, "refused": 0, "total": 2}));
        let kept = world.text("select payload from aftercommit.outbox where row_key = '12345678901234567890'").await;
        assert_eq!(kept.as_deref(), Some(payload));
        let version = world.number("select row_version from aftercommit.outbox where row_key like '123%'").await;
        assert_eq!(version, 1_795_975_537_000_000);
        let again = project.run(&arguments).await.json();
        assert_eq!(again, serde_json::json!({"admitted": 0, "unchanged": 2, "stale": 0, "refused": 0, "total": 2}));
    }

    async fn a_bad_line_is_named_and_nothing_is_committed_however_much_went_before(backend: Backend) {
        let world = World::migrated(backend).await;
        let project = Project::empty();
        let good = (1..=3_000).map(|id| format!("{{\"id\": {id}}}\n")).collect::<Vec<_>>().concat();
        let arguments = ["enqueue", "--database", &world.url, "--topic", "t", "--op", "upsert", "--key", "id"];
        let error = project.run_with(&arguments, &format!("{good}{{\"id\": 3001\n")).await.failed(2);
        assert!(error.starts_with("error: stdin:3001: not JSON: "), "{error}");
        assert_eq!(world.number(COUNT).await, 0);

        project.write("rows.ndjson", &(good.clone() + "{\"key\": 1}\n"));
        let error = project.run(&[&arguments[..], &["rows.ndjson"]].concat()).await.failed(2);
        assert_eq!(error, "error: rows.ndjson:3001: there is no field `id`\n");
        assert_eq!(world.number(COUNT).await, 0);

        project.run_with(&arguments, &good).await.done();
        assert_eq!(world.number(COUNT).await, 3_000);
    }

    async fn what_the_database_refuses_names_the_lines_and_commits_nothing(backend: Backend) {
        let world = World::migrated(backend).await;
        let row = |key: u32, op: &str| format!(
            r#"{{"topic": "t", "row_key": "{key}", "op": "{op}", "payload": {{"a": 1}}, "headers": {{"a": "b"}}}}"#
        );
        let input = format!("{}\n{}\n", row(1, "upsert"), row(2, "event"));
        let error = Project::empty().run_with(&["enqueue", "--database", &world.url, "-"], &input).await.failed(2);
        assert!(error.starts_with("error: stdin, one of the lines 1 to 2: "), "{error}");
        assert!(error.contains("event"), "{error}");
        assert_eq!(world.number(COUNT).await, 0);
    }

    async fn csv_gives_strings_in_the_order_of_its_columns(backend: Backend) {
        let world = World::migrated(backend).await;
        let project = Project::with(&format!("[database]\nurl = \"{}\"\n[topics.orders]\nkind = \"event\"\n", world.url));
        project.write("lines.csv", "order,line,note\n10248,11,\n10248,42,\"a \"\"b\"\"\"\n");
        let arguments = ["enqueue", "--topic", "orders", "--key", "order,line", "--csv-null", "", "lines.csv"];
        let said = project.run(&arguments).await.done();
        assert!(said.starts_with("2 rows: 2 admitted"), "{said}");
        let payload = |key: &str| format!("select payload from aftercommit.outbox where row_key = '{key}' and op = 'event'");
        let first = world.text(&payload("10248/11")).await;
        assert_eq!(first.as_deref(), Some(r#"{"order":"10248","line":"11","note":null}"#));
        let second = world.text(&payload("10248/42")).await;
        assert_eq!(second.as_deref(), Some(r#"{"order":"10248","line":"42","note":"a \"b\""}"#));
    }
}

#[tokio::test]
async fn what_cannot_be_known_is_asked_for() {
    let project = Project::with("");
    let error = project
        .run(&["enqueue", "--topic", "t", "--key", "id"])
        .await
        .failed(2);
    assert!(error.contains("give --op"), "{error}");
    let error = project.run(&["enqueue", "--format", "csv"]).await.failed(2);
    assert!(error.contains("give --topic and --key"), "{error}");
    let error = project.run(&["enqueue", "none.ndjson"]).await.failed(2);
    assert!(error.contains("cannot read none.ndjson"), "{error}");
}
