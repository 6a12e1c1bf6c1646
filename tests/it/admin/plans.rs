//! The cost of what people ask: no list reads a large table from end to end.

use aftercommit::core::delivery::Reason;
use aftercommit::store::database::in_sqlite;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, Row as _, SqliteConnection};

use super::world::{Backend, World};

const SESSION: &str = include_str!("../../../src/store/sql/postgres/session.sql");

macro_rules! statement {
    ($folder:literal, $name:literal) => {
        include_str!(concat!("../../../src/store/sql/", $folder, "/", $name, ".sql"))
    };
}

#[tokio::test]
async fn postgres_walks_along_its_indexes() {
    let world = World::new(Backend::Postgres).await;
    world.commit_orders(1, 100).await;
    let mut connection = session(&world).await;
    let ids = "9, 'crm', 10, 10, '{crm}', '{crm}', '{dead}', '{refused}'";
    let of_row = "9, 'crm', 10, null, 'order-1', '{crm}'";
    let nothing = "null, null, null, null, null, null, null";
    for (text, args) in [
        (statement!("postgres", "delivery_ids_down"), ids),
        (statement!("postgres", "delivery_ids_up"), ids),
        (statement!("postgres", "delivery_ids_of_row_down"), of_row),
        (statement!("postgres", "delivery_ids_of_row_up"), of_row),
        (
            statement!("postgres", "deliveries_of"),
            &format!("'{{dead}}', {nothing}, '{{1}}', '{{crm}}'"),
        ),
        (
            statement!("postgres", "overtaking"),
            "'{orders}', '{order-1}', '{crm}', '{1}'",
        ),
        (
            statement!("postgres", "missing_rows"),
            "'crm', null, null, null, null, 'newest', 0, 100, 10",
        ),
        (statement!("postgres", "on_the_wire"), "'{crm}'"),
        (statement!("postgres", "owe_missing"), "0, 1, '{1}', '{crm}'"),
        (statement!("postgres", "ended_meanwhile"), "'{1}', '{crm}'"),
        (
            statement!("postgres", "requeue"),
            "0, 1, '{1}', '{crm}', '{dead}'",
        ),
        (statement!("postgres", "head_before"), "1, 'crm'"),
        (statement!("postgres", "hurry"), "'crm', '{1}'"),
        (statement!("postgres", "mark_delivered"), "'crm', '{1}'"),
        (statement!("shared", "destinations"), ""),
        (statement!("shared", "trouble_counts"), ""),
        (
            statement!("postgres", "trouble_groups"),
            "10, '{crm}', '{dead}', '{refused}'",
        ),
        (
            statement!("postgres", "newest_in_trouble"),
            "10, '{crm}', '{dead}', '{refused}'",
        ),
        (statement!("postgres", "tried_and_owed"), "10, '{crm}'"),
        (statement!("postgres", "last_attempts"), "'{1}', '{crm}'"),
        (statement!("shared", "destinations_of_row"), "1"),
        (statement!("shared", "kin_of_row"), "1, 'crm', 10"),
        (statement!("shared", "newest_of_row"), "'orders', 'order-1'"),
        (statement!("shared", "place_of"), "1, 'crm', 10"),
        (statement!("shared", "rendering_of"), "1, 'crm'"),
        (statement!("shared", "routes_of_row"), "1"),
        (statement!("shared", "audit_window"), "9, 10"),
        (
            statement!("shared", "audit_entries"),
            "9, 1, null, null, null, 10",
        ),
        (statement!("shared", "bearer"), "''"),
    ] {
        let plan = explain(&mut connection, text, args).await;
        for table in ["owed", "settled", "outbox", "attempt", "audit", "token"] {
            assert!(!plan.contains(&format!("Seq Scan on {table}")), "{plan}");
        }
    }
    let walk = explain(&mut connection, statement!("postgres", "delivery_ids_down"), ids).await;
    for index in ["owed_pkey", "settled_pkey", "settled_trouble"] {
        assert!(walk.contains(index), "{index} does not serve:\n{walk}");
    }
}

