//! What must not happen to an attached table on PostgreSQL, whatever its writers' settings, isolation and rights are: a change that is
//! lost, a wrong one that is told, or SQL of somebody's own that runs with the rights of the schema's owner.

use aftercommit::store::sources::{Deletes, Extent, Former, Place, Way};
use sqlx::{AssertSqlSafe, PgConnection};

use super::world::{Backend, World, customers, tester};

#[tokio::test]
async fn whoever_may_capture_runs_no_sql_with_its_owners_rights() {
    let world = World::captured(Backend::Postgres).await;
    world.run("insert into customers values (1, 'a', 1, '')").await;
    for slice in [
        "name = 'a' or true",
        "name = (select 'a')",
        "name = 'a'; drop table customers",
        "name = 'a' -- and",
        "name = 'a' and",
        "now() = '2025-05-18'",
        "name = lower('A')",
        // A blank that PostgreSQL takes for a letter: a literal of a type of the caller's own.
        "name = \u{2003}'a'",
        "name = text'a'",
        "id = 1) or (1 = 1",
        "id = $x$1$x$",
        "name = e'\\''",
        "nothing",
        "",
    ] {
        let error = sliced(&world, slice).await.unwrap_err();
        assert!(error.contains("is not understood"), "{slice}: {error}");
    }
    for slice in [
        "name = 'a'",
        "\"name\" in ('b', 'it''s', 'a') AND id >= 1",
        "version\n=\t1 and loaded_at is not null and id <> -1",
    ] {
        assert_eq!(sliced(&world, slice).await, Ok(1), "{slice}");
    }
    let error = sliced(&world, "nowhere = 1").await.unwrap_err();
    assert!(error.contains("names \"nowhere\""), "{error}");
}

#[tokio::test]
async fn a_slice_means_the_same_whatever_the_caller_has_set() {
    let world = World::captured(Backend::Postgres).await;
    world
        .run("insert into customers values (1, 'a\\', 1, ''), (2, 's', 1, '')")
        .await;
    let mut session = world.session().await;
    let set =
        "set standard_conforming_strings = off; set backslash_quote = on; set escape_string_warning = off";
    run(&mut session, set).await;
    let capture = "select admitted from aftercommit.capture('customers', partition => $$name = 'a\\'$$)";
    assert_eq!(number(&mut session, capture).await, 1);
    let nonsense = "select admitted from aftercommit.capture('customers', partition => $$namesss='s'$$)";
    assert!(try_run(&mut session, nonsense).await.is_err());
}

#[tokio::test]
async fn a_slice_may_name_a_column_like_the_outbox_does_but_none_that_is_excluded() {
    let world = World::captured(Backend::Postgres).await;
    world
        .run("insert into customers select id, 'n', 1, 'x' from generate_series(1, 4) as id")
        .await;
    world.capture().await;
    world.run("delete from customers where id = 2").await;
    let slice = |partition: &str| Extent {
        partition: Some(partition.to_owned()),
        deletes: Deletes::UpTo(0.9),
    };
    let captured = world.try_capture(slice("id <= 3")).await.unwrap();
    assert_eq!((captured.unchanged, captured.deleted), (2, 1));
    let error = world.try_capture(slice("loaded_at = 'x'")).await.unwrap_err();
    assert!(error.to_string().contains("names \"loaded_at\""), "{error}");
}

#[tokio::test]
async fn what_does_not_last_is_not_attached() {
    let world = World::with_table(Backend::Postgres).await;
    for name in ["pg_temp.customers", "pg_temp_3.customers", "no_schema", "a b"] {
        let mut source = customers(Way::Capture);
        source.place = Place::Table(name.to_owned());
        assert!(world.attach(source).await.is_err(), "{name}");
    }
}

#[tokio::test]
async fn another_table_takes_the_place_of_the_first_only_on_purpose() {
    let world = World::attached(Backend::Postgres).await;
    world
        .run("create table other (like customers including all)")
        .await;
    let mut other = customers(Way::Trigger);
    other.place = Place::Table("other".to_owned());
    let kept = world
        .inner
        .database
        .attach(other.clone(), Former::Kept, &tester())
        .await;
    let error = kept.unwrap_err().to_string();
    assert!(
        error.contains("public.customers already") && error.contains("--replace"),
        "{error}"
    );
    world.run("insert into customers values (1, 'a', 1, '')").await;
    assert_eq!(world.news().await, ["upsert 1 a@1"], "nothing has changed");
    let again = world
        .inner
        .database
        .attach(customers(Way::Trigger), Former::Kept, &tester())
        .await;
    assert!(again.is_ok(), "the same one can be attached again");
    world
        .inner
        .database
        .attach(other, Former::Replaced, &tester())
        .await
        .unwrap();
    world
        .run("insert into customers values (2, 'b', 1, ''); insert into other values (3, 'c', 1, '')")
        .await;
    assert_eq!(world.news().await, ["upsert 3 c@1"]);
}

