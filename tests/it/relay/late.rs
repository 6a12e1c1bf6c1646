//! Transactions that commit late: ids are not in commit order, and what the cursor has passed is still delivered.

use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

use super::world::{Backend, SWIFT, World};

/// SQLite has one writer at a time, so there ids are in commit order.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_row_that_commits_under_a_lower_id_is_sent_once_it_is_visible() {
    let world = World::with(Backend::Postgres, SWIFT).await;
    let mut late = open_with(&world, r#"('orders', 'late', 'event', '{"late":1}')"#).await;
    let relay = world.relay(SWIFT).await;
    world.orders(100, |number| format!("order-{number}")).await;
    world.until(&[("delivered", 100)]).await;
    assert_eq!(
        world
            .base
            .number("select min(outbox_id) from aftercommit.settled")
            .await,
        2,
        "the open transaction holds the lowest id, and nobody waited for it"
    );
    sqlx::raw_sql("commit").execute(&mut late).await.unwrap();
    world.until(&[("delivered", 101)]).await;
    assert_eq!(world.effects().last().unwrap(), r#"{"late":1}"#);
    world.finish([relay]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_snapshot_that_is_held_open_elsewhere_delays_no_row() {
    let world = World::with(Backend::Postgres, SWIFT).await;
    let mut reader = PgConnection::connect(&world.base.url).await.unwrap();
    sqlx::raw_sql("begin isolation level repeatable read; select count(*) from aftercommit.owed")
        .execute(&mut reader)
        .await
        .unwrap();
    let relay = world.relay(SWIFT).await;
    for round in 1..=3 {
        world
            .orders(100, |number| format!("round-{round}-{number}"))
            .await;
        world.until(&[("delivered", round * 100)]).await;
    }
    world.finish([relay]).await;
}

/// The row key's next version must not go past one whose transaction was open while the cursor passed its id.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_version_that_commits_late_is_never_sent_after_the_next_one() {
    let world = World::with(Backend::Postgres, SWIFT).await;
    let mut late = open_with(&world, r#"('customers', 'c', 'upsert', '{"v":1}')"#).await;
    let relay = world.relay(SWIFT).await;
    world.orders(1, |_| "passes-by".into()).await;
    world.until(&[("delivered", 1)]).await;
    // No sweep comes to the rescue.
    world.store.blind_sweeps();
    sqlx::raw_sql("commit").execute(&mut late).await.unwrap();
    world
        .base
        .execute("insert into aftercommit.outbox (topic, row_key, op, payload) values ('customers', 'c', 'upsert', '{\"v\":2}')")
        .await;
    world
        .until_number(
            "select count(*) from aftercommit.settled where state = 'delivered' and outbox_id > 2",
            1,
        )
        .await;
    world.store.see_sweeps();
    world
        .until_number("select count(*) from aftercommit.owed", 0)
        .await;
    assert_eq!(world.effects().last().unwrap(), r#"{"v":2}"#);
    world.finish([relay]).await;
}

/// Of two that came into sight below the cursor, the next version shows the newer one only.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_that_commit_late_are_sent_in_their_order() {
    let world = World::with(Backend::Postgres, SWIFT).await;
    let mut late = open_with(
        &world,
        r#"('orders', 'o', 'event', '{"v":1}'), ('orders', 'o', 'event', '{"v":2}')"#,
    )
    .await;
    let relay = world.relay(SWIFT).await;
    world.orders(1, |_| "passes-by".into()).await;
    world.until(&[("delivered", 1)]).await;
    world.store.blind_sweeps();
    sqlx::raw_sql("commit").execute(&mut late).await.unwrap();
    world
        .base
        .execute("insert into aftercommit.outbox (topic, row_key, op, payload) values ('orders', 'o', 'event', '{\"v\":3}')")
        .await;
    let fetches = world.store.fetches("hook");
    world.store.fetched("hook", fetches + 10).await;
    world.store.see_sweeps();
    world.until(&[("delivered", 4)]).await;
    assert_eq!(world.effects()[1..], [r#"{"v":1}"#, r#"{"v":2}"#, r#"{"v":3}"#]);
    world.finish([relay]).await;
}

/// A pipeline's transaction that has inserted a row and is still open.
async fn open_with(world: &World, row: &str) -> PgConnection {
    let mut connection = PgConnection::connect(&world.base.url).await.unwrap();
    let insert = format!("begin; insert into aftercommit.outbox (topic, row_key, op, payload) values {row}");
    sqlx::raw_sql(AssertSqlSafe(insert))
        .execute(&mut connection)
        .await
        .unwrap();
    connection
}