/// A connection that is set up as those of the store are.
async fn session(world: &World) -> PgConnection {
    let mut connection = PgConnection::connect(&world.url).await.unwrap();
    sqlx::query(SESSION)
        .bind("0")
        .bind("0")
        .bind("0")
        .bind(false)
        .execute(&mut connection)
        .await
        .unwrap();
    connection
}

/// The plan of a statement that has been prepared, as the store runs it.
async fn explain(connection: &mut PgConnection, text: &str, args: &str) -> String {
    plan(connection, "explain (costs off)", text, args).await
}

/// What that plan reads.
async fn analyze(connection: &mut PgConnection, text: &str, args: &str) -> String {
    let explain = "explain (analyze, costs off, timing off, summary off)";
    plan(connection, explain, text, args).await
}

async fn plan(connection: &mut PgConnection, explain: &str, text: &str, args: &str) -> String {
    let prepare = format!("deallocate all; prepare asked as {text}");
    sqlx::raw_sql(AssertSqlSafe(prepare))
        .execute(&mut *connection)
        .await
        .unwrap();
    let args = if args.is_empty() {
        String::new()
    } else {
        format!("({args})")
    };
    let explain = AssertSqlSafe(format!("{explain} execute asked{args}"));
    let lines = sqlx::raw_sql(explain).fetch_all(connection).await.unwrap();
    let line = |row: &sqlx::postgres::PgRow| row.get::<String, _>(0);
    lines.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Versions of one row, past the triggers.
const MANY_VERSIONS: &str = "set session_replication_role = replica;
    insert into aftercommit.outbox (id, topic, row_key, op, payload)
        select id, 'accounts', 'many', 'upsert', '{}' from generate_series(1, 5000) as id;
    insert into aftercommit.settled (outbox_id, destination, state, reason, attempts, key_epoch)
        select id, 'crm', 'dead', 'refused', 1, 0 from generate_series(1, 5000) as id;
    set session_replication_role = origin";

#[tokio::test]
async fn postgres_reads_as_many_versions_of_a_row_as_it_is_asked_for() {
    let world = World::new(Backend::Postgres).await;
    world.execute(MANY_VERSIONS).await;
    let mut connection = session(&world).await;
    let of_row = "2500, 'crm', 10, null, 'many', '{crm}'";
    for text in [
        statement!("postgres", "delivery_ids_of_row_down"),
        statement!("postgres", "delivery_ids_of_row_up"),
    ] {
        let plan = analyze(&mut connection, text, of_row).await;
        let read: Vec<u64> = rows_read(&plan, "outbox").collect();
        // Of the one topic that has the row key eleven, of the other none.
        assert!(
            read == [6] && plan.contains("CTE Scan on version (actual rows=11 loops=1)"),
            "{plan}"
        );
        assert!(rows_read(&plan, "settled").all(|rows| rows <= 1), "{plan}");
        let owed = "Index Cond: ((destination = ANY ($6)) AND (outbox_id = version.id))";
        assert!(plan.contains(owed) && !plan.contains("loops=12"), "{plan}");
    }
    let of_row = "'crm', null, 'many', null, null, 'newest', 2500, 5000, 10";
    let plan = analyze(&mut connection, statement!("postgres", "missing_rows"), of_row).await;
    assert!(rows_read(&plan, "outbox").all(|rows| rows <= 10), "{plan}");
    // Of ten versions of one row the newer ones are looked at once: here all of them, since none was delivered.
    let of_row = "'{accounts}', '{many}', '{crm}', '{4000}'";
    let plan = analyze(&mut connection, statement!("postgres", "overtaking"), of_row).await;
    assert!(
        rows_read(&plan, "outbox").all(|rows| rows <= 1_000) && plan.contains("loops=1000"),
        "{plan}"
    );
}

/// Drained and analyzed, a look through all of `owed` seems the cheapest; the next backlog may come before the next analysis.
#[tokio::test]
async fn a_plan_that_was_made_while_nothing_was_owed_looks_up_by_key() {
    let world = World::new(Backend::Postgres).await;
    world.commit_orders(1, 100).await;
    world.settle("crm", "true", Reason::Refused).await;
    world.settle("hook", "true", Reason::Accepted).await;
    world.execute("vacuum aftercommit.owed").await;
    world.execute("analyze").await;
    let mut connection = session(&world).await;
    let of_row = "9, 'crm', 10, null, 'order-1', '{crm}'";
    for (text, args) in [
        (statement!("postgres", "delivery_ids_of_row_down"), of_row),
        (statement!("postgres", "delivery_ids_of_row_up"), of_row),
        (
            statement!("postgres", "deliveries_of"),
            "'{dead}', null, null, null, null, null, null, null, '{1}', '{crm}'",
        ),
        (
            statement!("postgres", "overtaking"),
            "'{orders}', '{order-1}', '{crm}', '{1}'",
        ),
        (
            statement!("postgres", "missing_rows"),
            "'crm', null, null, null, null, 'newest', 0, 100, 10",
        ),
        (statement!("postgres", "on_the_wire"), "'{crm}'"),
        (statement!("postgres", "ended_meanwhile"), "'{1}', '{crm}'"),
    ] {
        let plan = explain(&mut connection, text, args).await;
        assert!(plan.contains(" on owed"), "{plan}");
        for (scan, condition) in plan.lines().zip(plan.lines().skip(1)) {
            if scan.contains(" on owed") && scan.contains("Index") {
                let by_key = condition.contains("destination") && condition.contains("outbox_id");
                assert!(by_key, "{plan}");
            }
        }
    }
}

/// The rows that each scan of the table brought in one loop.
fn rows_read<'p>(plan: &'p str, table: &str) -> impl Iterator<Item = u64> + use<'p> {
    let scan = format!(" on {table}");
    let lines = plan.lines().filter(move |line| line.contains(&scan));
    lines.filter_map(|line| {
        let rows = line.split("actual rows=").nth(1)?;
        rows.split(' ').next()?.parse().ok()
    })
}

