//! PostgreSQL's three isolation levels. In the stricter two a session may be told to repeat its transaction (40001).

use std::sync::Arc;

use sqlx::error::DatabaseError;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::world::{Session, World, insert, upsert};

const LEVELS: [&str; 3] = ["read committed", "repeatable read", "serializable"];
const SESSIONS: usize = 8;

#[tokio::test]
async fn the_first_rows_of_a_topic_may_come_from_many_sessions_at_once() {
    let mut world = World::on_postgres().await;
    for level in LEVELS {
        for round in 0..10 {
            let topic = format!("{level} {round}");
            let topic_of_all = topic.clone();
            in_parallel(&world, move |session| {
                let row = upsert(&format!("row of session {session}"), "A").topic(&topic_of_all);
                (level, vec![insert(&[row])])
            })
            .await;
            let written =
                format!("select count(*) from owed join outbox on id = outbox_id where topic = '{topic}'");
            assert_eq!(world.pipeline.number(&written).await, SESSIONS, "{topic}");
        }
    }
    assert_eq!(world.count("topic").await, 30);
}

#[tokio::test]
async fn sessions_that_write_the_same_rows_owe_each_once_in_every_isolation_level() {
    let mut world = World::on_postgres().await;
    for level in LEVELS {
        in_parallel(&world, move |_| {
            (
                level,
                (0..20)
                    .map(|row| insert(&[upsert(&format!("{level} {row}"), "A")]))
                    .collect(),
            )
        })
        .await;
    }
    assert_eq!(world.count("owed").await, 60);
}

#[tokio::test]
async fn serializable_sessions_that_write_different_rows_never_fail() {
    let mut world = World::on_postgres().await;
    world
        .commit(&[upsert("the first row registers the topic", "A")])
        .await;
    let repeats = in_parallel(&world, |session| {
        let row = |row| {
            insert(&[
                upsert(&format!("{session} {row}"), "A"),
                upsert(&format!("{session} {row}"), "B"),
            ])
        };
        ("serializable", (0..40).map(row).collect())
    })
    .await;
    assert_eq!(repeats, 0);
    assert_eq!(world.count("owed").await, 1 + SESSIONS * 40 * 2);
}

/// Runs the statements of each session in transactions of the given isolation level, repeats those that get 40001, and
/// returns how many did.
async fn in_parallel(world: &World, transactions: impl Fn(usize) -> (&'static str, Vec<String>)) -> usize {
    let start = Arc::new(Barrier::new(SESSIONS));
    let mut sessions = JoinSet::new();
    for number in 0..SESSIONS {
        let (level, transactions) = transactions(number);
        let (start, mut session) = (start.clone(), world.session().await);
        sessions.spawn(async move {
            let mut repeats = 0;
            start.wait().await;
            for statement in transactions {
                while is_to_be_repeated(&mut session, level, &statement).await {
                    repeats += 1;
                }
            }
            repeats
        });
    }
    sessions.join_all().await.into_iter().sum()
}

async fn is_to_be_repeated(session: &mut Session, level: &str, statement: &str) -> bool {
    session.run(&format!("begin isolation level {level}")).await;
    let mut done = session.execute(statement).await;
    if done.is_ok() {
        done = session.execute("commit").await;
    }
    match done {
        Ok(_) => false,
        Err(error) => {
            assert_eq!(
                error.as_database_error().and_then(DatabaseError::code).as_deref(),
                Some("40001"),
                "{error}"
            );
            session.run("rollback").await;
            true
        }
    }
}
