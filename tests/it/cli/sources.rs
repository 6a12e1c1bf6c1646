//! `aftercommit attach`, `attached`, `capture` and `detach`: a table is attached, and what changes in it arrives.

use serde_json::json;

use crate::store::world::{Backend, World, on_both};

use super::command::Project;

const TABLE: &str = "create table shop (region text not null, id bigint not null, name text, seen_at timestamp default current_timestamp,
    primary key (region, id))";

on_both! {
    async fn an_attached_table_is_listed_captured_and_detached(backend: Backend) {
        let world = World::migrated(backend).await;
        world.execute(TABLE).await;
        world.execute("insert into shop values ('e/u', 1, 'Ada', '2025-05-18 01:02:03')").await;
        let project = Project::empty();
        let at = ["--database", world.url.as_str()];
        let attach = ["attach", "shop", "--topic", "shops", "--key", "region,id"];

        let said = project.run(&[&attach[..], &at].concat()).await.done();
        assert!(said.contains("aftercommit capture shops") && said.contains("--exclude seen_at"), "{said}");
        assert!(said.contains("no destination takes this topic"), "{said}");
        let done = project.run(&[&attach[..], &["--version", "seen_at", "--exclude", "seen_at", "--json"], &at].concat()).await.json();
        assert_eq!((&done["topic"], &done["way"], &done["excluded"]), (&json!("shops"), &json!("trigger"), &json!(["seen_at"])));

        world.execute("insert into shop values ('us', 2, 'Bob', '2025-05-18 01:02:03')").await;
        let captured = project.run(&[&["capture", "shops", "--json"], &at[..]].concat()).await.json();
        assert_eq!(captured, json!({"admitted": 1, "unchanged": 1, "stale": 0, "deleted": 0}));
        let row = world.text("select row_key || ' ' || row_version || ' ' || payload from aftercommit.outbox where id = 2").await.unwrap();
        assert_eq!(row, r#"e~1u/1 1747530123000000 {"region":"e/u","id":1,"name":"Ada"}"#);

        world.execute("delete from shop where id = 1").await;
        let captured = project.run(&[&["capture", "shops", "--partition", "region = 'us'"], &at[..]].concat()).await.done();
        assert_eq!(captured, "1 row: 0 admitted, 1 unchanged\n");
        let listed = project.run(&[&["attached"], &at[..]].concat()).await.done();
        assert!(listed.contains("region, id") && listed.contains("trigger"), "{listed}");

        let said = project.run(&[&["detach", "shops"], &at[..]].concat()).await.done();
        assert!(said.starts_with("shops: "), "{said}");
        let trail = "select count(*) from aftercommit.audit where action = '{}' and subject = 'shops' and actor like 'cli%'";
        let told = async |action| world.number(&trail.replace("{}", action)).await;
        assert_eq!((told("attach").await, told("detach").await), (2, 1));
        let error = project.run(&[&["detach", "shops"], &at[..]].concat()).await.failed(4);
        assert!(error.contains("nothing is attached to topic `shops`"), "{error}");
        assert_eq!(project.run(&[&["attached"], &at[..]].concat()).await.done(), "nothing is attached\n");
    }

    async fn what_cannot_be_done_is_said_with_the_way_out(backend: Backend) {
        let world = World::migrated(backend).await;
        world.execute(TABLE).await;
        let project = Project::empty();
        let at = ["--database", world.url.as_str()];
        let failed = async |arguments: &[&str], code| project.run(&[arguments, &at[..]].concat()).await.failed(code);

        let error = failed(&["capture", "shops"], 4).await;
        assert!(error.contains("topic \"shops\" has no source") && error.contains("aftercommit attach"), "{error}");
        let error = failed(&["attach", "\"shop; drop\"", "--topic", "shops", "--key", "id"], 4).await;
        assert!(error.starts_with("error: there is no table \"shop; drop\"\nhelp: create it first"), "{error}");
        let error = failed(&["attach", "shop", "--topic", "shops", "--key", "nope"], 2).await;
        assert!(error.contains("no column \"nope\""), "{error}");
        let error = failed(&["attach", "--query", "select 1 as id", "--topic", "shops", "--key", "id"], 2).await;
        assert!(error.contains("--by capture"), "{error}");
        let error = failed(&["attach", "--query", "selec 1", "--topic", "shops", "--key", "id", "--by", "capture"], 2).await;
        assert!(error.contains("syntax"), "{error}");
        let error = failed(&["attach", "shop", "--topic", "shops", "--key", "id", "--exclude", "id"], 2).await;
        assert!(error.contains("part of the key"), "{error}");
        let error = failed(&["capture", "shops", "--deletes", "--max-delete-ratio", "20"], 2).await;
        assert!(error.contains("from 0 to 1"), "{error}");

        world.execute("insert into shop values ('eu', 1, 'a', null), ('eu', 2, 'b', null), ('us', 3, 'c', null)").await;
        project.run(&[&["attach", "shop", "--topic", "shops", "--key", "id", "--by", "capture"], &at[..]].concat()).await.done();
        project.run(&[&["capture", "shops"], &at[..]].concat()).await.done();
        world.execute("delete from shop where id = 2").await;
        let error = failed(&["capture", "shops", "--partition", "id = 1; id"], 2).await;
        assert!(error.ends_with("the partition is not understood: id = 1; id\nhelp: write columns beside literals, joined by \"and\": \
            event_date = '2025-05-18' and region in ('eu', 'us')\n"), "{error}");
        let error = failed(&["capture", "shops", "--deletes"], 1).await;
        assert!(error.contains("1 of 3 rows would be deleted, more than the 20.0 % allowed"), "{error}");
        let said = project.run(&[&["capture", "shops", "--deletes", "--max-delete-ratio", "0.5"], &at[..]].concat()).await.done();
        assert_eq!(said, "2 rows: 0 admitted, 2 unchanged; 1 row is gone\n");

        world.execute("create table market (id bigint primary key); alter table shop rename to closed").await;
        let error = failed(&["capture", "shops"], 4).await;
        assert!(error.contains("shop, does not exist\nhelp: create it"), "{error}");
        let market = ["attach", "market", "--topic", "shops", "--key", "id"];
        let error = failed(&market, 2).await;
        assert!(error.contains("shop already\nhelp: choose another topic, or detach this one first. To put another"), "{error}");
        project.run(&[&market[..], &["--replace"], &at].concat()).await.done();
    }
}
