//! Several sessions write the same rows at once. Each race is run many times: a guard that is missing shows now and then.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::on_both;
use super::world::{Session, World, insert, upsert};

on_both! {
    eight_sessions_that_write_the_same_rows_owe_each_row_once,
    the_last_content_that_is_committed_is_the_last_that_is_admitted,
    ids_ascend_with_the_generations_of_a_row,
}

const SESSIONS: usize = 8;
const ROWS: usize = 200;

async fn eight_sessions_that_write_the_same_rows_owe_each_row_once(mut world: World) {
    for round in 1..=8 {
        let content = format!("of round {round}");
        race(&world, move |_, row| {
            vec![insert(&[upsert(&row_key(row), &content)])]
        })
        .await;
        assert_eq!(world.count("owed").await, ROWS * round);
        assert_eq!(world.count("outbox").await, ROWS * round);
    }
}

async fn the_last_content_that_is_committed_is_the_last_that_is_admitted(mut world: World) {
    // What the pipeline itself remembers of each row. It is written after the outbox, in the same transaction, so that
    // nothing but admission decides which of two sessions goes first.
    world
        .pipeline
        .run("create table customer (id text primary key, name text not null)")
        .await;
    for round in 0..4 {
        // Few contents, so that what a session writes is often what the ledger holds, or is just about to hold no more.
        let statements = move |session: usize, row: usize| {
            let content = ["A", "B"][(session + row + round) % 2];
            let (row_key, row) = (row_key(row), upsert(&row_key(row), content));
            let remember = format!(
                "insert into customer values ('{row_key}', '{content}') on conflict (id) do update set name = excluded.name"
            );
            vec![insert(&[row]), remember]
        };
        race(&world, statements).await;
        let committed = world
            .pipeline
            .lines("select id || ' ' || name from customer order by id")
            .await;
        assert_eq!(newest(&mut world).await, committed, "round {round}");
    }
}

async fn ids_ascend_with_the_generations_of_a_row(mut world: World) {
    race(&world, |session, row| {
        vec![insert(&[upsert(&row_key(row), &format!("by {session}"))])]
    })
    .await;
    let generations = "select row_key || ' ' || generation from outbox order by id";
    let mut admitted: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for line in world.pipeline.lines(generations).await {
        let (row_key, generation) = line.rsplit_once(' ').unwrap();
        admitted
            .entry(row_key.to_owned())
            .or_default()
            .push(generation.parse().unwrap());
    }
    assert_eq!(admitted.len(), ROWS);
    for (row_key, generations) in admitted {
        assert_eq!(generations, (1..=SESSIONS).collect::<Vec<_>>(), "row {row_key}");
    }
}

/// On SQLite the second session could not even look: the first holds the only right to write.
#[tokio::test]
async fn on_postgres_content_is_compared_with_what_an_open_transaction_is_about_to_commit() {
    let mut world = World::on_postgres().await;
    world.commit(&[upsert("7", "A")]).await;

    let mut second = world.session().await;
    let second_backend = second.number("select pg_backend_pid()").await;
    world.pipeline.run("begin").await;
    world.commit(&[upsert("7", "B")]).await;
    let mut back_to_a = JoinSet::new();
    back_to_a.spawn(async move { second.insert(&[upsert("7", "A")]).await });
    // Either it waits for the first session, as it should, or it has made up its mind already.
    let blocked = format!("select cardinality(pg_blocking_pids({second_backend}))");
    let mut bystander = world.session().await;
    while bystander.number(&blocked).await == 0 {
        assert!(
            back_to_a.try_join_next().is_none(),
            "the second session did not wait for the first"
        );
    }
    world.pipeline.run("commit").await;

    assert_eq!(back_to_a.join_next().await.unwrap().unwrap().unwrap(), 1);
    assert_eq!(
        world.history("7").await,
        ["1 upsert A", "2 upsert B", "3 upsert A"]
    );
}

/// Lets each session commit what `statements` says for each row, one transaction a row, all in the same order: so they
/// meet at nearly every row.
async fn race(world: &World, statements: impl Fn(usize, usize) -> Vec<String> + Send + Sync + 'static) {
    let (start, statements) = (Arc::new(Barrier::new(SESSIONS)), Arc::new(statements));
    let mut sessions = JoinSet::new();
    for number in 0..SESSIONS {
        let (start, statements, mut session) = (start.clone(), statements.clone(), world.session().await);
        sessions.spawn(async move {
            start.wait().await;
            for row in 0..ROWS {
                commit(&mut session, &statements(number, row)).await;
            }
        });
    }
    // A panic of a session is one of the test.
    sessions.join_all().await;
}

async fn commit(session: &mut Session, statements: &[String]) {
    session.run(session.begin()).await;
    for statement in statements {
        session.run(statement).await;
    }
    session.run("commit").await;
}

/// Row key and content of the newest outbox row of each row key.
async fn newest(world: &mut World) -> Vec<String> {
    let query = "select row_key || ' ' || replace(cast(payload as text), '\"', '') from outbox
        where id in (select max(id) from outbox group by row_key) order by row_key";
    world.pipeline.lines(query).await
}

fn row_key(row: usize) -> String {
    format!("row-{row:03}")
}
