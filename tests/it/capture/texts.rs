//! What a payload, a row key and a row version are made of on PostgreSQL, whatever the session is set to.

use aftercommit::store::sources::{Place, Source, Way};
use proptest::prelude::*;

use super::world::{Backend, World};

/// Settings that change the text of values.
const SETTINGS: &str =
    "set timezone = 'Asia/Kathmandu'; set datestyle = 'SQL, DMY'; set extra_float_digits = -3;
    set intervalstyle = 'sql_standard'; set bytea_output = 'escape'";

const TABLE: &str = "create table thing (id timestamptz primary key, part double precision, length interval, bytes bytea, day date,
    seen timestamp, exact numeric(30, 10), big bigint)";

#[tokio::test]
async fn no_setting_of_a_session_changes_a_payload() {
    let world = World::with_table(Backend::Postgres).await;
    world.run(TABLE).await;
    world.attach(things(Way::Trigger)).await.unwrap();
    let insert = "insert into thing values ('2025-05-18 12:00:00.123456+00', 0.1::float8 + 0.2, '1 day 02:03', '\\xdeadbeef', '2025-05-18',
        '2025-05-18 01:02:03.000004', 12345678901234567890.0000000001, 9007199254740993)";
    world.run(insert).await;
    assert_eq!(
        world.last_payload().await,
        concat!(
            r#"{"id":"2025-05-18T12:00:00.123456+00:00","part":0.30000000000000004,"length":"P1DT2H3M","bytes":"\\xdeadbeef","#,
            r#""day":"2025-05-18","seen":"2025-05-18T01:02:03.000004","exact":12345678901234567890.0000000001,"big":9007199254740993}"#
        )
    );
    assert_eq!(world.keys().await, ["2025-05-18 12:00:00.123456+00"]);
    assert_eq!(
        world
            .inner
            .number("select row_version from aftercommit.outbox")
            .await,
        1_747_530_123_000_004
    );
    let again = insert.replace("12:00:00.123456+00", "17:45:00.123456+05:45");
    world
        .run(&format!("{SETTINGS}; begin; delete from thing; {again}; commit"))
        .await;
    world
        .run(&format!("{SETTINGS}; update thing set big = big"))
        .await;
    world
        .run(&format!("{SETTINGS}; select aftercommit.capture('customers')"))
        .await;
    assert_eq!(world.keys().await.len(), 1);
}

#[tokio::test]
async fn values_of_every_type_find_their_row_again() {
    let world = World::with_table(Backend::Postgres).await;
    for (kind, value) in [
        ("text", "'a/b~c''\\ \"ü\"'"),
        ("varchar(10)", "''"),
        ("char(5)", "'ab'"),
        ("numeric", "1.50"),
        ("real", "0.1"),
        ("double precision", "'NaN'"),
        ("boolean", "true"),
        ("date", "'-infinity'"),
        ("timestamp", "'2025-05-18 01:02:03.4'"),
        ("timestamptz", "'infinity'"),
        ("uuid", "'00000000-0000-0000-0000-00000000002a'"),
        ("bytea", "'\\x00ff'"),
        ("interval", "'1 month'"),
        ("jsonb", "'{\"b\": 1, \"a\": [1.0]}'"),
        ("integer[]", "'{1,2}'"),
        ("inet", "'10.0.0.1/8'"),
        ("text collate \"de-x-icu\"", "'ß'"),
    ] {
        world
            .run(&format!(
                "create table typed (first {kind}, second {kind}, name text, primary key (first, second))"
            ))
            .await;
        let mut source = things(Way::Trigger);
        source.place = Place::Table("typed".to_owned());
        source.key = vec!["first".to_owned(), "second".to_owned()];
        source.version = None;
        world.attach(source).await.unwrap();
        world
            .run(&format!("insert into typed values ({value}, {value}, 'a')"))
            .await;
        world.run("update typed set name = 'b'; delete from typed").await;
        world
            .run(&format!("insert into typed values ({value}, {value}, 'c')"))
            .await;
        world.run("delete from typed").await;
        let ops: Vec<String> = world
            .news()
            .await
            .iter()
            .map(|line| line[..6].to_owned())
            .collect();
        assert_eq!(ops, ["upsert", "delete", "upsert", "delete"], "{kind}");
        world.run("drop table typed").await;
    }
}

#[tokio::test]
async fn texts_that_are_equal_and_not_the_same_are_changes() {
    let world = World::with_table(Backend::Postgres).await;
    world
        .run(
            "create collation loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
             create table worded (id text collate loose primary key, word text collate loose, span interval)",
        )
        .await;
    let mut source = things(Way::Trigger);
    source.place = Place::Table("worded".to_owned());
    source.version = None;
    source.key = vec!["id".to_owned()];
    world.attach(source).await.unwrap();
    world.run("insert into worded values ('k', 'a', '1 month')").await;
    world.run("update worded set word = 'A'").await;
    world.run("update worded set span = '30 days'").await;
    world.run("update worded set id = 'K'").await;
    let news: Vec<String> = world
        .news()
        .await
        .iter()
        .map(|line| line[..8].to_owned())
        .collect();
    assert_eq!(news[..3], ["upsert k", "upsert k", "upsert k"]);
    let mut moved = news[3..].to_vec();
    moved.sort();
    assert_eq!(moved, ["delete k", "upsert K"]);
    let captured = world.capture().await;
    assert_eq!((captured.admitted, captured.unchanged), (0, 1));
}

#[tokio::test]
async fn a_payload_that_is_too_large_is_refused_with_its_row_key() {
    let world = World::attached(Backend::Postgres).await;
    let error = world
        .try_run("insert into customers values (7, repeat('x', 1048577), 1, '')")
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("row key \"7\"") && error.contains("bytes"),
        "{error}"
    );
    let error = world
        .try_run("insert into customers select id, 'x', 1, '' from generate_series(1, 500) as id; update customers set name = repeat('y', 1048577) where id = 7")
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("row key \"7\""), "{error}");
}

#[tokio::test]
async fn a_part_of_a_key_that_is_null_is_refused() {
    let world = World::with_table(Backend::Postgres).await;
    let error = world
        .try_run("select aftercommit.row_key('a', null)")
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("part 2 of a row key is null"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// Two lists of the same length share a key only if they are equal.
    #[test]
    fn a_key_of_several_columns_is_unambiguous(lists in prop::collection::vec(prop::collection::vec("[/~01a]{0,3}", 2), 40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let shared = runtime.block_on(async {
            let world = World::with_table(Backend::Postgres).await;
            let values: Vec<String> = lists.iter().map(|list| format!("(array['{}', '{}'])", list[0], list[1])).collect();
            world.inner.number(&format!(
                "select count(*) from (select aftercommit.row_key(variadic list) as key from (select distinct list from (values {}) as all_of (list)) as lists
                 group by 1 having count(*) > 1) as shared",
                values.join(", ")
            )).await
        });
        prop_assert_eq!(shared, 0);
    }
}

fn things(way: Way) -> Source {
    Source {
        topic: "customers".to_owned(),
        place: Place::Table("thing".to_owned()),
        key: vec!["id".to_owned()],
        version: Some("seen".to_owned()),
        excluded: Vec::new(),
        way,
    }
}

impl World {
    async fn keys(&self) -> Vec<String> {
        let keys = self
            .inner
            .text("select string_agg(row_key, ';' order by id) from aftercommit.outbox")
            .await;
        keys.unwrap_or_default()
            .split_terminator(';')
            .map(str::to_owned)
            .collect()
    }
}
