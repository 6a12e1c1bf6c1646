//! Several who write to one table, and to one topic, at once (PostgreSQL).
//!
//! Whatever comes between, the ledger says in the end what the table says: nothing is lost, nothing is told of that is not so.

use std::time::Duration;

use aftercommit::store::sources::Way;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::world::{Backend, World, customers, tester};

/// What differs between the table and the ledger.
const DIFFERENCES: &str = "select count(*) from (select id::text as row_key from customers) as here
    full join (select identity as row_key from aftercommit.ledger where op = 'upsert') as known using (row_key)
    where here.row_key is null or known.row_key is null";

/// Rows whose newest outbox row is not what the table says.
const STALE: &str = "select count(*) from customers
    join aftercommit.ledger on identity = customers.id::text
    join aftercommit.outbox on outbox.id = outbox_id
    where payload ->> 'name' is distinct from customers.name";

#[tokio::test]
async fn two_captures_of_a_topic_go_one_after_the_other() {
    let world = World::captured(Backend::Postgres).await;
    let (mut first, mut second) = (world.session().await, world.session().await);
    run(
        &mut first,
        "begin; insert into customers values (1, 'a', 1, ''); select aftercommit.capture('customers')",
    )
    .await;
    let mut waiting = JoinSet::new();
    waiting.spawn(async move {
        run(&mut second, "select aftercommit.capture('customers')").await;
    });
    world.until_somebody_waits().await;
    run(&mut first, "commit").await;
    ended(waiting).await;
    assert_eq!(world.news().await, ["upsert 1 a@1"], "once");
}

#[tokio::test]
async fn without_a_unique_index_a_deleted_and_an_inserted_row_of_a_key_end_as_the_table_does() {
    let world = World::with_table(Backend::Postgres).await;
    world
        .run("alter table customers drop constraint customers_pkey; insert into customers values (1, 'a', 1, '')")
        .await;
    world.attach(customers(Way::Trigger)).await.unwrap();
    world.capture().await;
    world.news().await;
    // The first does not see the row of the second, nor does the second see that the other is gone.
    let (mut first, mut second) = (world.session().await, world.session().await);
    run(&mut first, "begin; delete from customers").await;
    run(&mut second, "begin; insert into customers values (1, 'a', 1, '')").await;
    run(&mut first, "set constraints all immediate").await;
    let mut waiting = JoinSet::new();
    waiting.spawn(async move {
        run(&mut second, "commit").await;
    });
    world.until_somebody_waits().await;
    run(&mut first, "commit").await;
    ended(waiting).await;
    assert_eq!(world.news().await, ["delete 1", "upsert 1 a@1"]);
    assert_eq!(world.inner.number(DIFFERENCES).await, 0);
}

#[tokio::test]
async fn with_a_unique_index_writers_of_different_rows_do_not_wait() {
    let world = World::attached(Backend::Postgres).await;
    let (mut first, mut second) = (world.session().await, world.session().await);
    run(
        &mut first,
        "begin; insert into customers values (1, 'a', 1, ''); set constraints all immediate",
    )
    .await;
    run(&mut second, "insert into customers values (2, 'b', 1, '')").await;
    assert_eq!(world.news().await, ["upsert 2 b@1"]);
    run(&mut first, "commit").await;
    assert_eq!(world.inner.number(DIFFERENCES).await, 0);
}

#[tokio::test]
async fn an_old_snapshot_does_not_take_what_it_cannot_see_for_unchanged() {
    let world = World::attached(Backend::Postgres).await;
    world.run("insert into customers values (1, 'a', 1, '')").await;
    world.news().await;
    let mut old = world.session().await;
    run(
        &mut old,
        "begin isolation level repeatable read; select count(*) from aftercommit.ledger",
    )
    .await;
    world.run("delete from customers").await;
    run(&mut old, "insert into customers values (1, 'a', 1, '')").await;
    let ended = try_run(&mut old, "commit").await;
    assert_eq!(code(ended), "40001", "the table's own retry comes next");
    world.run("insert into customers values (1, 'a', 1, '')").await;
    assert_eq!(world.news().await, ["delete 1", "upsert 1 a@1"]);
}

