//! Every statement finds what it wants of the large tables by key, whatever the tables held when its plan was made.
//!
//! A plan lives as long as its connection. When everything is delivered and vacuumed, `owed` has not even one page, and a look
//! through all of it seems the cheapest; the next backlog can be there before the next analysis.

use sqlx::{AssertSqlSafe, Executor as _, PgConnection};

use super::plans::session;
use super::statements::statements;
use super::world::{Backend, World};

/// Tables that grow with the rows.
const LARGE: [&str; 5] = ["outbox", "owed", "settled", "attempt", "ledger"];

/// Statements that walk along an index from its beginning, and why that is meant.
const WALKS: [(&str, &str); 4] = [
    ("change_namespace", "whether there is any row at all"),
    ("owed_counts", "counts all that is owed"),
    ("owed_gauges", "counts all that is owed"),
    ("trouble_counts", "an index that holds nothing else"),
];

/// What does not run as a prepared statement.
const COMMANDS: [&str; 3] = ["release_savepoint", "rollback_to_savepoint", "savepoint"];

#[tokio::test]
async fn every_statement_looks_up_by_key_though_its_plan_was_made_for_empty_tables() {
    let world = World::routed(Backend::Postgres).await;
    world.commit_many(3).await;
    world
        .execute(
            "delete from aftercommit.owed; delete from aftercommit.ledger; delete from aftercommit.outbox; analyze",
        )
        .await;
    let mut connection = session(&world).await;
    // `vacuum` gives the pages back, and cannot run in a transaction with others.
    for table in LARGE {
        let vacuum = AssertSqlSafe(format!("vacuum analyze aftercommit.{table}"));
        connection.execute(vacuum).await.unwrap();
    }
    let mut wrong = Vec::new();
    for (name, text) in statements("shared").into_iter().chain(statements("postgres")) {
        if COMMANDS.contains(&name.as_str()) || WALKS.iter().any(|(walk, _)| *walk == name) {
            continue;
        }
        let plan = plan(&mut connection, &text).await;
        wrong.extend(searches(&plan).map(|search| format!("{name}: {search}")));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test]
async fn every_exception_is_still_one() {
    let world = World::routed(Backend::Postgres).await;
    let mut connection = session(&world).await;
    let all: Vec<_> = statements("shared")
        .into_iter()
        .chain(statements("postgres"))
        .collect();
    for (walk, why) in WALKS {
        let (_, text) = all.iter().find(|(name, _)| name == walk).unwrap();
        let plan = plan(&mut connection, text).await;
        assert!(searches(&plan).next().is_some(), "{walk} ({why}): {plan}");
    }
}

/// Lines of a plan that go through a large table from its beginning.
fn searches(plan: &str) -> impl Iterator<Item = &str> {
    let before = [""].into_iter().chain(plan.lines());
    let lines = before.zip(plan.lines()).zip(plan.lines().skip(1).chain([""]));
    let wrong = lines.filter(|((parent, scan), below)| {
        let large = LARGE.iter().any(|table| {
            let on = format!(" on {table}");
            scan.ends_with(&on) || scan.contains(&format!("{on} "))
        });
        let by_index = scan.contains("Index Scan") || scan.contains("Index Only Scan");
        // The first entries, so many.
        let first = parent.contains("Limit") && !below.contains("Filter");
        let from_the_beginning = by_index && !first && !below.contains("Index Cond");
        large && (scan.contains("Seq Scan") || from_the_beginning)
    });
    wrong.map(|((_, scan), _)| scan.trim())
}

async fn plan(connection: &mut PgConnection, text: &str) -> String {
    connection.execute("deallocate all").await.unwrap();
    let prepare = AssertSqlSafe(format!("prepare asked as {text}"));
    connection.execute(prepare).await.unwrap();
    let parameters: i64 = sqlx::query_scalar(
        "select coalesce(cardinality(parameter_types), 0)::bigint from pg_prepared_statements where name = 'asked'",
    )
    .persistent(false)
    .fetch_one(&mut *connection)
    .await
    .unwrap();
    let nulls = vec!["null"; usize::try_from(parameters).unwrap()].join(", ");
    let args = if parameters == 0 {
        String::new()
    } else {
        format!("({nulls})")
    };
    let explain = AssertSqlSafe(format!("explain (costs off) execute asked{args}"));
    let lines: Vec<String> = sqlx::query_scalar(explain)
        .persistent(false)
        .fetch_all(connection)
        .await
        .unwrap();
    lines.join("\n")
}
