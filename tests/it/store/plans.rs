//! The cost of the hot statements: what they read does not grow with the backlog.

use aftercommit::store::database::{at_first, in_sqlite};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection, SqliteConnection};

use super::world::{Backend, World};

const SESSION: &str = include_str!("../../../src/store/sql/postgres/session.sql");
const FETCH: &str = include_str!("../../../src/store/sql/postgres/fetch.sql");
const LOAD: &str = include_str!("../../../src/store/sql/postgres/load.sql");
const ORPHANS: &str = include_str!("../../../src/store/sql/postgres/orphans.sql");
const SWEEP: &str = include_str!("../../../src/store/sql/shared/owed_ids.sql");
const BEHIND: &str = include_str!("../../../src/store/sql/postgres/behind.sql");
const OWED_OF_ROW: &str = include_str!("../../../src/store/sql/postgres/owed_of_row.sql");
const RECORD: &str = include_str!("../../../src/store/sql/postgres/record.sql");
const TOPIC_ROWS: &str = include_str!("../../../src/store/sql/shared/topic_rows.sql");
const TOPIC_CHANGES: &str = include_str!("../../../src/store/sql/shared/topic_changes.sql");
const TOPIC_NEWEST: &str = include_str!("../../../src/store/sql/shared/topic_newest.sql");
const NOTE_JOB: &str = include_str!("../../../src/store/sql/postgres/note_job.sql");

#[tokio::test]
async fn a_fetch_reads_its_window_of_two_hundred_thousand() {
    let world = World::routed(Backend::Postgres).await;
    let mut connection = session(&world).await;
    owe_many(&mut connection).await;
    let plan = explain(
        &mut connection,
        "explain (analyze, costs off, timing off, summary off)",
        FETCH,
        "'hook', 0, 1, 100000, 500, 1000000",
    )
    .await;
    let window = plan
        .lines()
        .position(|line| line.contains("Index Scan using owed_pkey on owed (actual rows=500 loops=1)"));
    let condition = plan
        .lines()
        .nth(window.unwrap_or_else(|| panic!("{plan}")) + 1)
        .unwrap();
    assert!(
        condition.contains("Index Cond: ((destination = $1) AND (outbox_id > $4))"),
        "{plan}"
    );
    assert!(
        plan.contains("Index Scan using outbox_pkey on outbox (actual rows=1 loops=500)"),
        "{plan}"
    );
    // For each row the version before it; whether that is owed too, only where there is one.
    assert!(
        plan.contains(
            "Index Only Scan Backward using outbox_row on outbox outbox_1 (actual rows=0 loops=500)"
        ),
        "{plan}"
    );
    for look_up in ["owed_2 (never executed)", "owed_3 (never executed)"] {
        assert!(
            plan.contains(&format!("Index Only Scan using owed_pkey on owed {look_up}")),
            "{plan}"
        );
    }
    // Once for how far the window reaches, once for what it brings: nothing is sorted.
    assert_eq!(plan.matches(" on owed").count(), 4, "{plan}");
    assert!(!plan.contains("Sort"), "{plan}");
    looks_up_by_key(&plan);
    // Whatever is sorted or joined is the window.
    for rows in plan.split("actual rows=").skip(1) {
        let rows: u64 = rows[..rows.find(' ').unwrap()].parse().unwrap();
        assert!(rows <= 500, "{plan}");
    }
}

#[tokio::test]
async fn a_plan_that_was_made_for_empty_tables_serves_when_they_are_full() {
    let world = World::routed(Backend::Postgres).await;
    let mut connection = session(&world).await;
    looks_up_by_key(&plans(&mut connection).await);

    // Empty, and known to be so: a look through the whole table seems the cheapest then.
    world.commit_many(3).await;
    world
        .execute("delete from aftercommit.owed; delete from aftercommit.outbox; analyze")
        .await;
    looks_up_by_key(&plans(&mut connection).await);
}

