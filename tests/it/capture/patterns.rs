//! The ways in which pipelines write, on PostgreSQL (`MERGE` needs 15): whatever the pattern, only what differs reaches the
//! outbox.
//!
//! Each run of each pattern is told with the rows that it must bring. It is run once, and brings them; run again, and brings
//! none; and before that its session is ended after each of its statements, which brings none either.

use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

use crate::store::world::{Backend, World};

/// The statements of one transaction, and the outbox rows that come of it: `row_key row_version op payload`, by row key.
struct Run<'a> {
    statements: &'a [&'a str],
    brings: &'a [&'a str],
}

/// A pattern holds, run by run, beginning with `setup`.
async fn holds(setup: &str, runs: &[Run<'_>]) {
    let world = World::migrated(Backend::Postgres).await;
    world.execute(setup).await;
    for (number, run) in (1..).zip(runs) {
        let before = outbox(&world).await;
        for ended_after in 1..=run.statements.len() {
            end_in_the_middle(&world, &run.statements[..ended_after]).await;
            let left = outbox(&world).await;
            assert_eq!(left, before, "run {number}, ended after statement {ended_after}");
        }
        commit(&world, run.statements).await;
        let after = outbox(&world).await;
        assert_eq!(news(&before, &after), run.brings, "run {number}");
        commit(&world, run.statements).await;
        assert_eq!(outbox(&world).await, after, "run {number}, once more");
    }
}

/// All outbox rows with their ids, by row key and id.
async fn outbox(world: &World) -> Vec<(i64, String)> {
    let mut connection = PgConnection::connect(&world.url).await.unwrap();
    let rows = sqlx::query_as(
        "select id, concat_ws(' ', row_key, coalesce(row_version::text, '-'), op, payload)
         from aftercommit.outbox order by row_key, id",
    );
    rows.fetch_all(&mut connection).await.unwrap()
}

/// What came between two looks.
fn news(before: &[(i64, String)], after: &[(i64, String)]) -> Vec<String> {
    let new = after.iter().filter(|row| !before.contains(row));
    new.map(|(_, text)| text.clone()).collect()
}

async fn commit(world: &World, statements: &[&str]) {
    let mut session = begin(world, statements).await;
    execute(&mut session, "commit").await;
}

/// The session dies before its commit, as that of a pipeline does that is killed.
async fn end_in_the_middle(world: &World, statements: &[&str]) {
    let mut session = begin(world, statements).await;
    let process: i32 = sqlx::query_scalar("select pg_backend_pid()")
        .fetch_one(&mut session)
        .await
        .unwrap();
    // It returns when the session is gone.
    assert_eq!(
        world
            .number(&format!("select pg_terminate_backend({process}, 60000)::integer"))
            .await,
        1
    );
}

async fn begin(world: &World, statements: &[&str]) -> PgConnection {
    let mut session = PgConnection::connect(&world.url).await.unwrap();
    execute(&mut session, "begin").await;
    for statement in statements {
        execute(&mut session, statement).await;
    }
    session
}

async fn execute(session: &mut PgConnection, statement: &str) {
    let done = sqlx::raw_sql(AssertSqlSafe(statement.to_owned()))
        .execute(session)
        .await;
    done.unwrap_or_else(|error| panic!("{error}: {statement}"));
}

#[tokio::test]
async fn a_partition_that_is_overwritten_brings_what_differs() {
    holds(
        "create table sale (day date, id integer, amount integer, primary key (day, id)) partition by list (day);
         create table sale_17 partition of sale for values in ('2025-05-17');
         create table sale_18 partition of sale for values in ('2025-05-18');
         select aftercommit.attach('sale', 'sales', '{day,id}');",
        &[
            Run {
                statements: &[
                    "truncate sale_17",
                    "insert into sale values ('2025-05-17', 1, 10)",
                    "truncate sale_18",
                    "insert into sale values ('2025-05-18', 1, 20), ('2025-05-18', 2, 30)",
                ],
                brings: &[
                    r#"2025-05-17/1 - upsert {"day":"2025-05-17","id":1,"amount":10}"#,
                    r#"2025-05-18/1 - upsert {"day":"2025-05-18","id":1,"amount":20}"#,
                    r#"2025-05-18/2 - upsert {"day":"2025-05-18","id":2,"amount":30}"#,
                ],
            },
            // One row is as it was, one differs, one is new; and what the other partition holds is not looked at.
            Run {
                statements: &[
                    "delete from sale where day = '2025-05-18'",
                    "insert into sale values ('2025-05-18', 1, 20), ('2025-05-18', 2, 31), ('2025-05-18', 3, 40)",
                ],
                brings: &[
                    r#"2025-05-18/2 - upsert {"day":"2025-05-18","id":2,"amount":31}"#,
                    r#"2025-05-18/3 - upsert {"day":"2025-05-18","id":3,"amount":40}"#,
                ],
            },
            Run {
                statements: &[
                    "truncate sale_18",
                    "insert into sale_18 values ('2025-05-18', 1, 20), ('2025-05-18', 2, 32)",
                ],
                brings: &[
                    r#"2025-05-18/2 - upsert {"day":"2025-05-18","id":2,"amount":32}"#,
                    "2025-05-18/3 - delete null",
                ],
            },
        ],
    )
    .await;
}

#[tokio::test]
async fn a_merge_from_a_staging_table_with_duplicate_keys_brings_the_newest_of_each() {
    let merge = "merge into customer
         using (select distinct on (id) * from staging order by id, changed_at desc) as newest
         on customer.id = newest.id
         when matched and newest.changed_at > customer.changed_at
             then update set name = newest.name, changed_at = newest.changed_at
         when not matched then insert values (newest.id, newest.name, newest.changed_at)";
    holds(
        "create table customer (id integer primary key, name text, changed_at timestamptz not null);
         create table staging (id integer, name text, changed_at timestamptz);
         select aftercommit.attach('customer', 'customers', '{id}', 'changed_at');",
        &[
            Run {
                statements: &[
                    "truncate staging",
                    "insert into staging values (1, 'Ada', '1970-01-01 00:00:03Z'), (1, 'Adah', '1970-01-01 00:00:01Z'),
                     (2, 'Bob', '1970-01-01 00:00:02Z'), (2, 'Bob', '1970-01-01 00:00:02Z')",
                    merge,
                ],
                brings: &[
                    r#"1 3000000 upsert {"id":1,"name":"Ada","changed_at":"1970-01-01T00:00:03+00:00"}"#,
                    r#"2 2000000 upsert {"id":2,"name":"Bob","changed_at":"1970-01-01T00:00:02+00:00"}"#,
                ],
            },
            // Of 1 something older, of 2 something newer twice, 3 is new.
            Run {
                statements: &[
                    "truncate staging",
                    "insert into staging values (1, 'Adah', '1970-01-01 00:00:02Z'), (2, 'Rob', '1970-01-01 00:00:04Z'),
                     (2, 'Robert', '1970-01-01 00:00:05Z'), (3, 'Cy', '1970-01-01 00:00:01Z')",
                    merge,
                ],
                brings: &[
                    r#"2 5000000 upsert {"id":2,"name":"Robert","changed_at":"1970-01-01T00:00:05+00:00"}"#,
                    r#"3 1000000 upsert {"id":3,"name":"Cy","changed_at":"1970-01-01T00:00:01+00:00"}"#,
                ],
            },
        ],
    )
    .await;
}

#[tokio::test]
async fn a_table_that_is_swapped_by_renaming_brings_what_differs_from_the_one_before() {
    let swap = |values: &str| {
        [
            "create table customer_green (id integer primary key, name text)".to_owned(),
            format!("insert into customer_green values {values}"),
            "alter table if exists customer rename to customer_blue".to_owned(),
            "alter table customer_green rename to customer".to_owned(),
            "drop table if exists customer_blue".to_owned(),
            "alter index customer_green_pkey rename to customer_pkey".to_owned(),
            "select * from aftercommit.capture('customers', deletes => true, max_delete_ratio => 0.5)"
                .to_owned(),
        ]
    };
    let (first, second) = (
        swap("(1, 'Ada'), (2, 'Bob'), (3, 'Cy')"),
        swap("(1, 'Ada'), (3, 'Cyrus'), (4, 'Dee')"),
    );
    let [first, second] =
        [&first, &second].map(|statements| statements.iter().map(String::as_str).collect::<Vec<_>>());
    holds(
        "select aftercommit.attach('public.customer', 'customers', '{id}', way => 'capture');",
        &[
            Run {
                statements: &first,
                brings: &[
                    r#"1 - upsert {"id":1,"name":"Ada"}"#,
                    r#"2 - upsert {"id":2,"name":"Bob"}"#,
                    r#"3 - upsert {"id":3,"name":"Cy"}"#,
                ],
            },
            Run {
                statements: &second,
                brings: &[
                    "2 - delete null",
                    r#"3 - upsert {"id":3,"name":"Cyrus"}"#,
                    r#"4 - upsert {"id":4,"name":"Dee"}"#,
                ],
            },
        ],
    )
    .await;
}

#[tokio::test]
async fn an_append_only_table_that_is_deduplicated_on_read_brings_the_newest_of_each() {
    let capture = "select * from aftercommit.capture('customers')";
    holds(
        "create table customer_log (id integer, name text, seen bigint);
         create view customer as select distinct on (id) id, name, seen from customer_log order by id, seen desc;
         select aftercommit.attach('public.customer', 'customers', '{id}', 'seen', way => 'capture');",
        &[
            Run {
                statements: &["insert into customer_log values (1, 'Ada', 10), (2, 'Bob', 10), (1, 'Adah', 9)", capture],
                brings: &[
                    r#"1 10 upsert {"id":1,"name":"Ada","seen":10}"#,
                    r#"2 10 upsert {"id":2,"name":"Bob","seen":10}"#,
                ],
            },
            // Of 1 something late, of 2 something newer.
            Run {
                statements: &["insert into customer_log values (1, 'A.', 8), (2, 'Rob', 11)", capture],
                brings: &[r#"2 11 upsert {"id":2,"name":"Rob","seen":11}"#],
            },
        ],
    )
    .await;
}

#[tokio::test]
async fn rows_that_are_deleted_and_inserted_again_bring_what_differs() {
    holds(
        "create table price (region text, sku text, cents integer, loaded_at timestamptz default clock_timestamp(),
            primary key (region, sku));
         select aftercommit.attach('price', 'prices', '{region,sku}', exclude => '{loaded_at}');",
        &[
            Run {
                statements: &[
                    "delete from price where region in ('eu', 'us')",
                    "insert into price values ('eu', 'a/b', 100), ('eu', 'c', 200), ('us', 'c', 300)",
                ],
                brings: &[
                    r#"eu/a~1b - upsert {"region":"eu","sku":"a/b","cents":100}"#,
                    r#"eu/c - upsert {"region":"eu","sku":"c","cents":200}"#,
                    r#"us/c - upsert {"region":"us","sku":"c","cents":300}"#,
                ],
            },
            Run {
                statements: &[
                    "delete from price where region = 'eu'",
                    "insert into price values ('eu', 'a/b', 110), ('eu', 'd', 400)",
                ],
                brings: &[
                    r#"eu/a~1b - upsert {"region":"eu","sku":"a/b","cents":110}"#,
                    "eu/c - delete null",
                    r#"eu/d - upsert {"region":"eu","sku":"d","cents":400}"#,
                ],
            },
        ],
    )
    .await;
}

#[tokio::test]
async fn late_data_for_a_closed_partition_brings_itself_and_touches_no_other() {
    let upsert = "on conflict (day, id) do update set amount = excluded.amount, seen = excluded.seen";
    let early =
        format!("insert into sale values ('2025-05-17', 1, 10, 5), ('2025-05-17', 2, 20, 5) {upsert}");
    let today = format!("insert into sale values ('2025-05-18', 1, 30, 6) {upsert}");
    // Of 1 something older than what is known, of 2 something newer, 3 was missing.
    let late = format!(
        "insert into sale values ('2025-05-17', 1, 9, 4), ('2025-05-17', 2, 21, 7), ('2025-05-17', 3, 5, 4) {upsert}"
    );
    holds(
        "create table sale (day date, id integer, amount integer, seen bigint, primary key (day, id));
         select aftercommit.attach('public.sale', 'sales', '{day,id}', 'seen', way => 'capture');",
        &[
            Run {
                statements: &[&early, &today, "select * from aftercommit.capture('sales')"],
                brings: &[
                    r#"2025-05-17/1 5 upsert {"day":"2025-05-17","id":1,"amount":10,"seen":5}"#,
                    r#"2025-05-17/2 5 upsert {"day":"2025-05-17","id":2,"amount":20,"seen":5}"#,
                    r#"2025-05-18/1 6 upsert {"day":"2025-05-18","id":1,"amount":30,"seen":6}"#,
                ],
            },
            // Today's rows are being rewritten by another run: the slice keeps this one off them, deletes or not.
            Run {
                statements: &[
                    &late,
                    "delete from sale where day = '2025-05-18'",
                    "select * from aftercommit.capture('sales', partition => 'day = ''2025-05-17''', deletes => true)",
                ],
                brings: &[
                    r#"2025-05-17/2 7 upsert {"day":"2025-05-17","id":2,"amount":21,"seen":7}"#,
                    r#"2025-05-17/3 4 upsert {"day":"2025-05-17","id":3,"amount":5,"seen":4}"#,
                ],
            },
        ],
    )
    .await;
}
