//! Admission is part of the pipeline's own transaction, however its rows come in.

use super::on_both;
use super::world::{Session, World, event, insert, upsert};

on_both! {
    a_transaction_that_is_rolled_back_leaves_nothing,
    a_savepoint_that_is_rolled_back_leaves_nothing_of_its_rows,
    a_refused_row_takes_its_whole_statement_with_it,
    an_insert_returns_what_it_admitted,
    a_prepared_statement_can_run_again_and_again,
    rows_may_come_from_a_query,
}

async fn a_transaction_that_is_rolled_back_leaves_nothing(mut world: World) {
    world.pipeline.run(world.pipeline.begin()).await;
    world.commit(&[upsert("7", "A"), event("7", "paid")]).await;
    world.pipeline.run("rollback").await;
    for table in ["topic", "ledger", "outbox", "owed"] {
        assert_eq!(world.count(table).await, 0, "{table}");
    }
    assert_eq!(world.commit(&[upsert("7", "A"), event("7", "paid")]).await, 2);
}

async fn a_savepoint_that_is_rolled_back_leaves_nothing_of_its_rows(mut world: World) {
    world.pipeline.run(world.pipeline.begin()).await;
    world.commit(&[upsert("7", "A")]).await;
    world.pipeline.run("savepoint before_b").await;
    world.commit(&[upsert("7", "B"), upsert("8", "B")]).await;
    world.pipeline.run("rollback to savepoint before_b").await;
    assert_eq!(world.commit(&[upsert("7", "A")]).await, 0);
    assert_eq!(world.commit(&[upsert("7", "C")]).await, 1);
    world.pipeline.run("commit").await;
    assert_eq!(world.history("7").await, ["1 upsert A", "2 upsert C"]);
    assert_eq!(world.history("8").await, [""; 0]);
    assert_eq!(world.count("owed").await, 2);
}

async fn a_refused_row_takes_its_whole_statement_with_it(mut world: World) {
    let rows = [upsert("7", "A"), upsert("8", "").payload("{")];
    world.pipeline.insert(&rows).await.unwrap_err();
    for table in ["topic", "ledger", "outbox", "owed"] {
        assert_eq!(world.count(table).await, 0, "{table}");
    }
}

async fn an_insert_returns_what_it_admitted(mut world: World) {
    world.commit(&[upsert("7", "A")]).await;
    let statement = insert(&[upsert("7", "A"), upsert("7", "B"), upsert("8", "A")]);
    let mut returned = world
        .pipeline
        .lines(&format!("{statement} returning row_key || ' has id ' || id"))
        .await;
    returned.sort();
    let ids =
        "select row_key || ' has id ' || id from outbox where id > (select min(id) from outbox) order by 1";
    assert_eq!(returned, world.pipeline.lines(ids).await);
    assert_eq!(returned.len(), 2);
}

async fn a_prepared_statement_can_run_again_and_again(mut world: World) {
    let statement =
        "insert into outbox (topic, row_key, op, payload) values ('customers', $1, 'upsert', '1')";
    for round in 0..10 {
        for row_key in ["7", "8"] {
            let written = match &mut world.pipeline {
                Session::Postgres(session) => sqlx::query(statement)
                    .bind(row_key)
                    .execute(session)
                    .await
                    .unwrap()
                    .rows_affected(),
                Session::Sqlite(session) => sqlx::query(statement)
                    .bind(row_key)
                    .execute(session)
                    .await
                    .unwrap()
                    .rows_affected(),
            };
            assert_eq!(written, u64::from(round == 0));
        }
    }
}

async fn rows_may_come_from_a_query(mut world: World) {
    world
        .pipeline
        .run("create table customer (id integer, name text)")
        .await;
    world
        .pipeline
        .run("insert into customer values (7, 'A'), (8, 'B'), (9, 'C')")
        .await;
    let insert = "insert into outbox (topic, row_key, op, payload)
        select 'customers', cast(id as text), 'upsert', '1' from customer order by id";
    let insert = match world.pipeline {
        Session::Postgres(_) => insert.replace("'1'", "to_json(customer)"),
        Session::Sqlite(_) => insert.replace("'1'", "json_object('id', id, 'name', name)"),
    };
    assert_eq!(world.pipeline.run(&insert).await, 3);
    assert_eq!(world.pipeline.run(&insert).await, 0);
    world
        .pipeline
        .run("update customer set name = 'D' where id = 8")
        .await;
    assert_eq!(world.pipeline.run(&insert).await, 1);
}