/// The plans of the hot statements, as a relay that starts now goes on with them.
async fn plans(connection: &mut PgConnection) -> String {
    let nothing = ["'{}'"; 24].join(", ");
    let record = format!("'hook', 0, 1, 'r', 1, 'r', 1, 1, {nothing}");
    let mut plans = String::new();
    let first = at_first(RECORD);
    for (statement, args) in [
        (first.as_str(), record.as_str()),
        (RECORD, record.as_str()),
        (FETCH, "'hook', 0, 1, 0, 500, 1000000"),
        (LOAD, "'hook', 0, 1, '{1,2}', 500, 1000000"),
        (SWEEP, "'hook', 0, 1, 0, 500, 1000000"),
        (BEHIND, "'hook', '{1,2}', 1"),
        (OWED_OF_ROW, "'hook', 'orders', 'o-1', 1, 64"),
        (ORPHANS, "'hook', 0, 1, 5"),
        (NOTE_JOB, "'hook', 0, 'r', 1, 'r', 1, 'j'"),
        (TOPIC_ROWS, "'orders', '', 0, 500"),
        (TOPIC_CHANGES, "'orders', 0, 500"),
        (TOPIC_NEWEST, "'orders', 500"),
    ] {
        plans += &explain(connection, "explain (costs off)", statement, args).await;
        plans += "\n";
    }
    plans
}

/// Every table is read by conditions of its key, `owed` by both parts of it.
fn looks_up_by_key(plan: &str) {
    for wrong in ["Seq Scan", "Hash Join", "Merge Join", "settled_trouble"] {
        assert!(!plan.contains(wrong), "{wrong}: {plan}");
    }
    for (scan, condition) in plan.lines().zip(plan.lines().skip(1)) {
        if scan.contains("Index Scan") {
            assert!(condition.contains("Index Cond"), "{scan}\n{condition}\n\n{plan}");
        }
        if scan.contains("Index Scan using owed_pkey") {
            assert!(
                condition.contains("destination") && condition.contains("outbox_id"),
                "{condition}\n\n{plan}"
            );
        }
    }
}

#[tokio::test]
async fn on_sqlite_the_hot_statements_look_up_by_key() {
    let world = World::routed(Backend::Sqlite).await;
    let mut connection = SqliteConnection::connect(&world.url).await.unwrap();
    let fetch = include_str!("../../../src/store/sql/sqlite/fetch.sql");
    let load = include_str!("../../../src/store/sql/sqlite/load.sql");
    let record = include_str!("../../../src/store/sql/sqlite/record.sql");
    let behind = include_str!("../../../src/store/sql/sqlite/behind.sql");
    let owed_of_row = include_str!("../../../src/store/sql/sqlite/owed_of_row.sql");
    for statement in [
        fetch,
        load,
        SWEEP,
        behind,
        owed_of_row,
        TOPIC_CHANGES,
        TOPIC_NEWEST,
    ]
    .into_iter()
    .chain(record.split(";\n\n"))
    {
        let explain = AssertSqlSafe(format!("explain query plan {}", in_sqlite(statement)));
        let steps: Vec<(i64, i64, i64, String)> =
            sqlx::query_as(explain).fetch_all(&mut connection).await.unwrap();
        let plan: Vec<String> = steps.into_iter().map(|step| step.3).collect();
        for table in ["owed", "outbox", "settled", "attempt", "dispatch", "lease"] {
            assert!(
                !plan.contains(&format!("SCAN {table}")),
                "{table}: {plan:#?}\n{statement}"
            );
        }
        for step in plan.iter().filter(|step| step.starts_with("SEARCH owed")) {
            assert!(
                step.contains("destination=? AND outbox_id"),
                "{plan:#?}\n{statement}"
            );
        }
    }
}

/// A connection that is set up as those of the store are.
pub(super) async fn session(world: &World) -> PgConnection {
    let mut connection = PgConnection::connect(&world.url).await.unwrap();
    sqlx::query(SESSION)
        .bind("60000")
        .bind("60000")
        .bind("60000")
        .bind(false)
        .execute(&mut connection)
        .await
        .unwrap();
    connection
}

/// 200,000 deliveries, past the triggers, which would take seconds.
async fn owe_many(connection: &mut PgConnection) {
    connection
        .execute(
            "set session_replication_role = replica;
             insert into aftercommit.outbox (id, topic, row_key, op, payload)
                select id, 'orders', id::text, 'event', '{}' from generate_series(1, 200000) as id;
             insert into aftercommit.owed (destination, outbox_id)
                select 'hook', id from generate_series(1, 200000) as id;
             set session_replication_role = origin;
             analyze aftercommit.owed, aftercommit.outbox",
        )
        .await
        .unwrap();
}

async fn explain(connection: &mut PgConnection, explain: &str, statement: &str, args: &str) -> String {
    connection.execute("deallocate all").await.unwrap();
    connection
        .execute(AssertSqlSafe(format!("prepare statement as {statement}")))
        .await
        .unwrap();
    let lines: Vec<String> =
        sqlx::query_scalar(AssertSqlSafe(format!("{explain} execute statement ({args})")))
            .persistent(false)
            .fetch_all(connection)
            .await
            .unwrap();
    lines.join("\n")
}
