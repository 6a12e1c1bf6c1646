//! Every kind of statement that changes a table on PostgreSQL, and every kind of table.

use aftercommit::store::sources::{Place, Source, Way};

use super::world::{Backend, World, customers};

#[tokio::test]
async fn deleting_and_inserting_again_delivers_only_what_differs() {
    let world = World::attached(Backend::Postgres).await;
    world
        .run("insert into customers select id, 'n' || id, 1, '' from generate_series(1, 500) as id")
        .await;
    assert_eq!(world.news().await.len(), 500);
    world
        .run(
            "begin; delete from customers;
             insert into customers select id, 'n' || id, 1, 'again' from generate_series(1, 500) as id where id <> 8;
             update customers set name = 'other' where id = 9; commit",
        )
        .await;
    assert_eq!(world.sorted_news().await, ["delete 8", "upsert 9 other@1"]);
}

#[tokio::test]
async fn a_row_that_comes_and_goes_in_one_transaction_is_no_news() {
    let world = World::attached(Backend::Postgres).await;
    world
        .run("begin; insert into customers values (1, 'a', 1, ''); delete from customers; commit")
        .await;
    assert!(world.news().await.is_empty());
    world
        .run("begin; insert into customers values (1, 'a', 1, ''), (2, 'b', 1, ''); delete from customers where id = 1; commit")
        .await;
    assert_eq!(world.news().await, ["upsert 2 b@1"]);
}

#[tokio::test]
async fn contents_that_change_places_are_two_changes() {
    let world = World::attached(Backend::Postgres).await;
    world
        .run("insert into customers values (1, 'a', 1, ''), (2, 'b', 1, '')")
        .await;
    world.news().await;
    world
        .run("update customers set name = case name when 'a' then 'b' else 'a' end")
        .await;
    assert_eq!(world.sorted_news().await, ["upsert 1 b@1", "upsert 2 a@1"]);
}

#[tokio::test]
async fn merge_and_on_conflict_and_copy_are_seen() {
    let world = World::attached(Backend::Postgres).await;
    world
        .run(
            "insert into customers values (1, 'a', 1, ''), (2, 'b', 1, '');
             insert into customers values (2, 'c', 2, ''), (3, 'd', 1, '') on conflict (id) do update set name = excluded.name, version = 2",
        )
        .await;
    assert_eq!(
        world.sorted_news().await,
        ["upsert 1 a@1", "upsert 2 c@2", "upsert 3 d@1"]
    );
    if world.major_version().await >= 15 {
        world
            .run(
                "merge into customers using (values (1, 'x'), (2, null), (4, 'y')) as new (id, name) on new.id = customers.id
                 when matched and new.name is null then delete
                 when matched then update set name = new.name
                 when not matched then insert values (new.id, new.name, 1, '')",
            )
            .await;
        assert_eq!(
            world.sorted_news().await,
            ["delete 2", "upsert 1 x@1", "upsert 4 y@1"]
        );
    }
    world.copy_in("customers", "7\tseven\t1\t\n8\teight\t1\t\n").await;
    assert_eq!(
        world.sorted_news().await,
        ["upsert 7 seven@1", "upsert 8 eight@1"]
    );
}

#[tokio::test]
async fn a_truncate_deletes_what_is_not_written_again() {
    let world = World::attached(Backend::Postgres).await;
    world
        .run("insert into customers values (1, 'a', 1, ''), (2, 'b', 1, '')")
        .await;
    world.news().await;
    world
        .run("begin; truncate customers; insert into customers values (2, 'b', 1, 'again'); commit")
        .await;
    assert_eq!(world.news().await, ["delete 1"]);
    world.run("truncate customers").await;
    assert_eq!(world.news().await, ["delete 2"]);
}

