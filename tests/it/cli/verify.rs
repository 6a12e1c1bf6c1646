//! `aftercommit verify`: pipelines that pass, and pipelines that fail each of its tests, told by name.
//!
//! The pipelines are scripts of the shell. Where one works for a while, that is what it is: nothing here waits for it.

mod kills;

use aftercommit::mock::receiver::{Receiver, ReceiverOptions};
use serde_json::Value;

use crate::store::world::{Backend, World, on_both};

use super::command::{Ended, Project};

const PROGRAM: &str = env!("CARGO_BIN_EXE_aftercommit");
/// PostgreSQL's client, which may stand beside its server only.
const PSQL: &str = r#"PATH="$PATH:${PG_BIN:-/usr/bin}" psql -qX"#;

/// A database, and a directory with a pipeline in it.
struct Story {
    world: World,
    project: Project,
}

impl Story {
    /// A pipeline that is this script. In it `enqueue` puts what it reads into `customers`, in one transaction, `enqueue_rows` whole
    /// rows; the files `first` and `second` hold rows with the fields `id`, `name`, `note` and `at`.
    async fn of(backend: Backend, script: &str) -> Self {
        let world = World::migrated(backend).await;
        let project = Project::empty();
        let rows = |from: u32, to: u32| -> String {
            let row = |id| {
                let note = if id % 2 == 0 { "null" } else { "\"odd\"" };
                format!(
                    "{{\"id\": {id}, \"name\": \"n{id}\", \"note\": {note}, \"at\": {}}}\n",
                    1_000 + id
                )
            };
            (from..to).map(row).collect()
        };
        // More than a batch, so that it is written before the second comes.
        project.write("first", &rows(0, 1_200));
        project.write("second", &rows(1_200, 1_300));
        let program = format!("'{PROGRAM}' enqueue --database '{}'", world.url);
        let enqueue = format!(
            "enqueue() {{ {program} --topic customers --op upsert --key id \"$@\"; }}\nenqueue_rows() {{ {program}; }}"
        );
        project.write("pipeline", &format!("set -e\n{enqueue}\n{script}\n"));
        Self { world, project }
    }

    /// A command that forgets all that the outbox holds.
    fn reset(&self) -> String {
        let url = &self.world.url;
        match self.world.backend {
            Backend::Postgres => format!(
                "{PSQL} '{url}' -c 'truncate aftercommit.outbox, aftercommit.ledger, aftercommit.owed'"
            ),
            Backend::Sqlite => {
                let file = url.trim_start_matches("sqlite://").split('?').next().unwrap();
                let forget = "delete from outbox; delete from ledger; delete from owed";
                format!(
                    "python3 -c \"import sqlite3; sqlite3.connect('{file}').executescript('begin; {forget}; commit')\""
                )
            }
        }
    }

    async fn verify(&self, options: &[&str]) -> Ended {
        let database = ["verify", "--database", &self.world.url];
        let arguments = [&database[..], options, &["--", "sh", "pipeline"]].concat();
        self.project.run(&arguments).await
    }

    /// The report of a run that must have ended with this code.
    async fn report(&self, options: &[&str], code: i32) -> Value {
        let ended = self
            .verify(&[&["--topic", "customers", "--json"], options].concat())
            .await;
        assert_eq!(ended.code, Some(code), "{ended:?}");
        serde_json::from_str(&ended.stdout).unwrap()
    }
}

/// The finding of a test, which must have had this outcome.
fn finding(report: &Value, test: &str, outcome: &str) -> String {
    let tests = report["tests"].as_array().unwrap();
    let finding = tests.iter().find(|finding| finding["test"] == test).unwrap();
    assert_eq!(finding["outcome"], outcome, "{report:#}");
    finding.to_string()
}

const GOOD: &str = "{ cat first; sleep 0.3; cat second; } | enqueue --version at";

