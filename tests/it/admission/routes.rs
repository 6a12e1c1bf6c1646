//! Routes: what an admitted row is owed to.

use sha2::{Digest as _, Sha256};

use super::on_both;
use super::world::{World, event, upsert};

on_both! {
    an_admitted_row_is_owed_to_each_destination_of_its_topic,
    a_row_without_a_route_is_owed_to_nobody_in_particular,
    a_new_route_covers_the_rows_that_come_after_it,
    a_statement_may_write_to_several_topics,
    a_row_is_due_at_once,
}

async fn an_admitted_row_is_owed_to_each_destination_of_its_topic(mut world: World) {
    route(
        &mut world,
        "('customers', 'crm'), ('customers', 'hook'), ('orders', 'till')",
    )
    .await;
    world.commit(&[upsert("7", "A"), upsert("8", "A")]).await;
    world.commit(&[upsert("7", "A")]).await;
    assert_eq!(
        world.owed().await,
        ["crm <- 7", "crm <- 8", "hook <- 7", "hook <- 8"]
    );
}

async fn a_row_without_a_route_is_owed_to_nobody_in_particular(mut world: World) {
    route(&mut world, "('orders', 'till')").await;
    world.commit(&[upsert("7", "A")]).await;
    assert_eq!(world.owed().await, [" <- 7"]);
}

async fn a_new_route_covers_the_rows_that_come_after_it(mut world: World) {
    world.commit(&[upsert("7", "A")]).await;
    route(&mut world, "('customers', 'crm')").await;
    world.commit(&[upsert("8", "A")]).await;
    assert_eq!(world.owed().await, [" <- 7", "crm <- 8"]);
}

async fn a_statement_may_write_to_several_topics(mut world: World) {
    route(&mut world, "('customers', 'crm'), ('orders', 'till')").await;
    world
        .commit(&[
            upsert("7", "A"),
            event("8", "paid"),
            upsert("9", "A").topic("suppliers"),
        ])
        .await;
    assert_eq!(world.owed().await, [" <- 9", "crm <- 7", "till <- 8"]);
}

async fn a_row_is_due_at_once(mut world: World) {
    world.commit(&[upsert("7", "A")]).await;
    let undisturbed = "select count(*) from owed join outbox on id = outbox_id
        where due_at = owed_at and due_at = created_at and attempts = 0 and key_epoch = 0";
    assert_eq!(world.pipeline.number(undisturbed).await, 1);
}

#[tokio::test]
async fn on_postgres_the_slot_follows_from_the_hash_of_the_row_key() {
    let mut world = World::on_postgres().await;
    route(&mut world, "('customers', 'crm')").await;
    let row_keys: Vec<String> = (0..50).map(|number| format!("ключ-{number}\\")).collect();
    for row_key in &row_keys {
        world.commit(&[upsert(row_key, "A")]).await;
    }

    let slots = "select slot::text from owed where destination = 'crm' order by outbox_id";
    let expected: Vec<String> = row_keys
        .iter()
        .map(|row_key| slot_of(row_key).to_string())
        .collect();
    assert_eq!(world.pipeline.lines(slots).await, expected);
}

#[tokio::test]
async fn on_postgres_a_plan_that_was_made_without_routes_serves_when_there_are_many() {
    let mut world = World::on_postgres().await;
    world.pipeline.run("vacuum analyze route").await;
    for row_key in ["7", "8"] {
        world.commit(&[upsert(row_key, "A")]).await;
    }
    world
        .pipeline
        .run("insert into route select 'topic ' || number, 'hook' from generate_series(1, 1000) as number")
        .await;

    let scans = "select seq_scan + idx_scan from pg_stat_xact_user_tables where relname = 'route'";
    world.pipeline.run("begin").await;
    let before = world.pipeline.number(scans).await;
    let many: Vec<_> = (100..300)
        .map(|number| upsert(&number.to_string(), "A"))
        .collect();
    world.commit(&many).await;
    let scanned = world.pipeline.number(scans).await - before;
    assert_eq!(
        scanned, 1,
        "the routes are looked through once for a statement, not once for a row"
    );
    world.pipeline.run("commit").await;
}

async fn route(world: &mut World, routes: &str) {
    world
        .pipeline
        .run(&format!("insert into route (topic, destination) values {routes}"))
        .await;
}

fn slot_of(row_key: &str) -> u32 {
    let hash = Sha256::digest(row_key.as_bytes());
    u32::from_be_bytes([hash[0], hash[1], hash[2], hash[3]]) % 64
}