#[tokio::test]
async fn on_postgres_rows_may_come_by_copy() {
    let mut world = World::on_postgres().await;
    for admitted in [2, 0] {
        let Session::Postgres(session) = &mut world.pipeline else {
            unreachable!()
        };
        let mut copy = session
            .copy_in_raw("copy outbox (topic, row_key, op, payload) from stdin")
            .await
            .unwrap();
        copy.send("customers\t7\tupsert\t1\ncustomers\t8\tupsert\t1\ncustomers\t7\tupsert\t1\n".as_bytes())
            .await
            .unwrap();
        assert_eq!(copy.finish().await.unwrap(), admitted);
    }
    assert_eq!(world.owed().await, [" <- 7", " <- 8"]);
}

#[tokio::test]
async fn on_postgres_an_insert_returns_the_generation() {
    let mut world = World::on_postgres().await;
    let statement = insert(&[upsert("7", "A"), upsert("7", "B")]);
    let generations = world
        .pipeline
        .lines(&format!("{statement} returning generation::text"))
        .await;
    assert_eq!(generations, ["1", "2"]);
}

#[tokio::test]
async fn on_postgres_id_and_generation_are_the_databases_to_give() {
    let mut world = World::on_postgres().await;
    let statement = "insert into outbox (id, generation, topic, row_key, op, payload)
        values (-5, 9, 'customers', '7', 'upsert', '1') returning id || ' ' || generation";
    assert_eq!(world.pipeline.lines(statement).await, ["1 1"]);
}

#[tokio::test]
async fn on_sqlite_no_conflict_clause_changes_what_admission_does() {
    for clause in [
        "insert or replace",
        "insert or ignore",
        "insert or fail",
        "insert or rollback",
        "replace",
    ] {
        let mut world = World::on_sqlite().await;
        let mut insert = async |rows: &[_]| {
            let statement = insert(rows).replacen("insert", clause, 1);
            world.pipeline.run(&statement).await
        };
        assert_eq!(
            insert(&[upsert("7", "A").version(1), event("7", "paid")]).await,
            2,
            "{clause}"
        );
        assert_eq!(
            insert(&[upsert("7", "A").version(3), event("7", "paid")]).await,
            0,
            "{clause}"
        );
        assert_eq!(insert(&[upsert("7", "B").version(2)]).await, 0, "{clause}");
        assert_eq!(
            insert(&[upsert("7", "B").version(4), upsert("8", "A")]).await,
            2,
            "{clause}"
        );
        assert_eq!(
            world.history("7").await,
            ["1 upsert A", "1 event paid", "2 upsert B"],
            "{clause}"
        );
        assert_eq!(world.count("owed").await, 4, "{clause}");
    }
}

#[tokio::test]
async fn on_sqlite_a_row_that_is_skipped_for_a_constraint_is_not_known_to_the_ledger() {
    let mut world = World::on_sqlite().await;
    let skipped = "insert or ignore into outbox (generation, topic, row_key, op, payload)
        values (null, 'customers', '7', 'upsert', '\"A\"')";
    assert_eq!(world.pipeline.run(skipped).await, 0);
    assert_eq!(world.commit(&[upsert("7", "A")]).await, 1);
}

#[tokio::test]
async fn on_sqlite_a_number_as_row_key_is_its_text() {
    let mut world = World::on_sqlite().await;
    let statement = "insert into outbox (topic, row_key, row_version, op, payload) values ('customers', 7, '1', 'upsert', 1)";
    assert_eq!(world.pipeline.run(statement).await, 1);
    assert_eq!(world.commit(&[upsert("7", "").payload("1").version(1)]).await, 0);
}
