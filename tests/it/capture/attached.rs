//! A table that is attached: what a transaction changes in it is owed once that commits.

use aftercommit::store::sources::Way;

use super::world::{Backend, World, customers, on_both, tester};

on_both! {
    async fn what_a_transaction_changes_is_owed_once_it_commits(backend: Backend) {
        let world = World::attached(backend).await;
        world.run("insert into customers values (1, 'Ada', 10, ''), (2, 'Bob', 10, '')").await;
        assert_eq!(world.news().await, ["upsert 1 Ada@10", "upsert 2 Bob@10"]);
        world.run("update customers set name = 'Eve', version = 11 where id = 2; delete from customers where id = 1").await;
        assert_eq!(world.sorted_news().await, ["delete 1", "upsert 2 Eve@11"]);
        assert_eq!(world.owed().await, 4);
    }

    async fn a_transaction_that_is_rolled_back_leaves_nothing(backend: Backend) {
        let world = World::attached(backend).await;
        world.run("begin; insert into customers values (1, 'Ada', 10, ''); rollback").await;
        assert!(world.news().await.is_empty());
        world.run("begin; insert into customers values (1, 'Ada', 10, ''); savepoint s; update customers set name = 'Bob'; rollback to s; commit").await;
        assert_eq!(world.news().await, ["upsert 1 Ada@10"]);
    }

    async fn writing_the_same_again_makes_nothing(backend: Backend) {
        let world = World::attached(backend).await;
        world.run("insert into customers values (1, 'Ada', 10, 'monday')").await;
        world.news().await;
        world.run("update customers set name = name").await;
        world.run("insert into customers values (1, 'Ada', 10, 'tuesday') on conflict (id) do update set name = excluded.name, loaded_at = excluded.loaded_at").await;
        assert!(world.news().await.is_empty(), "what differs is excluded");
    }

    async fn a_row_whose_key_changes_is_deleted_under_the_old_one(backend: Backend) {
        let world = World::attached(backend).await;
        world.run("insert into customers values (1, 'Ada', 10, '')").await;
        world.news().await;
        world.run("update customers set id = 7, version = 11").await;
        assert_eq!(world.sorted_news().await, ["delete 1", "upsert 7 Ada@11"]);
    }

    async fn an_older_version_of_a_row_is_not_news(backend: Backend) {
        let world = World::attached(backend).await;
        world.run("insert into customers values (1, 'new', 10, '')").await;
        world.news().await;
        world.run("update customers set name = 'old', version = 9").await;
        assert!(world.news().await.is_empty());
        world.run("update customers set name = 'newer', version = 11").await;
        assert_eq!(world.news().await, ["upsert 1 newer@11"]);
    }

    async fn a_version_that_moves_alone_still_keeps_older_ones_out(backend: Backend) {
        let world = World::attached(backend).await;
        let mut source = customers(Way::Trigger);
        source.excluded.push("version".to_owned());
        world.attach(source).await.unwrap();
        world.run("insert into customers values (1, 'a', 10, '')").await;
        world.run("update customers set version = 20").await;
        world.news().await;
        world.run("update customers set name = 'b', version = 15").await;
        assert!(world.news().await.is_empty(), "20 was seen, though it changed nothing");
    }

    async fn rows_from_before_are_sent_when_they_change(backend: Backend) {
        let world = World::with_table(backend).await;
        world.run("insert into customers values (1, 'Ada', 10, ''), (2, 'Bob', 10, '')").await;
        world.attach(customers(Way::Trigger)).await.unwrap();
        world.run("update customers set name = 'Eve' where id = 2; delete from customers where id = 1").await;
        assert_eq!(world.news().await, ["upsert 2 Eve@10"], "of 1 nobody was ever told");
        world.run("insert into customers values (3, 'Joe', 10, '')").await;
        world.capture().await;
        assert_eq!(world.news().await, ["upsert 3 Joe@10"]);
    }

    async fn a_detached_table_is_no_longer_seen(backend: Backend) {
        let world = World::attached(backend).await;
        assert!(world.inner.database.detach("customers", &tester()).await.unwrap());
        assert!(!world.inner.database.detach("customers", &tester()).await.unwrap());
        world.run("insert into customers values (1, 'Ada', 10, '')").await;
        assert!(world.news().await.is_empty());
        assert!(world.inner.database.attached().await.unwrap().is_empty());
    }

    async fn attaching_again_replaces_what_was_there(backend: Backend) {
        let world = World::attached(backend).await;
        let mut source = customers(Way::Trigger);
        source.excluded.push("name".to_owned());
        world.attach(source.clone()).await.unwrap();
        world.run("insert into customers values (1, 'Ada', 10, '')").await;
        assert_eq!(world.news().await, ["upsert 1@10"], "once, and without the name");
        let attached = world.inner.database.attached().await.unwrap();
        assert_eq!(attached.len(), 1);
        assert_eq!((attached[0].source.excluded.as_slice(), &attached[0].problem), (&source.excluded[..], &None));
    }

    async fn what_is_wrong_with_a_source_is_said(backend: Backend) {
        let world = World::attached(backend).await;
        world.run("alter table customers add column city text").await;
        assert!(world.problem().await.contains("columns have changed"));
        world.run("alter table customers rename to others").await;
        assert!(world.problem().await.contains("there is no"));
    }

    async fn what_cannot_be_attached_is_refused_by_name(backend: Backend) {
        let world = World::with_table(backend).await;
        let mut source = customers(Way::Trigger);
        source.key = vec!["nope".to_owned()];
        assert!(world.refusal(source).await.contains("no column \"nope\""));
        world.run("create view seen as select * from customers").await;
        let mut source = customers(Way::Trigger);
        source.place = aftercommit::store::sources::Place::Table("seen".to_owned());
        assert!(world.refusal(source).await.contains("no table"));
        let mut source = customers(Way::Trigger);
        source.place = aftercommit::store::sources::Place::Table("nowhere".to_owned());
        assert!(world.refusal(source).await.contains("nowhere"));
        world.run("insert into customers values (1, 'Ada', 10, '')").await;
        let mut source = customers(Way::Trigger);
        source.version = Some("name".to_owned());
        assert!(world.refusal(source).await.contains("version column \"name\""));
        assert!(world.inner.database.attached().await.unwrap().is_empty());
    }

    async fn a_topic_of_events_takes_no_table(backend: Backend) {
        let world = World::with_table(backend).await;
        world.run("insert into aftercommit.outbox (topic, row_key, op, payload) values ('happened', '1', 'event', '1')").await;
        let mut source = customers(Way::Capture);
        source.topic = "happened".to_owned();
        assert!(world.refusal(source).await.contains("of kind event"));
    }

    async fn a_row_without_a_key_fails_its_transaction(backend: Backend) {
        let world = World::with_table(backend).await;
        world.run("create table loose (id bigint, name text)").await;
        let mut source = customers(Way::Trigger);
        source.place = aftercommit::store::sources::Place::Table("loose".to_owned());
        source.version = None;
        source.excluded = Vec::new();
        world.attach(source).await.unwrap();
        let error = world.try_run("insert into loose values (null, 'x')").await.unwrap_err().to_string();
        assert!(error.contains("row key"), "{error}");
        assert!(world.news().await.is_empty());
    }

    async fn a_column_that_says_when_a_run_was_is_told(backend: Backend) {
        let world = World::attached(backend).await;
        let mut source = customers(Way::Trigger);
        source.excluded = Vec::new();
        world.attach(source).await.unwrap();
        for number in 0..20 {
            world.run(&format!("insert into customers values ({number}, 'x', 1, 'monday')")).await;
        }
        assert!(world.surprises().await.iter().all(|line| !line.contains("loaded_at")));
        world.run("update customers set loaded_at = 'tuesday'").await;
        let said = world.surprises().await;
        assert!(said.iter().any(|line| line.contains("\"loaded_at\" alone") && line.contains("20 rows")), "{said:?}");
    }

    async fn a_view_that_reads_the_clock_is_told(backend: Backend) {
        let world = World::with_table(backend).await;
        world.run("create view calm as select * from customers").await;
        world.run("create view restless as select id, name, version, current_timestamp as loaded_at from customers").await;
        for (view, is_told) in [("calm", false), ("restless", true)] {
            let mut source = customers(Way::Capture);
            source.place = aftercommit::store::sources::Place::Table(view.to_owned());
            world.attach(source).await.unwrap();
            let said = world.surprises().await;
            assert_eq!(said.iter().any(|line| line.contains("the view reads the clock")), is_told, "{view}: {said:?}");
        }
    }

    async fn a_column_that_begins_with_the_time_is_told(backend: Backend) {
        let world = World::with_table(backend).await;
        world.run("create table timed (id bigint primary key, made_at timestamp default current_timestamp)").await;
        let mut source = customers(Way::Trigger);
        source.place = aftercommit::store::sources::Place::Table("timed".to_owned());
        source.version = None;
        source.excluded = Vec::new();
        world.attach(source).await.unwrap();
        let said = world.surprises().await;
        assert!(said.iter().any(|line| line.contains("--exclude made_at")), "{said:?}");
        assert!(said.iter().any(|line| line.contains("no version column")), "{said:?}");
    }
}

impl World {
    async fn problem(&self) -> String {
        let attached = self.inner.database.attached().await.unwrap();
        attached[0].problem.clone().unwrap_or_default()
    }

    async fn refusal(&self, source: aftercommit::store::sources::Source) -> String {
        self.attach(source).await.unwrap_err().to_string()
    }

    async fn surprises(&self) -> Vec<String> {
        self.inner.database.surprises("customers").await.unwrap()
    }
}