#[tokio::test]
async fn an_old_snapshot_that_what_was_attached_or_captured_since_is_not_in_runs_again() {
    let again = |key: &str| {
        let mut source = customers(Way::Trigger);
        source.key = vec![key.to_owned()];
        source
    };
    // A delete of a row that nobody has told of, when the snapshot was taken.
    let world = World::with_table(Backend::Postgres).await;
    world.run("insert into customers values (1, 'a', 1, '')").await;
    world.attach(again("id")).await.unwrap();
    let mut old = world.old_snapshot().await;
    world.capture().await;
    run(&mut old, "delete from customers").await;
    assert_eq!(code(try_run(&mut old, "commit").await), "40001", "captured since");

    let mut old = world.old_snapshot().await;
    world.attach(again("name")).await.unwrap();
    run(&mut old, "update customers set version = 2").await;
    assert_eq!(
        code(try_run(&mut old, "commit").await),
        "40001",
        "attached by another key since"
    );

    world.inner.database.detach("customers", &tester()).await.unwrap();
    let mut old = world.old_snapshot().await;
    world.attach(again("id")).await.unwrap();
    run(&mut old, "update customers set version = 2").await;
    assert_eq!(code(try_run(&mut old, "commit").await), "40001", "attached since");
}

#[tokio::test]
async fn what_an_old_snapshot_cannot_do_rightly_is_refused() {
    let world = World::attached(Backend::Postgres).await;
    let mut old = world.old_snapshot().await;
    // Its row came after the snapshot, and would go with the others, and nobody be told.
    world.run("insert into customers values (1, 'a', 1, '')").await;
    let truncated = try_run(&mut old, "truncate customers").await;
    assert_eq!(code(truncated), "0A000");

    world
        .run("alter table customers drop constraint customers_pkey")
        .await;
    let mut old = world.old_snapshot().await;
    run(&mut old, "delete from customers").await;
    assert_eq!(code(try_run(&mut old, "commit").await), "0A000");
    world.run("delete from customers").await;
    assert_eq!(world.inner.number(DIFFERENCES).await, 0);
}