#[tokio::test]
async fn columns_that_go_or_change_their_names_fail_no_write() {
    let world = World::attached(Backend::Postgres).await;
    world
        .run("alter table customers add column note text, add column city text")
        .await;
    world.attach(customers(Way::Trigger)).await.unwrap();
    world
        .run("insert into customers values (1, 'a', 1, '', 'x', 'y'); alter table customers drop column note; alter table customers rename column city to town")
        .await;
    world.news().await;
    world.run("update customers set town = 'z'").await;
    assert_eq!(
        world.last_payload().await,
        r#"{"id":1,"name":"a","version":1,"town":"z"}"#
    );
    world
        .run("alter table customers drop column loaded_at; update customers set town = 'w'")
        .await;
    assert_eq!(
        world.last_payload().await,
        r#"{"id":1,"name":"a","version":1,"town":"w"}"#,
        "it was excluded"
    );
    let problem = world.inner.database.attached().await.unwrap().remove(0).problem;
    assert!(problem.is_some_and(|problem| problem.contains("columns have changed")));

    world
        .run("alter table customers rename column id to customer_id")
        .await;
    let error = world
        .try_run("update customers set town = 'v'")
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("no column \"id\""), "{error}");
}

#[tokio::test]
async fn settings_of_a_session_change_neither_keys_nor_payloads() {
    let world = World::with_table(Backend::Postgres).await;
    world
        .run("create table odd (id text[] primary key, price money, doc xml, at timestamptz, raw bytea, span interval, size float8)")
        .await;
    let mut odd = customers(Way::Trigger);
    odd.place = Place::Table("odd".to_owned());
    (odd.version, odd.excluded) = (None, Vec::new());
    world.attach(odd).await.unwrap();
    let row = "insert into odd values ('{NULL,\"null\"}', 5, '<a/>', '2025-05-18 00:00+02', '\\x00ff', '1 day 2 hours', 0.1)";
    world.run(row).await;
    let before = world.last_payload().await;
    let mut session = world.session().await;
    let set = "set array_nulls = off; set xmlbinary = hex; set timezone = 'Asia/Tokyo'; set datestyle = 'German'; set bytea_output = escape;
         set intervalstyle = sql_standard; set extra_float_digits = -15; set enable_indexscan = off; set quote_all_identifiers = on";
    run(&mut session, set).await;
    run(&mut session, "update odd set size = size; begin; create temp table kept as table odd; delete from odd; insert into odd table kept; commit").await;
    assert_eq!(
        world
            .inner
            .number("select count(*) from aftercommit.outbox")
            .await,
        1,
        "{before}"
    );
    run(&mut session, "update odd set size = 0.2").await;
    assert_eq!(world.last_payload().await, before.replace("0.1", "0.2"));
}

#[tokio::test]
async fn a_key_of_a_row_type_with_a_null_in_it_is_a_key() {
    let world = World::with_table(Backend::Postgres).await;
    world
        .run("create type spot as (x int, y int); create table place (id spot primary key, name text)")
        .await;
    let mut place = customers(Way::Trigger);
    place.place = Place::Table("place".to_owned());
    (place.version, place.excluded) = (None, Vec::new());
    world.attach(place).await.unwrap();
    world.run("insert into place values (row(1, null), 'a')").await;
    assert_eq!(world.news().await, ["upsert (1,) a"]);
}