#[tokio::test]
async fn sqlite_walks_along_its_indexes() {
    let world = World::new(Backend::Sqlite).await;
    let mut connection = SqliteConnection::connect(&world.url).await.unwrap();
    for text in [
        statement!("sqlite", "delivery_ids_down"),
        statement!("sqlite", "delivery_ids_up"),
        statement!("sqlite", "delivery_ids_of_row_down"),
        statement!("sqlite", "delivery_ids_of_row_up"),
        statement!("sqlite", "deliveries_of"),
        statement!("sqlite", "overtaking"),
        statement!("sqlite", "missing_rows"),
        statement!("sqlite", "on_the_wire"),
        statement!("sqlite", "owe_missing"),
        statement!("sqlite", "ended_meanwhile"),
        statement!("sqlite", "head_before"),
        statement!("sqlite", "hurry"),
        statement!("sqlite", "mark_delivered"),
        statement!("shared", "destinations"),
        statement!("shared", "trouble_counts"),
        statement!("sqlite", "trouble_groups"),
        statement!("sqlite", "newest_in_trouble"),
        statement!("sqlite", "tried_and_owed"),
        statement!("sqlite", "last_attempts"),
        statement!("shared", "destinations_of_row"),
        statement!("shared", "kin_of_row"),
        statement!("shared", "newest_of_row"),
        statement!("shared", "place_of"),
        statement!("shared", "rendering_of"),
        statement!("shared", "routes_of_row"),
        statement!("shared", "audit_window"),
        statement!("shared", "audit_entries"),
        statement!("shared", "bearer"),
    ] {
        let explain = AssertSqlSafe(format!("explain query plan {}", in_sqlite(text)));
        let steps = sqlx::raw_sql(explain).fetch_all(&mut connection).await.unwrap();
        for step in steps.iter().map(|row| row.get::<String, _>("detail")) {
            let reads_all = [
                "SCAN owed",
                "SCAN settled",
                "SCAN outbox",
                "SCAN edge",
                "SCAN newer",
                "SCAN earlier",
                "SCAN attempt",
                "SCAN audit",
                "SCAN token",
            ];
            let allowed = step.contains("settled_trouble");
            assert!(
                allowed || !reads_all.iter().any(|all| step.starts_with(all)),
                "{step}:\n{text}"
            );
        }
    }
}
