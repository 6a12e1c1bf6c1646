//! What the other tests rely on: their databases are apart, and no server is left behind.

use super::{SETTINGS, Server, Tools, database, directory_named, url};
use sqlx::{Connection as _, PgConnection};
use std::process::Command;
use uuid::Uuid;

#[tokio::test]
async fn two_databases_of_a_run_do_not_see_each_other() {
    let (one, two) = (database().await, database().await);
    let mut here = PgConnection::connect(&one.url()).await.unwrap();
    let mut there = PgConnection::connect(&two.url()).await.unwrap();

    sqlx::raw_sql("create table mark ()")
        .execute(&mut here)
        .await
        .unwrap();

    let seen = "select to_regclass('mark') is not null";
    assert!(
        sqlx::query_scalar::<_, bool>(seen)
            .fetch_one(&mut here)
            .await
            .unwrap()
    );
    assert!(
        !sqlx::query_scalar::<_, bool>(seen)
            .fetch_one(&mut there)
            .await
            .unwrap()
    );
}

#[tokio::test]
async fn a_dropped_database_is_gone_even_while_somebody_is_connected() {
    let (kept, dropped) = (database().await, database().await);
    let _guest = PgConnection::connect(&dropped.url()).await.unwrap();
    let name = dropped.name.clone();
    drop(dropped);

    let mut connection = PgConnection::connect(&kept.url()).await.unwrap();
    let left: i64 = sqlx::query_scalar("select count(*) from pg_database where datname = $1")
        .bind(name)
        .fetch_one(&mut connection)
        .await
        .unwrap();
    assert_eq!(left, 0);
}

#[tokio::test]
async fn text_is_utf8_and_sorts_bytewise() {
    let database = database().await;
    let mut connection = PgConnection::connect(&database.url()).await.unwrap();
    let sorts: (String, String) = sqlx::query_as(
        "select pg_encoding_to_char(encoding), datcollate from pg_database where datname = current_database()",
    )
    .fetch_one(&mut connection)
    .await
    .unwrap();
    assert_eq!(sorts, ("UTF8".to_owned(), "C".to_owned()));
}

#[tokio::test]
async fn a_server_of_its_own_keeps_what_was_committed_through_a_crash_and_a_stop() {
    let server = Server::own_with("fsync = on").await;
    let database = server.database().await;
    let mut connection = PgConnection::connect(&database.url()).await.unwrap();
    sqlx::raw_sql("create table mark as select 7 as number")
        .execute(&mut connection)
        .await
        .unwrap();

    server.restart_immediately().await;
    assert!(
        connection.ping().await.is_err(),
        "the connection outlived the crash"
    );
    server.stop().await;
    assert!(
        PgConnection::connect(&database.url()).await.is_err(),
        "the server still answers"
    );
    server.start().await;

    let mut connection = PgConnection::connect(&database.url()).await.unwrap();
    let number: i32 = sqlx::query_scalar("select number from mark")
        .fetch_one(&mut connection)
        .await
        .unwrap();
    assert_eq!(number, 7);
}

#[tokio::test]
async fn a_server_of_its_own_leaves_nothing_behind() {
    let server = Server::own().await;
    let directory = server.directory.clone();
    assert!(directory.exists());
    drop(server);
    assert!(!directory.exists(), "{} is still there", directory.display());
}

#[tokio::test]
async fn a_run_that_is_killed_leaves_no_server_behind() {
    let tools = Tools::find().unwrap();
    let directory = directory_named(&Uuid::new_v4().to_string());
    tools.make_directory(&directory).unwrap();
    let mut run = Command::new("sleep").arg("600").spawn().unwrap();
    let (mut keeper, said) = tools.start_keeper(&directory, run.id(), SETTINGS).unwrap();
    assert_eq!(said, "ready");
    let mut connection = PgConnection::connect(&url(&directory, "postgres")).await.unwrap();

    run.kill().unwrap();
    // Nobody has waited for the run yet: to the system it is a zombie, and the keeper must see through that.
    keeper.wait().unwrap();

    assert!(connection.ping().await.is_err(), "the server outlived its run");
    assert!(!directory.exists(), "{} is still there", directory.display());
    run.wait().unwrap();
}