on_both! {
    async fn a_pipeline_that_commits_once_passes_and_leaves_nothing_but_its_rows(backend: Backend) {
        let story = Story::of(backend, GOOD).await;
        let report = story.report(&[], 0).await;
        assert_eq!(report["passed"], true, "{report:#}");
        let killed = finding(&report, "mid_run_failure", "passed");
        assert!(killed.contains("killed "), "{killed}");
        assert!(killed.contains("while it wrote"), "{killed}");
        finding(&report, "re_run", "passed");
        let heard = finding(&report, "out_of_order", "passed");
        assert!(heard.contains("100 row keys") && heard.contains("last word"), "{heard}");
        let picture = &report["picture"];
        let counts = ["outbox_rows", "row_keys", "ledger_entries", "deliveries"].map(|count| picture[count].as_u64());
        assert_eq!(counts, [Some(1_300); 4], "{report:#}");
        assert_eq!(picture["nulls"], serde_json::json!({"row_versions": 0, "payloads": 0, "fields": {"note": 650}}));
        let held = story.world.number("select count(*) from aftercommit.outbox").await;
        let relays = story.world.number("select count(*) from aftercommit.relay").await;
        assert_eq!((held, relays), (1_300, 0));
        let older = "select count(*) from aftercommit.ledger where row_version < 1000";
        assert_eq!(story.world.number(older).await, 0);
    }

    async fn deliveries_that_end_meanwhile_make_no_difference_and_no_real_destination_hears_of_it(backend: Backend) {
        let story = Story::of(backend, GOOD).await;
        let receiver = Receiver::start(ReceiverOptions::default()).await.unwrap();
        story.project.write("aftercommit.toml", &format!(
            "[database]\nurl = \"{}\"\n[admin]\nlisten = \"off\"\n[relay]\npoll_idle = \"20ms\"\n\
             [topics.customers]\nkind = \"state\"\n[destinations.hook]\ntype = \"webhook\"\nurl = \"{}\"\n\
             topics = [\"customers\"]\nallow_http = true\nallow_networks = [\"127.0.0.0/8\"]\n",
            story.world.url, receiver.url()
        ));
        let mut relay = story.project.start(&["run"]);
        relay.line().await;
        let report = story.report(&[], 0).await;
        assert_eq!(report["picture"]["deliveries"], 1_300, "{report:#}");
        receiver.received(1_300).await;
        relay.signal("TERM").await;
        assert_eq!(relay.ends().await, Some(0));
        assert_eq!(receiver.counts().requests, 1_300);
        assert_eq!(story.world.number("select count(*) from aftercommit.settled where state = 'delivered'").await, 1_300);
    }

    async fn where_the_topic_held_all_of_it_before_a_kill_proves_nothing_and_that_is_no_pass(backend: Backend) {
        let story = Story::of(backend, GOOD).await;
        story.project.run(&["enqueue", "--database", &story.world.url, "--topic", "customers", "--op", "upsert",
            "--key", "id", "--version", "at", "first"]).await.done();
        story.project.run(&["enqueue", "--database", &story.world.url, "--topic", "customers", "--op", "upsert",
            "--key", "id", "--version", "at", "second"]).await.done();
        let report = story.report(&["--kills", "3"], 1).await;
        let said = finding(&report, "mid_run_failure", "not_proven");
        assert!(said.contains("held all of it before") && said.contains("--reset"), "{said}");
        finding(&report, "re_run", "passed");
        finding(&report, "out_of_order", "passed");
    }

    async fn with_a_reset_kills_are_spread_over_a_run_and_the_end_is_that_of_a_clean_one(backend: Backend) {
        let story = Story::of(backend, GOOD).await;
        let reset = story.reset();
        let report = story.report(&["--kills", "4", "--reset", &reset], 0).await;
        let killed = finding(&report, "mid_run_failure", "passed");
        assert!(killed.contains("the end was that of a clean run"), "{killed}");
        let report = story.report(&["--kills", "1", "--reset", "true"], 1).await;
        finding(&report, "mid_run_failure", "not_proven");
        let ended = story.verify(&["--topic", "customers", "--reset", "echo nobody is home >&2; exit 7"]).await;
        assert!(ended.stderr.contains("nobody is home"), "{ended:?}");
        assert!(ended.stderr.contains("error: --reset ended with exit status: 7"), "{ended:?}");
        assert_eq!(ended.code, Some(1));
    }

    async fn a_pipeline_that_commits_half_way_fails_the_mid_run_failure(backend: Backend) {
        let story = Story::of(backend, "enqueue --version at <first; sleep 1; enqueue --version at <second").await;
        let ended = story.verify(&["--topic", "customers"]).await;
        assert_eq!(ended.code, Some(1), "{ended:?}");
        let table = &ended.stdout;
        assert!(table.contains("mid-run failure   FAILED"), "{table}");
        assert!(table.contains("it left something partial"), "{table}");
        assert!(table.contains("outbox rows: 1200, and after a whole run 1300"), "{table}");
        assert!(table.contains("help: commit once"), "{table}");
        assert!(table.contains("re-run            passed") && table.contains("out of order      passed"), "{table}");
    }

    async fn a_pipeline_with_a_time_in_its_payload_fails_the_re_run_and_the_field_is_named(backend: Backend) {
        let stamp = "stamp=$(date +%s%N); sed \"s/}$/, \\\"loaded_at\\\": $stamp}/\" first | enqueue --version at";
        let story = Story::of(backend, stamp).await;
        let report = story.report(&[], 1).await;
        let said = finding(&report, "re_run", "failed");
        assert!(said.contains("outbox rows") && said.contains("deliveries"), "{said}");
        assert!(said.contains("only `loaded_at` differs, in every row") && !said.contains("attach"), "{said}");
        let held = story.world.number("select count(*) from aftercommit.outbox").await;
        assert_eq!(report["picture"]["outbox_rows"], held, "what there is at the end: {report:#}");
        let re_run = &report["tests"][1];
        let details = re_run["details"].as_array().unwrap();
        assert_eq!(details.len(), 5, "{report:#}");
        assert!(details[0].as_str().unwrap().starts_with("0: loaded_at was 1"), "{report:#}");
    }

    async fn a_pipeline_whose_row_keys_are_made_up_anew_fails_the_re_run(backend: Backend) {
        let story = Story::of(backend, "echo \"{\\\"id\\\": \\\"$(date +%s%N)\\\", \\\"at\\\": 1}\" | enqueue --version at").await;
        let said = finding(&story.report(&[], 1).await, "re_run", "failed");
        assert!(said.contains("row keys that were not there"), "{said}");
    }

    async fn a_pipeline_whose_versions_are_the_time_of_the_run_fails_the_re_run(backend: Backend) {
        let row = r#"{"topic": "customers", "row_key": "1", "row_version": %s, "op": "upsert", "payload": {}}"#;
        let story = Story::of(backend, &format!("printf '{row}' $(date +%s%N) | enqueue_rows")).await;
        let said = finding(&story.report(&[], 1).await, "re_run", "failed");
        assert!(said.contains("the time at which the row changed"), "{said}");
    }

    async fn a_pipeline_that_sends_no_versions_fails_the_out_of_order(backend: Backend) {
        let story = Story::of(backend, "{ cat first; sleep 0.2; } | enqueue").await;
        let report = story.report(&[], 1).await;
        finding(&report, "mid_run_failure", "passed");
        finding(&report, "re_run", "passed");
        let said = finding(&report, "out_of_order", "failed");
        assert!(said.contains("none of 1200 row keys has a version"), "{said}");
        assert!(said.contains("--version") && said.contains("the last transaction wins"), "{said}");
    }

    async fn a_pipeline_that_fails_ends_the_verification_with_what_it_said(backend: Backend) {
        let story = Story::of(backend, "echo the source is not there >&2; exit 1").await;
        let ended = story.verify(&["--topic", "customers"]).await;
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{ended:?}");
        assert!(ended.stderr.contains("the source is not there"), "{ended:?}");
        assert!(ended.stderr.contains("error: the pipeline ended with exit status: 1"), "{ended:?}");
    }

    async fn a_topic_to_which_the_pipeline_does_not_write_is_no_pass(backend: Backend) {
        let story = Story::of(backend, "enqueue --version at <second").await;
        let ended = story.verify(&["--topic", "costumers", "--kills", "1"]).await;
        assert_eq!(ended.code, Some(4), "{ended:?}");
        assert!(ended.stderr.contains("the topic `costumers` holds nothing"), "{ended:?}");
    }

    async fn an_attached_table_is_a_way_in_like_any_other_and_row_triggers_are_told_apart(backend: Backend) {
        let load = match backend {
            Backend::Postgres => format!("{PSQL}1 -f load.sql \"$(cat url)\""),
            Backend::Sqlite => "python3 load.py".to_owned(),
        };
        let story = Story::of(backend, &load).await;
        story.world.execute("create table customer (id integer not null primary key, name text, changed bigint)").await;
        let attach = ["attach", "customer", "--database", &story.world.url, "--topic", "customers", "--key", "id"];
        story.project.run(&[&attach[..], &["--version", "changed"]].concat()).await.done();
        story.project.write("url", &story.world.url);
        story.project.write("load.sql", "delete from customer;
            insert into customer select id, 'n' || id, 7 from generate_series(1, 500) as id;
            select pg_sleep(0.2);");
        story.project.write("load.py", "import sqlite3, time
url = open('url').read().removeprefix('sqlite://').split('?')[0]
with sqlite3.connect(url, timeout=60) as customers:
    customers.execute('delete from customer')
    customers.executemany(\"insert into customer values (?, 'n' || ?1, 7)\", [(id,) for id in range(500)])
    time.sleep(0.2)
");
        match backend {
            Backend::Postgres => {
                let report = story.report(&[], 0).await;
                assert_eq!(report["picture"]["outbox_rows"], 500, "{report:#}");
            }
            // Row triggers see a delete and an insert.
            Backend::Sqlite => {
                let said = finding(&story.report(&[], 1).await, "re_run", "failed");
                assert!(said.contains("it deletes rows and puts them in again: capture the table"), "{said}");
            }
        }
    }

    async fn asked_to_end_it_takes_the_pipeline_with_it(backend: Backend) {
        let story = Story::of(backend, "{ cat first; echo $$ >started; sleep 1000; } | enqueue --version at").await;
        std::process::Command::new("mkfifo").arg(story.project.path("started")).status().unwrap();
        let database = ["verify", "--database", &story.world.url, "--topic", "customers"];
        let reset = ["--kills", "1", "--reset", "true", "--", "sh", "pipeline"];
        let running = story.project.start(&[&database[..], &reset].concat());
        let started = story.project.path("started");
        let process = tokio::task::spawn_blocking(move || std::fs::read_to_string(started).unwrap()).await.unwrap();
        running.signal("INT").await;
        assert_eq!(running.ends().await, Some(1));
        let alive = std::process::Command::new("kill").args(["-s", "0", process.trim()]).output().unwrap();
        assert!(!alive.status.success(), "the pipeline {process} lives on");
    }
}

#[tokio::test]
async fn a_database_that_is_not_there_is_told_as_everywhere() {
    let database = "sqlite:not-there.db";
    let ended = Project::empty()
        .run(&["verify", "--database", database, "--topic", "t", "--", "true"])
        .await;
    ended.failed(3);
    let ended = Story::of(Backend::Sqlite, "").await;
    let missing = [
        "verify",
        "--database",
        &ended.world.url,
        "--topic",
        "t",
        "--",
        "no-such-program",
    ];
    let said = ended.project.run(&missing).await.failed(2);
    assert!(said.contains("`no-such-program` cannot be run"), "{said}");
}

#[tokio::test]
async fn a_run_that_takes_too_long_is_ended_and_the_option_is_named() {
    let story = Story::of(Backend::Sqlite, "echo it hangs; sleep 1000").await;
    let options = [
        "--topic",
        "customers",
        "--timeout",
        "300ms",
        "--kills",
        "1",
        "--reset",
        "true",
    ];
    let ended = story.verify(&options).await;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(
        ended
            .stderr
            .contains("it hangs\nerror: the pipeline has not ended within 0.3 s"),
        "{ended:?}"
    );
    assert!(
        ended.stderr.contains("help: give it longer with --timeout"),
        "{ended:?}"
    );
}

#[tokio::test]
async fn events_are_facts_of_their_own_and_need_no_versions() {
    let story = Story::of(Backend::Sqlite, "").await;
    let script = format!(
        "{{ cat first; sleep 0.2; }} | '{PROGRAM}' enqueue --database '{}' --topic customers --op event --key id",
        story.world.url
    );
    story.project.write("pipeline", &script);
    let report = story.report(&[], 0).await;
    let said = finding(&report, "out_of_order", "passed");
    assert!(said.contains("events are facts of their own"), "{said}");
}
