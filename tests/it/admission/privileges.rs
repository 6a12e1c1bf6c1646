//! A producer on PostgreSQL needs the right to insert into the outbox, and has no use for another.

use super::world::{World, event, upsert};

#[tokio::test]
async fn a_producer_can_insert_and_nothing_else() {
    let mut world = World::on_postgres().await;
    become_a_producer(&mut world).await;

    assert_eq!(
        world
            .commit(&[upsert("7", "A"), event("7", "paid"), upsert("7", "A")])
            .await,
        2
    );
    assert_eq!(world.commit(&[upsert("7", "B")]).await, 1);
    let forbidden = [
        "select 1 from outbox",
        "update outbox set payload = '2'",
        "delete from outbox",
        "select 1 from ledger",
        "update ledger set generation = 0",
        "select 1 from topic",
        "insert into route values ('customers', 'crm')",
        "delete from owed",
        "select nextval('outbox_id_seq')",
        "select register_topic('t', 'state')",
    ];
    for statement in forbidden {
        assert_eq!(sqlstate(&mut world, statement).await, "42501", "{statement}");
    }
    world.pipeline.run("reset role").await;
    assert_eq!(world.owed().await, [" <- 7", " <- 7", " <- 7"]);
}

#[tokio::test]
async fn nobody_else_can_hang_the_trigger_on_a_table_of_their_own() {
    let mut world = World::on_postgres().await;
    become_a_producer(&mut world).await;
    world
        .pipeline
        .run("create temporary table mine (topic text)")
        .await;
    let statement =
        "create trigger t before insert on mine for each row execute function aftercommit.admit()";
    assert_eq!(sqlstate(&mut world, statement).await, "42501");
}

#[tokio::test]
async fn objects_of_a_producer_do_not_get_in_the_way_of_the_trigger() {
    let mut world = World::on_postgres().await;
    become_a_producer(&mut world).await;
    let lookalikes = "
        create temporary table topic (name text, kind text, max_payload_bytes integer);
        insert into topic values ('customers', 'event', 1);
        create schema mine;
        create function mine.octet_length(text) returns integer language sql as 'select 0';
        set search_path = pg_temp, mine, pg_catalog, aftercommit";
    world.pipeline.run(lookalikes).await;
    assert_eq!(world.commit(&[upsert("7", "A")]).await, 1);
}

/// A role of this test alone, since roles belong to the whole server.
async fn become_a_producer(world: &mut World) {
    let role = world
        .pipeline
        .lines("select 'producer_of_' || current_database()")
        .await
        .remove(0);
    world
        .pipeline
        .run(&format!(
            "create role {role};
            grant usage on schema aftercommit to {role};
            grant insert on aftercommit.outbox to {role};
            grant create, temporary on database {database} to {role};
            set role {role}",
            database = role.trim_start_matches("producer_of_"),
        ))
        .await;
}

async fn sqlstate(world: &mut World, statement: &str) -> String {
    let error = world.pipeline.execute(statement).await.expect_err(statement);
    error.as_database_error().unwrap().code().unwrap().into_owned()
}
