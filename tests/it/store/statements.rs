//! Every statement of the store is one that its database understands.

use std::fs;
use std::path::Path;

use aftercommit::store::database::{at_first, in_sqlite};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection, SqlSafeStr as _, SqliteConnection};

use super::world::{Backend, World};

#[tokio::test]
async fn every_statement_prepares_on_postgres() {
    let world = World::migrated(Backend::Postgres).await;
    let mut connection = PgConnection::connect(&world.url).await.unwrap();
    for (name, text) in statements("shared").into_iter().chain(statements("postgres")) {
        let prepared = connection.prepare(AssertSqlSafe(text).into_sql_str()).await;
        assert!(prepared.is_ok(), "{name}: {}", prepared.unwrap_err());
    }
}

#[tokio::test]
async fn the_record_prepares_without_what_is_for_a_second_try() {
    let world = World::migrated(Backend::Postgres).await;
    let mut connection = PgConnection::connect(&world.url).await.unwrap();
    let whole = include_str!("../../../src/store/sql/postgres/record.sql");
    let first = at_first(whole);
    assert_eq!(
        (
            whole.matches("do update").count(),
            first.matches("do update").count()
        ),
        (2, 0)
    );
    assert!(!first.contains('}') && first.lines().count() < whole.lines().count());
    let prepared = connection.prepare(AssertSqlSafe(first).into_sql_str()).await;
    assert!(prepared.is_ok(), "{}", prepared.unwrap_err());
}

#[tokio::test]
async fn every_statement_prepares_on_sqlite() {
    let world = World::migrated(Backend::Sqlite).await;
    let mut connection = SqliteConnection::connect(&world.url).await.unwrap();
    for (name, text) in statements("shared").into_iter().chain(statements("sqlite")) {
        // A file may hold several statements, each after an empty line.
        for part in in_sqlite(&text).split(";\n\n") {
            let part = part.to_owned();
            let prepared = connection.prepare(AssertSqlSafe(part).into_sql_str()).await;
            assert!(prepared.is_ok(), "{name}: {}", prepared.unwrap_err());
        }
    }
}

#[test]
fn statements_that_differ_stand_side_by_side() {
    let lonely = [
        "session",
        "server_version",
        "lock_migration",
        "clock",
        "listen",
        "listener_session",
        "fall_asleep",
        "awake",
        "capture",
        "await_writers",
        "reach_writers",
        "writers",
        "begin_again",
    ];
    let names = |folder| -> Vec<String> {
        let found = statements(folder).into_iter().map(|(name, _)| name);
        found.filter(|name| !lonely.contains(&name.as_str())).collect()
    };
    assert_eq!(names("postgres"), names("sqlite"));
}

/// Name and text of each file of a folder, by name.
pub(super) fn statements(folder: &str) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("src/store/sql")
        .join(folder);
    let mut found: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            (name, fs::read_to_string(path).unwrap())
        })
        .collect();
    found.sort();
    assert!(!found.is_empty());
    found
}
