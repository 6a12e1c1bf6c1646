//! A SQLite database for one test: a file in a temporary directory, gone when the test ends.

use tempfile::TempDir;

/// A database file of its own, and the directory that holds it, its journal and its locks. Dropping it deletes both.
pub(crate) struct TestDatabase {
    directory: TempDir,
}

/// A database that does not exist yet: the first connection creates the file.
pub(crate) fn database() -> TestDatabase {
    let directory = tempfile::Builder::new()
        .prefix("aftercommit-sqlite-")
        .tempdir()
        .expect("cannot make a temporary directory for a SQLite database");
    TestDatabase { directory }
}

impl TestDatabase {
    /// The address that sqlx parses. It creates the file when it is missing.
    pub(crate) fn url(&self) -> String {
        format!(
            "sqlite://{}?mode=rwc",
            self.directory.path().join("test.db").display()
        )
    }
}

#[tokio::test]
async fn a_sqlite_database_of_a_test_is_empty_and_leaves_no_file_behind() {
    use sqlx::{Connection as _, SqliteConnection};

    let database = database();
    let directory = database.directory.path().to_owned();
    let mut connection = SqliteConnection::connect(&database.url()).await.unwrap();
    let tables: i64 = sqlx::query_scalar("select count(*) from sqlite_schema")
        .fetch_one(&mut connection)
        .await
        .unwrap();
    assert_eq!(tables, 0);
    connection.close().await.unwrap();

    assert!(directory.exists());
    drop(database);
    assert!(!directory.exists(), "{} is still there", directory.display());
}
