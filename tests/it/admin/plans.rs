//! The cost of what people ask: no list reads a large table from end to end.

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
    let mut connection = PgConnection::connect(&world.url).await.unwrap();
    sqlx::query(SESSION)
        .bind("0")
        .bind("0")
        .bind("0")
        .bind(false)
        .execute(&mut connection)
        .await
        .unwrap();
    let ids = "9, 'crm', 10, 10, '{crm}', '{crm}', '{dead}', '{refused}'";
    let nothing = "null, null, null, null, null, null, null";
    for (text, args) in [
        (statement!("postgres", "delivery_ids_down"), ids),
        (statement!("postgres", "delivery_ids_up"), ids),
        (
            statement!("postgres", "delivery_ids_of_row"),
            "null, 'order-1', '{crm}'",
        ),
        (
            statement!("postgres", "deliveries_of"),
            &format!("'{{dead}}', {nothing}, '{{1}}', '{{crm}}'"),
        ),
        (statement!("postgres", "overtaken"), "'{1}', '{crm}'"),
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
        (
            statement!("postgres", "head_before"),
            "1, 'crm', 'ordered', '{outcome_unknown}'",
        ),
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

/// The plan of a statement that has been prepared, as the store runs it.
async fn explain(connection: &mut PgConnection, text: &str, args: &str) -> String {
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
    let explain = AssertSqlSafe(format!("explain (costs off) execute asked{args}"));
    let lines = sqlx::raw_sql(explain).fetch_all(connection).await.unwrap();
    let line = |row: &sqlx::postgres::PgRow| row.get::<String, _>(0);
    lines.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn sqlite_walks_along_its_indexes() {
    let world = World::new(Backend::Sqlite).await;
    let mut connection = SqliteConnection::connect(&world.url).await.unwrap();
    for text in [
        statement!("sqlite", "delivery_ids_down"),
        statement!("sqlite", "delivery_ids_up"),
        statement!("sqlite", "delivery_ids_of_row"),
        statement!("sqlite", "deliveries_of"),
        statement!("sqlite", "overtaken"),
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
