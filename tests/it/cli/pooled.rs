//! Behind pgbouncer in transaction mode: every verb works, two daemons share two sessions, and new rows are polled for.

use aftercommit::mock::receiver::{Receiver, ReceiverOptions};
use aftercommit::store::{Database, DatabaseOptions, SqlStore, Store as _, StoreError};
use secrecy::SecretString;
use std::time::Duration;

use super::command::Project;
use crate::postgres::{self, Pooler};
use crate::store::world::World;

fn configuration(database: &str, receiver: &Receiver) -> String {
    format!(
        "[database]\nurl = \"{database}\"\npooler = \"transaction\"\n[admin]\nlisten = \"127.0.0.1:0\"\n\
         [relay]\nheartbeat = \"200ms\"\nlease_ttl = \"2s\"\npoll_idle = \"20ms\"\n\
         [topics.orders]\nkind = \"event\"\n[destinations.hook]\ntype = \"webhook\"\nurl = \"{}\"\n\
         topics = [\"orders\"]\nallow_http = true\nallow_networks = [\"127.0.0.0/8\"]\n\
         timeout = \"1s\"\nconnect_timeout = \"1s\"\n",
        receiver.url()
    )
}

/// Commits orders, past the pooler.
async fn commit(world: &World, first: u32, last: u32) {
    world
        .execute(&format!(
            "insert into aftercommit.outbox (topic, row_key, op, payload)
             select 'orders', number::text, 'event', '{{}}' from generate_series({first}, {last}) as number"
        ))
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn behind_a_pooler_in_transaction_mode_rows_are_delivered_and_a_killed_daemon_is_taken_over() {
    let database = postgres::database().await;
    let pooler = Pooler::before(&database).await;
    let receiver = Receiver::start(ReceiverOptions::default()).await.unwrap();
    let project = Project::with(&configuration(&pooler.url(&database), &receiver));
    let world = World::on(database);

    project.run(&["migrate"]).await.done();
    project.run(&["migrate"]).await.done();
    let mut first = project.start(&["run"]);
    first.logs("found by the poll alone").await;
    commit(&world, 1, 100).await;
    receiver.received(100).await;

    first.signal("KILL").await;
    let second = project.start(&["run"]);
    let third = project.start(&["run"]);
    commit(&world, 101, 500).await;
    // What was in flight when the daemon was killed arrives twice, under one key.
    let mut requests = 500;
    while receiver.counts().effects < 500 {
        receiver.received(requests).await;
        requests += 1;
    }
    let status = project.run(&["status", "--json"]).await.json();
    assert!(status["destinations"].is_array(), "{status}");
    project.run(&["pause", "hook", "--reason", "a try"]).await.done();
    project.run(&["resume", "hook", "--reason", "a try"]).await.done();
    for daemon in [second, third] {
        daemon.signal("TERM").await;
        assert_eq!(daemon.ends().await, Some(0));
    }
    let left = "select count(*) from pg_locks where locktype = 'advisory'
        and database = (select oid from pg_database where datname = current_database())";
    assert_eq!(
        world.number(left).await,
        0,
        "no lock stays in a session that others get"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pooler_that_nobody_told_of_is_named_and_nothing_is_left_in_its_sessions() {
    let database = postgres::database().await;
    let pooler = Pooler::before(&database).await;
    let url = SecretString::from(pooler.url(&database));
    let world = World::on(database);
    world.database.migrate("test").await.unwrap();
    let unaware = || Database::connect(&url, &DatabaseOptions::default()).unwrap();

    let store = SqlStore::new(unaware());
    let ear = store.commits(Duration::from_millis(1)).await.unwrap();
    assert!(ear.is_none(), "it would listen in a session that others get");

    // What is prepared in one session of two is missing in the other, or is there already.
    let (one, other) = (unaware(), unaware());
    let mut said = Vec::new();
    for _ in 0..10 {
        for database in [&one, &other] {
            said.extend(database.schema_version().await.err());
        }
    }
    assert!(
        said.iter()
            .any(|error| matches!(error, StoreError::Unavailable(said) if said.contains("database.pooler"))),
        "{said:?}"
    );
}
