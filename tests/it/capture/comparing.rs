//! A capture: what differs between a source and the ledger, when somebody asks.

use aftercommit::store::sources::{Deletes, Extent, Place, Way};

use super::world::{Backend, World, came_to, customers, on_both, with_deletes};

on_both! {
    async fn only_what_differs_is_admitted(backend: Backend) {
        let world = World::captured(backend).await;
        world.run("insert into customers values (1, 'Ada', 10, ''), (2, 'Bob', 10, ''), (3, 'Joe', 10, '')").await;
        assert_eq!(world.capture().await, came_to(3, 0, 0, 0));
        assert_eq!(world.capture().await, came_to(0, 3, 0, 0));
        world.news().await;
        world.run("update customers set name = 'Eve', version = 11 where id = 2; update customers set name = 'old', version = 9 where id = 3").await;
        world.run("update customers set loaded_at = 'later'").await;
        assert_eq!(world.capture().await, came_to(1, 1, 1, 0));
        assert_eq!(world.news().await, ["upsert 2 Eve@11"]);
    }

    async fn rows_that_are_gone_are_deleted_only_if_that_is_asked(backend: Backend) {
        let world = World::captured(backend).await;
        world.fill(1..=10).await;
        world.capture().await;
        world.news().await;
        world.run("delete from customers where id = 4").await;
        assert_eq!(world.capture().await, came_to(0, 9, 0, 0));
        assert_eq!(world.try_capture(with_deletes(0.2)).await.unwrap(), came_to(0, 9, 0, 1));
        assert_eq!(world.try_capture(with_deletes(0.2)).await.unwrap(), came_to(0, 9, 0, 0));
        assert_eq!(world.news().await, ["delete 4"]);
    }

    async fn too_many_deletes_are_refused_with_their_number(backend: Backend) {
        let world = World::captured(backend).await;
        world.fill(1..=10).await;
        world.capture().await;
        world.news().await;
        world.run("delete from customers where id <= 3; update customers set name = 'changed' where id = 9").await;
        let error = world.try_capture(with_deletes(0.2)).await.unwrap_err().to_string();
        assert!(error.contains("3 of 10 rows") && error.contains("20.0 %"), "{error}");
        assert!(world.news().await.is_empty(), "not even the change");
        assert_eq!(world.try_capture(with_deletes(0.3)).await.unwrap(), came_to(1, 6, 0, 3));
        world.news().await;
        world.run("delete from customers").await;
        let error = world.try_capture(with_deletes(1.0)).await.unwrap_err().to_string();
        assert!(error.contains("all 7 rows"), "{error}");
        assert!(world.news().await.is_empty());
    }

    async fn a_partition_is_compared_alone(backend: Backend) {
        let world = World::captured(backend).await;
        world.run("insert into customers values (1, 'a', 1, ''), (2, 'a', 1, ''), (3, 'a', 1, ''), (11, 'b', 1, ''), (12, 'b', 1, '')").await;
        world.capture().await;
        world.news().await;
        world.run("update customers set version = 2; delete from customers where id in (3, 12); insert into customers values (4, 'a', 2, ''), (13, 'b', 2, '')").await;
        let slice = Extent { partition: Some("name = 'a'".to_owned()), deletes: Deletes::UpTo(0.5) };
        assert_eq!(world.try_capture(slice).await.unwrap(), came_to(3, 0, 0, 1));
        assert_eq!(world.sorted_news().await, ["delete 3", "upsert 1 a@2", "upsert 2 a@2", "upsert 4 a@2"]);
    }

    async fn a_row_that_has_moved_to_another_partition_is_not_deleted(backend: Backend) {
        let world = World::captured(backend).await;
        world.run("insert into customers values (1, 'a', 1, ''), (2, 'a', 1, ''), (3, 'b', 1, '')").await;
        world.capture().await;
        world.news().await;
        world.run("update customers set name = 'b', version = 2 where id = 2").await;
        let slice = Extent { partition: Some("name = 'a'".to_owned()), deletes: Deletes::UpTo(0.9) };
        assert_eq!(world.try_capture(slice).await.unwrap(), came_to(0, 1, 0, 0));
        assert!(world.news().await.is_empty());
    }

    async fn a_table_that_took_the_name_is_the_source(backend: Backend) {
        let world = World::captured(backend).await;
        world.fill(1..=3).await;
        world.capture().await;
        world.news().await;
        world.run("create table green (id bigint primary key, name text, version bigint, loaded_at text); \
            insert into green select * from customers where id < 3; insert into green values (4, 'new', 1, ''); \
            alter table customers rename to blue; alter table green rename to customers").await;
        assert_eq!(world.try_capture(with_deletes(0.5)).await.unwrap(), came_to(1, 2, 0, 1));
        assert_eq!(world.news().await.len(), 2);
    }

    async fn a_query_is_a_source_like_a_table(backend: Backend) {
        let world = World::captured(backend).await;
        world.fill(1..=3).await;
        let mut source = customers(Way::Capture);
        source.place = Place::Query(match backend {
            Backend::Postgres => "select id, upper(name) as name, version from public.customers where id > 1 -- not the first",
            Backend::Sqlite => "select id, upper(name) as name, version from customers where id > 1 -- not the first",
        }.to_owned());
        source.excluded = Vec::new();
        world.attach(source).await.unwrap();
        assert_eq!(world.capture().await, came_to(2, 0, 0, 0));
        assert_eq!(world.news().await, ["upsert 2 N2@1", "upsert 3 N3@1"]);
        world.run("delete from customers where id = 3").await;
        assert_eq!(world.try_capture(with_deletes(0.9)).await.unwrap(), came_to(0, 1, 0, 1));
    }

    async fn the_newest_of_several_rows_of_a_key_counts(backend: Backend) {
        let world = World::captured(backend).await;
        world.run("create table log (id bigint, name text, version bigint, loaded_at text)").await;
        world.run("insert into log values (1, 'a', 1, ''), (1, 'b', 3, ''), (1, 'c', 2, ''), (2, 'x', 1, ''), (2, 'x', 1, '')").await;
        let mut source = customers(Way::Capture);
        source.place = Place::Table("log".to_owned());
        world.attach(source.clone()).await.unwrap();
        world.capture().await;
        assert_eq!(world.sorted_news().await, ["upsert 1 b@3", "upsert 2 x@1"]);

        source.version = None;
        world.attach(source).await.unwrap();
        let error = world.try_capture(Extent::default()).await.unwrap_err().to_string();
        assert!(error.contains("several rows") && error.contains("row key \"1\""), "{error}");
        world.run("delete from log where id = 1 and name <> 'b'").await;
        world.capture().await;
        assert!(world.news().await.is_empty(), "two equal rows are one");
    }

    async fn a_table_may_come_after_it_was_attached(backend: Backend) {
        let world = World::captured(backend).await;
        let mut source = customers(Way::Capture);
        source.place = Place::Table(match backend {
            Backend::Postgres => "public.later",
            Backend::Sqlite => "later",
        }.to_owned());
        world.attach(source).await.unwrap();
        let error = world.try_capture(Extent::default()).await.unwrap_err().to_string();
        assert!(error.contains("does not exist"), "{error}");
        world.run("create table later (id bigint primary key, name text, version bigint, loaded_at text); insert into later values (1, 'a', 1, '')").await;
        assert_eq!(world.capture().await, came_to(1, 0, 0, 0));
    }

    async fn a_row_without_a_key_fails_the_capture(backend: Backend) {
        let world = World::captured(backend).await;
        world.run("create table loose (id bigint, name text, version bigint, loaded_at text); insert into loose values (1, 'a', 1, ''), (null, 'b', 1, '')").await;
        let mut source = customers(Way::Capture);
        source.place = Place::Table("loose".to_owned());
        world.attach(source).await.unwrap();
        let error = world.try_capture(Extent::default()).await.unwrap_err().to_string();
        assert!(error.contains("row key"), "{error}");
        assert!(world.news().await.is_empty());
    }

    async fn a_topic_without_a_source_is_said(backend: Backend) {
        let world = World::with_table(backend).await;
        let error = world.try_capture(Extent::default()).await.unwrap_err().to_string();
        assert!(error.contains("has no source") && error.contains("aftercommit attach"), "{error}");
    }
}

impl World {
    async fn fill(&self, ids: std::ops::RangeInclusive<i64>) {
        for id in ids {
            self.run(&format!("insert into customers values ({id}, 'n{id}', 1, '')"))
                .await;
        }
    }
}