#[tokio::test]
async fn a_producer_that_comes_between_is_not_overlooked() {
    let world = World::captured(Backend::Postgres).await;
    let mut producer = world.session().await;
    run(
        &mut producer,
        "begin; insert into aftercommit.outbox (topic, row_key, row_version, op, payload) values ('customers', '77', 9, 'upsert', '{\"name\": \"p\"}')",
    )
    .await;
    world
        .run("insert into customers select id, 'c', 1, '' from generate_series(1, 500) as id")
        .await;
    let mut capturing = world.session().await;
    let mut waiting = JoinSet::new();
    waiting.spawn(async move {
        run(&mut capturing, "select aftercommit.capture('customers')").await;
    });
    world.until_somebody_waits().await;
    run(&mut producer, "commit").await;
    ended(waiting).await;
    let news = world.news().await;
    assert_eq!(news.len(), 500);
    assert!(news.contains(&"upsert 77 p@9".to_owned()), "the newer one");
    assert!(!news.contains(&"upsert 77 c@1".to_owned()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_many_do_at_once_the_ledger_ends_as_the_table() {
    for is_unique in [true, false] {
        let world = World::with_table(Backend::Postgres).await;
        if !is_unique {
            world
                .run("alter table customers drop constraint customers_pkey")
                .await;
        }
        world.attach(customers_without_version()).await.unwrap();
        let mut writers = JoinSet::new();
        for seed in 0..4_u64 {
            let url = world.inner.url.clone();
            writers.spawn(async move {
                let mut session = PgConnection::connect(&url).await.unwrap();
                run(&mut session, "set deadlock_timeout = '10ms'").await;
                let mut random = fastrand::Rng::with_seed(seed);
                for _ in 0..60 {
                    let sql = transaction(&mut random, is_unique);
                    // A deadlock or a lost race is the pipeline's to try again: nothing of it was committed.
                    let _ = try_run(&mut session, &sql).await;
                    let _ = try_run(&mut session, "rollback").await;
                }
            });
        }
        while let Some(ended) = writers.join_next().await {
            ended.unwrap();
        }
        assert_eq!(world.inner.number(DIFFERENCES).await, 0, "unique: {is_unique}");
        assert_eq!(world.inner.number(STALE).await, 0, "unique: {is_unique}");
        let twice = "select count(*) from aftercommit.outbox as later join aftercommit.outbox as sooner
            on sooner.row_key = later.row_key and sooner.generation = later.generation - 1 and sooner.id > later.id";
        assert_eq!(world.inner.number(twice).await, 0, "ids ascend per row key");
        assert!(
            world
                .inner
                .number("select count(*) from aftercommit.outbox")
                .await
                > 50
        );
        assert_eq!(
            world
                .inner
                .number("select count(*) from aftercommit.touched")
                .await,
            0
        );
    }
}

/// One of what pipelines do: overwrite a few rows or all, upsert, delete, change keys, capture; now and then under a snapshot.
fn transaction(random: &mut fastrand::Rng, is_unique: bool) -> String {
    let isolation = [
        "read committed",
        "read committed",
        "repeatable read",
        "serializable",
    ][random.usize(..4)];
    let (from, name) = (random.u8(1..8), random.u8(1..4));
    let work = match random.u8(..if is_unique { 7 } else { 4 }) {
        0 => format!(
            "delete from customers where id between {from} and {from} + 2; insert into customers select id, 'n{name}', 1, '' from generate_series({from}, {from} + 2) as id where not exists (select from customers where customers.id = id.id)"
        ),
        1 => format!("delete from customers where id = {from}"),
        2 => format!("truncate customers; insert into customers values ({from}, 'n{name}', 1, '')"),
        3 => "select aftercommit.capture('customers', deletes => true, max_delete_ratio => 1)".to_owned(),
        4 => format!(
            "insert into customers values ({from}, 'n{name}', 1, '') on conflict (id) do update set name = excluded.name"
        ),
        5 => format!("update customers set name = 'n{name}' where id >= {from}"),
        _ => format!("update customers set id = 10 - id where id = {from}"),
    };
    format!("begin isolation level {isolation}; {work}; commit")
}

fn customers_without_version() -> aftercommit::store::sources::Source {
    let mut source = customers(Way::Trigger);
    source.version = None;
    source.excluded.push("version".to_owned());
    source
}

/// Waits for who waited, not without end.
async fn ended(mut waiting: JoinSet<()>) {
    let ended = timeout(Duration::from_secs(30), waiting.join_next()).await;
    ended.expect("nobody is in the way any more").unwrap().unwrap();
}

fn code(ended: Result<(), sqlx::Error>) -> String {
    let error = ended.unwrap_err();
    let code = error
        .as_database_error()
        .and_then(|error| error.code().map(String::from));
    code.unwrap_or_else(|| error.to_string())
}

async fn run(session: &mut PgConnection, sql: &str) {
    try_run(session, sql)
        .await
        .unwrap_or_else(|error| panic!("{error}: {sql}"));
}

async fn try_run(session: &mut PgConnection, sql: &str) -> Result<(), sqlx::Error> {
    sqlx::raw_sql(AssertSqlSafe(sql.to_owned()))
        .execute(session)
        .await
        .map(drop)
}

impl World {
    pub(super) async fn session(&self) -> PgConnection {
        PgConnection::connect(&self.inner.url).await.unwrap()
    }

    /// A session whose transaction sees all as it is now.
    async fn old_snapshot(&self) -> PgConnection {
        let mut session = self.session().await;
        run(
            &mut session,
            "begin isolation level repeatable read; select count(*) from aftercommit.ledger",
        )
        .await;
        session
    }

    /// Waits until a session of this database waits for a lock.
    async fn until_somebody_waits(&self) {
        let mut session = self.session().await;
        let waits = "select count(*) > 0 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
        while !sqlx::query_scalar::<_, bool>(waits)
            .fetch_one(&mut session)
            .await
            .unwrap()
        {
            tokio::task::yield_now().await;
        }
    }
}