#[tokio::test]
async fn partitions_are_seen_whichever_way_they_are_written() {
    let world = World::with_table(Backend::Postgres).await;
    world
        .run(
            "create table event (day date, id text, name text, primary key (day, id)) partition by range (day);
             create table monday partition of event for values from ('2025-05-19') to ('2025-05-20')",
        )
        .await;
    world.attach(events()).await.unwrap();
    world
        .run("insert into event values ('2025-05-19', 'a/b', 'x'); insert into monday values ('2025-05-19', 'c', 'x')")
        .await;
    assert_eq!(
        world.sorted_news().await,
        ["upsert 2025-05-19/a~1b x", "upsert 2025-05-19/c x"]
    );

    // A partition of another shape, that came later, by itself and through its parent.
    world
        .run(
            "create table tuesday (name text, id text not null, day date not null);
             alter table event attach partition tuesday for values from ('2025-05-20') to ('2025-05-21');
             insert into tuesday values ('x', 'd', '2025-05-20'); insert into event values ('2025-05-20', 'e', 'x')",
        )
        .await;
    assert_eq!(
        world.sorted_news().await,
        ["upsert 2025-05-20/d x", "upsert 2025-05-20/e x"]
    );
    world
        .run("update event set name = 'y' where id in ('c', 'd')")
        .await;
    assert_eq!(
        world.sorted_news().await,
        ["upsert 2025-05-19/c y", "upsert 2025-05-20/d y"]
    );
    let problem = world.inner.database.attached().await.unwrap().remove(0).problem;
    assert!(problem.is_some_and(|problem| problem.contains("tuesday")));

    // A row that moves from one to the other, and slices that are cut off.
    world
        .run("update event set day = '2025-05-20' where id = 'c'")
        .await;
    assert_eq!(
        world.sorted_news().await,
        ["delete 2025-05-19/c", "upsert 2025-05-20/c y"]
    );
    world
        .run("delete from tuesday where id = 'e'; truncate monday")
        .await;
    assert_eq!(
        world.sorted_news().await,
        ["delete 2025-05-19/a~1b", "delete 2025-05-20/e"]
    );

    world.attach(events()).await.unwrap();
    assert_eq!(world.inner.database.attached().await.unwrap()[0].problem, None);
    world.run("truncate tuesday").await;
    assert_eq!(
        world.sorted_news().await,
        ["delete 2025-05-20/c", "delete 2025-05-20/d"]
    );
}

#[tokio::test]
async fn a_partition_by_itself_and_a_parent_by_inheritance_are_refused() {
    let world = World::with_table(Backend::Postgres).await;
    world
        .run(
            "create table event (day date, id text, name text, primary key (day, id)) partition by range (day);
             create table monday partition of event for values from ('2025-05-19') to ('2025-05-20');
             create table child () inherits (customers)",
        )
        .await;
    let mut source = events();
    source.place = Place::Table("monday".to_owned());
    let error = world.attach(source).await.unwrap_err().to_string();
    assert!(error.contains("is a partition"), "{error}");
    let error = world
        .attach(customers(Way::Trigger))
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("inherit"), "{error}");
}

#[tokio::test]
async fn a_column_that_came_later_is_seen_before_the_table_is_attached_again() {
    let world = World::attached(Backend::Postgres).await;
    world.run("insert into customers values (1, 'a', 1, '')").await;
    world.news().await;
    world
        .run("alter table customers add column city text; update customers set city = 'Rome'")
        .await;
    assert_eq!(world.news().await, ["upsert 1 a@1"]);
    assert_eq!(
        world.last_payload().await,
        r#"{"id":1,"name":"a","version":1,"city":"Rome"}"#
    );
}

#[tokio::test]
async fn rows_that_a_foreign_key_takes_along_are_seen() {
    let world = World::with_table(Backend::Postgres).await;
    world
        .run("create table parent (id bigint primary key); alter table customers add foreign key (id) references parent on delete cascade")
        .await;
    world.attach(customers(Way::Trigger)).await.unwrap();
    world
        .run("insert into parent values (1); insert into customers values (1, 'a', 1, '')")
        .await;
    world.news().await;
    world.run("delete from parent").await;
    assert_eq!(world.news().await, ["delete 1"]);
}

#[tokio::test]
async fn constraints_that_are_made_immediate_compare_at_once_and_again() {
    let world = World::attached(Backend::Postgres).await;
    world
        .run(
            "begin; set constraints all immediate; insert into customers values (1, 'a', 1, '');
             update customers set name = 'b'; commit",
        )
        .await;
    assert_eq!(world.news().await, ["upsert 1 a@1", "upsert 1 b@1"]);
    assert_eq!(
        world
            .inner
            .number("select count(*) from aftercommit.touched")
            .await,
        0
    );
}

