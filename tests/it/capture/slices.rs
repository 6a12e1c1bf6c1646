//! The slice of a capture: columns beside literals and nothing else, on either database. And versions that are texts (SQLite).

use aftercommit::store::StoreError;
use aftercommit::store::sources::{Deletes, Extent, Way};

use super::world::{Backend, World, came_to, customers, on_both};

fn slice(text: &str) -> Extent {
    Extent {
        partition: Some(text.to_owned()),
        deletes: Deletes::Kept,
    }
}

on_both! {
    async fn columns_beside_literals_name_a_slice(backend: Backend) {
        for (text, rows) in [
            ("name = 'a'", 2),
            ("NAME = 'a'", 2),
            ("\"name\" <> 'a' and version >= 1", 1),
            ("name in ('it''s', 'z')", 1),
            ("version is null", 1),
            ("\tversion IS NOT null and id<3", 2),
            ("name = 'name'", 0),
        ] {
            let world = World::captured(backend).await;
            world.run("insert into customers values (1, 'a', 1, ''), (2, 'a', 1, ''), (3, 'it''s', null, ''), (4, 'b', 2, '')").await;
            let captured = world.try_capture(slice(text)).await.unwrap();
            assert_eq!(captured, came_to(rows, 0, 0, 0), "{text}");
        }
    }

    async fn nothing_else_is_run_as_a_slice(backend: Backend) {
        let world = World::captured(backend).await;
        world.run("insert into customers values (1, 'a', 1, '')").await;
        for text in ["1=1) union select 1 --", "name = name", "name = 'a' or 1 = 1", "name = upper('a')", "name = 'a'; drop table customers", ""] {
            let error = world.try_capture(slice(text)).await.unwrap_err();
            let StoreError::Refused(objection) = error else { panic!("{text}: {error}") };
            assert!(objection.problem.ends_with(&format!("the partition is not understood: {text}")), "{objection}");
            assert!(objection.way_out.unwrap().starts_with("write columns beside literals"), "{text}");
        }
        assert!(world.news().await.is_empty());
        // SQLite would take a name that it does not know for a text.
        let error = world.try_capture(slice("\"nope\" = 'nope'")).await.unwrap_err().to_string();
        assert!(error.contains("nope"), "{error}");
        assert!(world.news().await.is_empty());
    }
}

#[tokio::test]
async fn what_is_gone_from_a_slice_over_an_excluded_column_is_not_guessed() {
    let world = World::captured(Backend::Sqlite).await;
    world
        .run("insert into customers values (1, 'a', 1, 'x'), (2, 'a', 1, 'x')")
        .await;
    world.capture().await;
    world.run("delete from customers where id = 2").await;
    let mut gone = slice("loaded_at = 'x'");
    assert_eq!(
        world.try_capture(gone.clone()).await.unwrap(),
        came_to(0, 1, 0, 0)
    );
    gone.deletes = Deletes::UpTo(0.9);
    let error = world.try_capture(gone).await.unwrap_err().to_string();
    assert!(error.contains("\"loaded_at\" is not in the payloads"), "{error}");
}

#[tokio::test]
async fn a_version_that_is_a_text_is_a_whole_number_or_a_time_and_no_julian_day() {
    let world = World::with_table(Backend::Sqlite).await;
    world
        .run("create table texts (id integer primary key, name text, version text, loaded_at text)")
        .await;
    let texts = |way| {
        let mut source = customers(way);
        source.place = aftercommit::store::sources::Place::Table("texts".to_owned());
        source
    };
    world.attach(texts(Way::Trigger)).await.unwrap();
    world
        .run("insert into texts values (1, 'a', '12', ''), (2, 'b', '1970-01-01 00:00:01', ''), (3, 'c', '1970-01-02', '')")
        .await;
    assert_eq!(
        world.news().await,
        ["upsert 1 a@12", "upsert 2 b@1000000", "upsert 3 c@86400000000"]
    );
    for value in ["now", "12:00", "2.5", "-1", "12x", ""] {
        let wrong = format!("insert into texts values (9, 'z', '{value}', '')");
        let error = world.try_run(&wrong).await.unwrap_err().to_string();
        assert!(
            error.contains("the version column \"version\""),
            "{value}: {error}"
        );
        let error = world.try_run("update texts set version = 'now' where id = 1");
        assert!(error.await.is_err(), "{value}");
    }
    world.attach(texts(Way::Capture)).await.unwrap();
    world.run("insert into texts values (9, 'z', 'now', '')").await;
    let error = world
        .try_capture(Extent::default())
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("the version column \"version\" holds now"),
        "{error}"
    );
    let error = world.attach(texts(Way::Trigger)).await.unwrap_err().to_string();
    assert!(
        error.contains("the version column \"version\" holds now"),
        "{error}"
    );
    assert_eq!(
        world.try_capture(slice("id < 3")).await.unwrap(),
        came_to(0, 2, 0, 0)
    );
}
