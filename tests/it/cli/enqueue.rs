//! `aftercommit enqueue`: all rows or none, their bytes untouched.

use std::os::unix::process::ExitStatusExt as _;

use crate::process::Process;
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

    async fn what_the_database_refuses_is_named_by_its_line_and_commits_nothing(backend: Backend) {
        let world = World::migrated(backend).await;
        world.execute("insert into aftercommit.topic (name, kind, max_payload_bytes) values ('t', 'state', 1000)").await;
        let row = |key: u32, op: &str| format!(
            r#"{{"topic": "t", "row_key": "{key}", "op": "{op}", "payload": {{"a": 1}}, "headers": {{"a": "b"}}}}"#
        );
        let mut input: String = (0..500).map(|key| row(key, "upsert") + "\n").collect();
        input = format!("{input}{}\n{}\n", row(1, "event"), row(2, "event"));
        let error = Project::empty().run_with(&["enqueue", "--database", &world.url, "-"], &input).await.failed(2);
        assert!(error.starts_with("error: stdin:501: "), "{error}");
        assert!(error.contains("event"), "{error}");
        assert_eq!(world.number(COUNT).await, 0);
    }

    async fn a_row_that_only_the_rows_before_it_make_wrong_is_known_by_its_neighbours(backend: Backend) {
        let world = World::migrated(backend).await;
        let row = |key: u32, op: &str| format!(r#"{{"topic": "new", "row_key": "{key}", "op": "{op}", "payload": 1}}"#);
        let good: String = (1..=1_000).map(|key| row(key, "upsert") + "\n").collect();
        let input = format!("{good}{}\n{}\n", row(1, "event"), row(2, "event"));
        let error = Project::empty().run_with(&["enqueue", "--database", &world.url], &input).await.failed(2);
        assert!(error.starts_with("error: stdin, one of the lines 1001 to 1002: "), "{error}");
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

on_both! {
    async fn what_is_refused_is_set_aside_with_its_line_and_the_rest_is_admitted(backend: Backend) {
        let world = World::migrated(backend).await;
        world.execute("insert into aftercommit.topic (name, kind, max_payload_bytes) values ('t', 'state', 60)").await;
        let project = Project::empty();
        let too_large = format!("{{\"id\": 7, \"name\": \"{}\"}}", "x".repeat(60));
        let mut lines: Vec<String> = (1..=3_000).map(|id| format!("{{\"id\": {id}}}")).collect();
        (lines[6], lines[1_499], lines[2_999]) = (too_large.clone(), "{\"id\"".to_owned(), "{\"id\": null}".to_owned());
        project.write("rows.ndjson", &lines.join("\n"));
        let arguments = ["enqueue", "--database", &world.url, "--topic", "t", "--op", "upsert", "--key", "id",
            "--batch-rows", "2000", "--refused", "refused.ndjson", "--json", "rows.ndjson"];
        let ended = project.run(&arguments).await;
        assert_eq!(ended.code, Some(1), "a person should look at them: {ended:?}");
        let summary: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
        assert_eq!(summary, serde_json::json!({"admitted": 2_997, "unchanged": 0, "stale": 0, "refused": 3, "total": 3_000}));
        assert_eq!(world.number(COUNT).await, 2_997);
        let refused = refused(&project);
        let told: Vec<_> = refused.iter().map(|line| (line["line"].as_u64().unwrap(), line["text"].as_str().unwrap())).collect();
        assert_eq!(told, [(7, too_large.as_str()), (1_500, "{\"id\""), (3_000, "{\"id\": null}")]);
        assert!(refused[0]["problem"].as_str().unwrap().contains("payload"), "{refused:?}");
        assert_eq!(refused[2]["problem"], "the field `id` is null");
    }

    async fn a_run_that_is_killed_between_its_batches_goes_on_after_the_last_commit(backend: Backend) {
        let clean = World::migrated(backend).await;
        project(&clean, 2_345).run(&ARGUMENTS).await.json();
        // On SQLite the look whether the database is fit is a commit too.
        let third = if backend == Backend::Sqlite { 4 } else { 3 };
        for (point, committed) in [("before_commit", 1_000), ("after_commit", 1_500)] {
            let crash = format!("{point}:{third}");
            let world = World::migrated(backend).await;
            let project = project(&world, 2_345);
            let mut killed = Process::start(&project.path(""), &ARGUMENTS, &[("AFTERCOMMIT_CRASH", &crash)]);
            assert!(killed.ended().await.signal().is_some(), "{crash}: {:?}", killed.log());
            assert_eq!(world.number(COUNT).await, committed, "{crash}");

            let ended = project.run(&ARGUMENTS).await;
            assert_eq!(ended.stderr, format!("going on after line {committed}: {committed} rows were committed before\n"));
            let rest = 2_345 - committed;
            let summary = serde_json::json!({
                "admitted": rest, "unchanged": 0, "stale": 0, "refused": 0, "total": rest, "resumed_after": committed
            });
            assert_eq!(ended.json(), summary, "{crash}: nothing is read into the outbox a second time");
            assert_eq!(everything(&world).await, everything(&clean).await, "{crash}");
            assert_eq!(world.number("select count(*) from aftercommit.checkpoint").await, 0, "{crash}");
        }
    }

    async fn what_an_earlier_run_had_refused_is_missed_where_its_file_has_gone(backend: Backend) {
        let world = World::migrated(backend).await;
        let project = project(&world, 1_200);
        let arguments = [&ARGUMENTS[..], &["--refused", "refused.ndjson"]].concat();
        let mut killed = Process::start(&project.path(""), &arguments, &[("AFTERCOMMIT_CRASH", "after_commit:2")]);
        assert!(killed.ended().await.signal().is_some(), "{:?}", killed.log());
        std::fs::remove_file(project.path("refused.ndjson")).unwrap();
        let ended = project.run(&arguments).await;
        assert!(ended.stderr.contains("refused.ndjson is not there: what an earlier run refused up to line "), "{ended:?}");
    }

    async fn a_run_after_one_that_came_to_its_end_begins_anew_and_finds_all_known(backend: Backend) {
        let world = World::migrated(backend).await;
        let project = project(&world, 1_200);
        project.run(&ARGUMENTS).await.json();
        let again = project.run(&ARGUMENTS).await.json();
        assert_eq!(again, serde_json::json!({"admitted": 0, "unchanged": 1_200, "stale": 0, "refused": 0, "total": 1_200}));
    }

    async fn a_file_that_has_changed_begins_anew(backend: Backend) {
        let world = World::migrated(backend).await;
        let project = project(&world, 1_200);
        project.write("rows.ndjson", &(lines(1..=1_200) + "{\"id\"\n"));
        let error = project.run(&ARGUMENTS).await;
        assert_eq!(error.code, Some(2));
        assert!(error.stderr.starts_with("lines 1 to 1000 are committed; "), "{}", error.stderr);
        assert!(error.stderr.contains("rows.ndjson:1201: not JSON"), "{}", error.stderr);

        project.write("rows.ndjson", &("{\"id\": 0}\n".to_owned() + &lines(2..=1_200)));
        let ended = project.run(&ARGUMENTS).await;
        assert!(ended.stderr.contains("beginning anew"), "{}", ended.stderr);
        let summary = serde_json::json!({"admitted": 201, "unchanged": 999, "stale": 0, "refused": 0, "total": 1_200});
        assert_eq!(ended.json(), summary);
        assert_eq!(world.number("select count(*) from aftercommit.checkpoint").await, 0);
    }

    async fn standard_input_goes_on_by_the_name_of_its_checkpoint(backend: Backend) {
        let world = World::migrated(backend).await;
        let project = project(&world, 0);
        let arguments = ["enqueue", "--topic", "t", "--key", "id", "--batch-rows", "500", "--json"];
        let error = project.run(&arguments).await.failed(2);
        assert!(error.contains("give --checkpoint"), "{error}");
        let arguments = [&arguments[..], &["--checkpoint", "nightly"]].concat();
        let broken = lines(1..=600) + "{\"id\"\n";
        assert_eq!(project.run_with(&arguments, &broken).await.code, Some(2));
        let ended = project.run_with(&arguments, &lines(1..=700)).await.json();
        assert_eq!((ended["admitted"].as_u64(), ended["resumed_after"].as_u64()), (Some(200), Some(500)));

        assert_eq!(project.run_with(&arguments, &broken).await.code, Some(2));
        let error = project.run_with(&arguments, &lines(2..=700)).await.failed(2);
        assert!(error.contains("begins anew"), "{error}");
        let ended = project.run_with(&arguments, &lines(2..=700)).await.json();
        assert_eq!((ended["unchanged"].as_u64(), ended.get("resumed_after")), (Some(699), None));
    }
}

const ARGUMENTS: [&str; 9] = [
    "enqueue",
    "--topic",
    "t",
    "--key",
    "id",
    "--batch-rows",
    "500",
    "--json",
    "rows.ndjson",
];

/// A project with a file of so many rows.
fn project(world: &World, rows: u32) -> Project {
    let project = Project::with(&format!(
        "[database]\nurl = \"{}\"\n[topics.t]\nkind = \"state\"\n",
        world.url
    ));
    project.write("rows.ndjson", &lines(1..=rows));
    project
}

fn lines(ids: impl Iterator<Item = u32>) -> String {
    ids.map(|id| format!("{{\"id\": {id}}}\n"))
        .collect::<Vec<_>>()
        .concat()
}

fn refused(project: &Project) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(project.path("refused.ndjson")).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// What tells two ends apart: every row of the outbox and what is owed.
async fn everything(world: &World) -> (Option<String>, i64) {
    let rows =
        "select count(*) || ' ' || sum(generation) || ' ' || count(distinct row_key) || ' ' || max(row_key)
        from aftercommit.outbox";
    (
        world.text(rows).await,
        world.number("select count(*) from aftercommit.owed").await,
    )
}

#[cfg(not(feature = "parquet"))]
#[tokio::test]
async fn a_program_without_parquet_says_how_to_get_it() {
    let project = Project::with("");
    project.write("rows.parquet", "PAR1");
    let arguments = [
        "enqueue",
        "--topic",
        "t",
        "--op",
        "upsert",
        "--key",
        "id",
        "rows.parquet",
    ];
    let error = project.run(&arguments).await.failed(2);
    assert!(error.contains("--features parquet"), "{error}");
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