#[tokio::test]
async fn a_writer_of_the_table_needs_no_right_in_the_schema() {
    let world = World::attached(Backend::Postgres).await;
    world
        .run(
            "create role etl_of_kinds; grant insert, select on customers to etl_of_kinds; set role etl_of_kinds;
             insert into customers values (1, 'a', 1, '')",
        )
        .await;
    assert_eq!(world.news().await, ["upsert 1 a@1"]);
    let error = world
        .try_run("set role etl_of_kinds; select aftercommit.capture('customers')")
        .await
        .unwrap_err();
    assert!(error.to_string().contains("permission denied"), "{error}");
    world
        .run("drop owned by etl_of_kinds; drop role etl_of_kinds")
        .await;
}

#[tokio::test]
async fn a_producer_cannot_pass_the_ledger_by_saying_that_it_has_been_there() {
    let world = World::attached(Backend::Postgres).await;
    let row = "set aftercommit.set_based = 'on';
        insert into aftercommit.outbox (id, topic, row_key, op, payload) values (900, 'customers', '1', 'upsert', '{}')";
    world
        .run(&format!(
            "create role producer_of_kinds; grant usage on schema aftercommit to producer_of_kinds;
             grant insert on aftercommit.outbox to producer_of_kinds; set role producer_of_kinds; {row}; {row}"
        ))
        .await;
    assert_eq!(world.news().await, ["upsert 1"]);
    assert_eq!(
        world
            .inner
            .number("select count(*) from aftercommit.outbox where id = 900")
            .await,
        0
    );
    world
        .run("drop owned by producer_of_kinds; drop role producer_of_kinds")
        .await;
}

#[tokio::test]
async fn a_ratio_that_is_none_refuses_every_capture() {
    let world = World::captured(Backend::Postgres).await;
    for ratio in ["null", "'NaN'", "-0.1", "1.1"] {
        let sql =
            format!("select aftercommit.capture('customers', deletes => true, max_delete_ratio => {ratio})");
        let error = world.try_run(&sql).await.unwrap_err().to_string();
        assert!(error.contains("max_delete_ratio is"), "{ratio}: {error}");
    }
}

#[tokio::test]
async fn a_table_of_another_owner_is_told_of() {
    let world = World::with_table(Backend::Postgres).await;
    world
        .run("create role owner_of_kinds; alter table customers owner to owner_of_kinds")
        .await;
    world.attach(customers(Way::Trigger)).await.unwrap();
    let said = world.inner.database.surprises("customers").await.unwrap();
    assert!(
        said.iter().any(|line| line.contains("belongs to owner_of_kinds")),
        "{said:?}"
    );
    world
        .run("drop owned by owner_of_kinds; drop role owner_of_kinds")
        .await;
}

fn events() -> Source {
    Source {
        topic: "customers".to_owned(),
        place: Place::Table("event".to_owned()),
        key: vec!["day".to_owned(), "id".to_owned()],
        version: None,
        excluded: Vec::new(),
        way: Way::Trigger,
    }
}

impl World {
    async fn major_version(&self) -> i64 {
        self.inner
            .number("select current_setting('server_version_num')::integer / 10000")
            .await
    }
}

#[tokio::test]
async fn a_foreign_table_is_captured_like_one_of_its_own() {
    let world = World::with_table(Backend::Postgres).await;
    world
        .run(
            "create extension postgres_fdw;
             do $$ begin execute format('create server here foreign data wrapper postgres_fdw options (host %L, port %L, dbname %L)',
                 split_part(current_setting('unix_socket_directories'), ',', 1), current_setting('port'), current_database()); end $$;
             create user mapping for current_user server here options (user 'postgres');
             create foreign table far (id bigint not null, name text, version bigint, loaded_at text) server here options (table_name 'customers')",
        )
        .await;
    let mut far = customers(Way::Trigger);
    far.place = Place::Table("far".to_owned());
    let error = world.attach(far.clone()).await.unwrap_err().to_string();
    assert!(error.contains("by capture"), "{error}");
    far.way = Way::Capture;
    world.attach(far).await.unwrap();
    world
        .run("insert into customers values (1, 'a', 1, ''), (2, 'b', 1, '')")
        .await;
    world.capture().await;
    assert_eq!(world.sorted_news().await, ["upsert 1 a@1", "upsert 2 b@1"]);
    world
        .run("update customers set name = 'c', version = 2 where id = 2")
        .await;
    world.capture().await;
    assert_eq!(world.news().await, ["upsert 2 c@2"]);
}
