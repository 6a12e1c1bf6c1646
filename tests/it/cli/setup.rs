//! Before anything runs: help, configuration, migration, and how each failure ends.

use crate::store::world::{Backend, World, on_both};

use super::command::Project;

const VERBS: [&str; 18] = [
    "demo",
    "init",
    "migrate",
    "apply",
    "run",
    "enqueue",
    "status",
    "list",
    "show",
    "replay",
    "cancel",
    "pause",
    "resume",
    "config",
    "key",
    "mock receiver",
    "mock salesforce",
    "mock hubspot",
];

#[tokio::test]
async fn every_verb_has_an_example_and_the_help_says_what_the_exit_codes_mean() {
    let project = Project::empty();
    for verb in VERBS {
        let arguments: Vec<&str> = verb.split(' ').chain(["--help"]).collect();
        let help = project.run(&arguments).await.done();
        assert!(help.contains(&format!("aftercommit {verb}")), "{help}");
        assert!(help.contains("Example"), "{help}");
    }
    let help = project.run(&["mock", "receiver", "--help"]).await.done();
    assert!(
        help.contains("stored-failure") && help.contains("close-idle"),
        "{help}"
    );
    for mock in ["receiver", "salesforce", "hubspot"] {
        let help = project.run(&["mock", mock, "--help"]).await.done();
        assert!(
            !help.contains("--config") && !help.contains("--database"),
            "{help}"
        );
    }
    assert!(project.run(&["--help"]).await.done().contains("Exit codes:"));
    assert_eq!(project.run(&["frobnicate"]).await.code, Some(2));
}

#[tokio::test]
async fn init_writes_a_configuration_that_works_and_overwrites_none() {
    let project = Project::empty();
    let said = project.run(&["init"]).await.done();
    let [migrate, apply, run] =
        ["migrate", "apply", "run"].map(|verb| said.find(&format!("aftercommit {verb} ")));
    assert!(migrate.is_some() && migrate < apply && apply < run, "{said}");
    let token = std::fs::read_to_string(project.path("aftercommit.token")).unwrap();
    assert!(token.trim().len() >= 32, "{token}");
    let effective = project.run(&["config"]).await.done();
    assert!(effective.contains("[destinations.crm]"), "{effective}");
    assert!(!effective.contains(token.trim()), "{effective}");
    assert_eq!(
        project.run(&["config", "--json"]).await.json()["topics"]["customers"]["kind"],
        "state"
    );

    let again = project.run(&["init"]).await.failed(1);
    assert!(again.contains("is there already"), "{again}");
    project.run(&["migrate"]).await.done();
    project.run(&["apply"]).await.done();
}

#[tokio::test]
async fn the_defaults_are_printed_as_they_are_documented() {
    let printed = Project::empty().run(&["config", "--defaults"]).await.done();
    assert_eq!(
        printed.trim_end(),
        include_str!("../../../aftercommit.default.toml").trim_end()
    );
}

#[tokio::test]
async fn a_broken_configuration_names_every_fault_with_its_line() {
    let project = Project::with("[database]\nulr = \"sqlite:x.db\"\n[relay]\nheartbeat = \"never\"\n");
    let error = project.run(&["status"]).await.failed(2);
    assert!(error.contains("aftercommit.toml:2: database.ulr"), "{error}");
    assert!(error.contains("aftercommit.toml:4: relay.heartbeat"), "{error}");
    assert!(error.contains("did you mean `url`"), "{error}");
}

#[tokio::test]
async fn a_missing_configuration_or_database_is_said_with_the_way_out() {
    let project = Project::empty();
    let error = project.run(&["status"]).await.failed(2);
    assert!(error.contains("help: `aftercommit init` writes one"), "{error}");
    let error = project
        .run(&["status", "--database", "sqlite:none.db"])
        .await
        .failed(3);
    assert!(error.contains("aftercommit migrate"), "{error}");
    let address = "postgres://me:hunter2@127.0.0.1:1/base";
    let error = project.run(&["status", "--database", address]).await.failed(3);
    assert!(!error.contains("hunter2"), "{error}");
    let error = project
        .run(&["status", "--database", "mysql://me:hunter2@host/base"])
        .await
        .failed(2);
    assert!(!error.contains("hunter2"), "{error}");
}

on_both! {
    async fn a_database_without_tables_is_told_apart_until_it_is_migrated(backend: Backend) {
        let world = World::empty(backend).await;
        let project = Project::empty();
        let arguments = |verb| [verb, "--database", &world.url, "--json"];
        world.execute("create table pipeline (id integer)").await;
        let error = project.run(&arguments("status")).await.failed(3);
        assert!(error.contains("help: run `aftercommit migrate`"), "{error}");

        assert_eq!(project.run(&arguments("migrate")).await.json()["from"], serde_json::Value::Null);
        let again = project.run(&arguments("migrate")).await.json();
        assert_eq!(again["from"], again["to"]);
        assert!(project.run(&arguments("status")).await.json()["destinations"].is_array());

        world.execute("update aftercommit.migration set version = 999 where version = 1").await;
        let error = project.run(&arguments("status")).await.failed(3);
        assert!(error.contains("help: upgrade the program"), "{error}");
    }

    async fn apply_says_which_routes_are_new_and_backfills_those_that_it_is_asked_to(backend: Backend) {
        let world = World::migrated(backend).await;
        let destination = |name: &str| format!(
            "[destinations.{name}]\ntype = \"webhook\"\nurl = \"https://example.com/\"\ntopics = [\"orders\"]\n"
        );
        let configuration = format!(
            "[database]\nurl = \"{}\"\n[topics.orders]\nkind = \"event\"\n{}", world.url, destination("first")
        );
        let project = Project::with(&configuration);
        let applied = project.run(&["apply", "--json"]).await.json();
        assert_eq!(applied["added"], serde_json::json!(["orders:first"]));
        world.execute("insert into aftercommit.outbox (topic, row_key, op, payload) values ('orders', '1', 'event', '{}')").await;

        project.write("aftercommit.toml", &(configuration + &destination("second")));
        let arguments = ["apply", "--json", "--backfill", "orders:second", "all"];
        let applied = project.run(&arguments).await.json();
        assert_eq!(applied["backfilled"], serde_json::json!([{"route": "orders:second", "rows": 1}]));
        let error = project.run(&["apply", "--backfill", "orders:third", "all"]).await.failed(2);
        assert!(error.contains("no route `orders:third`"), "{error}");
    }
}
