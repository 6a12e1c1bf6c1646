//! What a kill proves, and what the server commits after it.

use super::{PSQL, Story, finding};
use crate::store::world::{Backend, on_both};

/// The server goes on with a message that it has got, whatever became of its client.
#[tokio::test]
async fn two_commits_in_one_message_fail_though_the_server_brings_both_to_an_end() {
    let insert = |from: u32| {
        format!(
            "begin; insert into aftercommit.outbox (topic, row_key, row_version, op, payload)
             select 'customers', id::text, 1, 'upsert', '{{}}' from generate_series({from}, {from} + 249) as id"
        )
    };
    let message = format!(
        "{}; commit; {}; select pg_sleep(0.2); commit",
        insert(1),
        insert(251)
    );
    let story = Story::of(
        Backend::Postgres,
        &format!("{PSQL} -c \"{message}\" \"$(cat url)\""),
    )
    .await;
    story.project.write("url", &story.world.url);
    let said = finding(&story.report(&[], 1).await, "mid_run_failure", "failed");
    assert!(said.contains("seen partial while the server went on"), "{said}");
    assert!(
        said.contains("outbox rows: 250, and after a whole run 500"),
        "{said}"
    );
    let reset = story.reset();
    let report = story.report(&["--kills", "4", "--reset", &reset], 1).await;
    finding(&report, "mid_run_failure", "failed");
}

on_both! {
    async fn kills_that_meet_no_write_prove_nothing_however_many(backend: Backend) {
        let wait = match backend {
            Backend::Postgres => format!("{PSQL} -c 'select pg_sleep(1)' \"$(cat url)\" >/dev/null"),
            Backend::Sqlite => "sleep 1".to_owned(),
        };
        let story = Story::of(backend, &format!("{wait}; enqueue --version at <second; sleep 0.2")).await;
        story.project.write("url", &story.world.url);
        let report = story.report(&["--kills", "6"], 1).await;
        let said = finding(&report, "mid_run_failure", "not_proven");
        assert!(said.contains("of 6 kills none met it while it wrote"), "{said}");
    }
}

/// A statement by itself is committed by the server though its client is dead.
#[tokio::test]
async fn what_the_server_commits_after_its_client_is_dead_is_seen() {
    let insert = |from: u32, work: &str| {
        format!(
            "insert into aftercommit.outbox (topic, row_key, row_version, op, payload)
             select 'customers', id::text, 1, 'upsert', '{{}}' from generate_series({from}, {from} + 4) as id {work}"
        )
    };
    let story = Story::of(Backend::Postgres, &format!("{PSQL} -f both.sql \"$(cat url)\"")).await;
    story.project.write("url", &story.world.url);
    let long = insert(1, ", lateral (select pg_sleep(id * 0.05)) as work");
    story
        .project
        .write("both.sql", &format!("{long};\n{};\n", insert(6, "")));
    let report = story
        .report(&["--kills", "1", "--reset", &story.reset()], 1)
        .await;
    let said = finding(&report, "mid_run_failure", "failed");
    assert!(
        said.contains("outbox rows: 5, and after a whole run 10"),
        "{said}"
    );
}
