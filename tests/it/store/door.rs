//! The door: addresses, the schema, and what goes wrong, each said in a sentence.

use aftercommit::store::{Database, DatabaseOptions, SCHEMA_VERSION, StoreError};
use secrecy::SecretString;

use super::world::{Backend, World, connect, on_both};

on_both! {
    async fn a_database_is_migrated_once_however_many_try_at_once(backend: Backend) {
        let world = World::empty(backend).await;
        world.execute("create table made_by_the_pipeline (n integer)").await;
        assert_eq!(world.database.schema_version().await.unwrap(), None);
        assert!(matches!(world.database.check().await, Err(StoreError::NotMigrated)));

        let mut migrators = tokio::task::JoinSet::new();
        for number in 0..4 {
            let database = connect(&world.url);
            migrators.spawn(async move { database.migrate(&format!("name {number}")).await });
        }
        for outcome in migrators.join_all().await {
            outcome.unwrap();
        }

        world.database.check().await.unwrap();
        assert_eq!(world.database.schema_version().await.unwrap(), Some(SCHEMA_VERSION));
        let namespaces = world.number("select count(*) from aftercommit.setting where name = 'namespace'").await;
        assert_eq!(namespaces, 1);
    }

    async fn a_schema_of_another_version_is_told_apart(backend: Backend) {
        let world = World::migrated(backend).await;
        world.execute("delete from aftercommit.migration where version > 1").await;
        world.execute("update aftercommit.migration set version = 999").await;
        let newer = world.database.check().await.unwrap_err();
        assert!(matches!(newer, StoreError::TooNew { found: 999, .. }), "{newer}");

        world.execute("update aftercommit.migration set version = 0").await;
        let older = world.database.check().await.unwrap_err();
        assert!(matches!(older, StoreError::TooOld { found: 0, .. }), "{older}");
    }
}

#[tokio::test]
async fn a_database_that_takes_no_writes_is_said_to_be_read_only() {
    let postgres = World::migrated(Backend::Postgres).await;
    let read_only = "do $$ begin
        execute format('alter database %I set default_transaction_read_only = on', current_database());
    end $$";
    postgres.execute(read_only).await;
    says(&connect(&postgres.url), "read-only").await;

    let sqlite = World::migrated(Backend::Sqlite).await;
    says(&connect(&sqlite.url.replace("mode=rwc", "mode=ro")), "readonly").await;
}

#[tokio::test]
async fn a_database_that_is_not_there_is_said_to_be_away() {
    let nobody = "postgres://nobody:hunter2@localhost/base?host=/nonexistent";
    says(&connect(nobody), "no connection").await;
    let refuse = DatabaseOptions::default();
    let missing = SecretString::from("sqlite:///nonexistent/aftercommit.db");
    says(
        &Database::connect(&missing, &refuse).unwrap(),
        "unable to open database file",
    )
    .await;
}

/// The check fails, waiting can help, and the sentence has these words and no secret.
async fn says(database: &Database, words: &str) {
    let error = database.check().await.unwrap_err();
    assert!(error.is_transient(), "{error}");
    assert!(error.to_string().contains(words), "{error}");
    assert!(!error.to_string().contains("hunter2"), "{error}");
}

#[tokio::test]
async fn an_address_that_cannot_be_read_is_refused_without_being_shown() {
    for address in [
        "mysql://somebody:hunter2@host/base",
        "postgres://somebody:hunter2@host:notaport/base",
        "hunter2",
    ] {
        let error = Database::connect(&SecretString::from(address), &DatabaseOptions::default()).unwrap_err();
        assert!(!error.to_string().contains("hunter2"), "{error}");
        assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
    }
}