#[tokio::test]
async fn json_that_no_receiver_can_read_fails_the_transaction_that_brings_it() {
    let world = World::with_table(Backend::Postgres).await;
    world
        .run("create table doc (id int primary key, body json, name text)")
        .await;
    let mut doc = customers(Way::Trigger);
    doc.place = Place::Table("doc".to_owned());
    (doc.version, doc.excluded) = (None, Vec::new());
    world.attach(doc).await.unwrap();
    world
        .run(r#"insert into doc values (1, '{"a": "\u00e4 \n"}', E'tab\t')"#)
        .await;
    assert_eq!(world.news().await.len(), 1);
    for body in [r#"{"a": "\u0000"}"#, r#"{"a": "\ud800"}"#] {
        let error = world
            .try_run(&format!("insert into doc values (2, '{body}', 'b')"))
            .await
            .unwrap_err();
        assert!(error.to_string().contains("row key \"2\""), "{error}");
    }
}

#[tokio::test]
async fn rows_of_tables_that_inherit_later_are_not_the_sources() {
    let world = World::attached(Backend::Postgres).await;
    world
        .run("create table child (extra text) inherits (customers); insert into child values (1, 'child', 1, '', 'x'); insert into customers values (1, 'own', 1, '')")
        .await;
    assert_eq!(world.news().await, ["upsert 1 own@1"]);
    let problem = world.inner.database.attached().await.unwrap().remove(0).problem;
    assert!(problem.is_some_and(|problem| problem.contains("inherit")));
}

#[tokio::test]
async fn times_beyond_64_bits_are_no_version_and_no_error() {
    let world = World::with_table(Backend::Postgres).await;
    world
        .run("create table era (id int primary key, name text, version date)")
        .await;
    let mut era = customers(Way::Trigger);
    era.place = Place::Table("era".to_owned());
    era.excluded = Vec::new();
    world.attach(era).await.unwrap();
    world.run("insert into era values (1, 'a', '5874897-12-31'), (2, 'b', '9999-12-31'), (3, 'c', 'infinity'), (4, 'd', '4713-01-01 BC')").await;
    assert_eq!(
        world.sorted_news().await,
        [
            "upsert 1 a",
            "upsert 2 b@253402214400000000",
            "upsert 3 c",
            "upsert 4 d@-210863520000000000"
        ]
    );
}

#[tokio::test]
async fn a_function_of_the_callers_own_is_not_called_in_place_of_the_systems() {
    let world = World::with_table(Backend::Postgres).await;
    world
        .run(
            "create schema trap; create table trap.sprung (by text);
             create function trap.md5(text) returns text language plpgsql as $$ begin insert into trap.sprung values ('md5'); return pg_catalog.md5($1); end $$;
             create function trap.format(text, text) returns text language plpgsql as $$ begin insert into trap.sprung values ('format'); return ''; end $$;
             create function trap.octet_length(text) returns int language plpgsql as $$ begin insert into trap.sprung values ('octet_length'); return pg_catalog.octet_length($1); end $$;
             create function trap.to_regclass(text) returns regclass language plpgsql as $$ begin insert into trap.sprung values ('to_regclass'); return null; end $$",
        )
        .await;
    let mut session = world.session().await;
    run(
        &mut session,
        "set search_path = trap, public, pg_catalog;
         select aftercommit.attach('customers', 'customers', '{id}', 'version'); select aftercommit.attached(); select aftercommit.surprises('customers');
         insert into public.customers values (1, 'a', 1, ''); select aftercommit.capture('customers'); select aftercommit.detach('customers')",
    )
    .await;
    assert_eq!(world.inner.number("select count(*) from trap.sprung").await, 0);
    assert_eq!(world.news().await, ["upsert 1 a@1"]);
}

#[tokio::test]
async fn who_detaches_what_he_has_written_to_loses_nothing_of_it() {
    let world = World::attached(Backend::Postgres).await;
    world
        .run("begin; insert into customers values (1, 'a', 1, ''); select aftercommit.detach('customers'); insert into customers values (2, 'b', 1, ''); commit")
        .await;
    assert_eq!(world.news().await, ["upsert 1 a@1"]);
}

/// The rows that a capture of a slice has looked at, or why it has not.
async fn sliced(world: &World, partition: &str) -> Result<u64, String> {
    let extent = Extent {
        partition: Some(partition.to_owned()),
        deletes: Deletes::Kept,
    };
    let captured = world.try_capture(extent).await;
    captured
        .map(|captured| captured.admitted + captured.unchanged)
        .map_err(|error| error.to_string())
}

async fn run(session: &mut PgConnection, sql: &str) {
    try_run(session, sql)
        .await
        .unwrap_or_else(|error| panic!("{error}: {sql}"));
}

async fn try_run(session: &mut PgConnection, sql: &str) -> Result<(), sqlx::Error> {
    let ran = sqlx::raw_sql(AssertSqlSafe(sql.to_owned()))
        .execute(session)
        .await;
    ran.map(drop)
}

async fn number(session: &mut PgConnection, sql: &str) -> i64 {
    sqlx::query_scalar(AssertSqlSafe(sql.to_owned()))
        .fetch_one(session)
        .await
        .unwrap()
}
