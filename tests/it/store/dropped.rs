//! A caller may be dropped at any moment: what was acknowledged is durable, and no transaction is left open.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use aftercommit::store::{Database, DatabaseOptions, SqlStore, Store as _};
use secrecy::SecretString;
use tokio::task::JoinSet;

use super::draft::under;
use super::world::{Backend, World, on_both, relay};

on_both! {
    async fn a_caller_that_gives_up_loses_no_acknowledged_write(backend: Backend) {
        let world = World::routed(backend).await;
        world.commit_many(200).await;
        let lease = world.lease(relay(1)).await;

        let mut callers = JoinSet::new();
        for id in 1..=200_i64 {
            let (store, lease) = (world.store.clone(), lease.clone());
            // From before the first round trip to after the last one, even where everybody waits for everybody.
            let patience = Duration::from_micros(u64::try_from(id).unwrap() * 997 % 200_000);
            callers.spawn(async move {
                let work = async {
                    store.pause(&format!("destination {id}"), "a test", "of time-outs").await?;
                    under(&lease).success(id, 1).try_commit(&store).await
                };
                let acknowledged = tokio::time::timeout(patience, work).await;
                matches!(acknowledged, Ok(Ok(_))).then_some(id)
            });
        }
        let acknowledged: Vec<i64> = callers.join_all().await.into_iter().flatten().collect();
        // Those that nobody waited for end too; then nothing is left.
        world.database.close().await;

        for id in &acknowledged {
            assert_eq!(world.state(*id).await, "delivered accepted");
        }
        let paused = world.number("select count(*) from aftercommit.destination_state").await;
        let audited = world.number("select count(*) from aftercommit.audit").await;
        assert_eq!(paused, audited, "a transaction happened by half");
    }

    async fn whatever_moment_a_caller_is_dropped_at_the_next_write_on_its_connection_is_durable(backend: Backend) {
        let world = World::migrated(backend).await;
        // One connection, so that the next caller gets the one on which the last was dropped.
        let one = DatabaseOptions { max_connections: 1, ..DatabaseOptions::default() };
        let database = Database::connect(&SecretString::from(world.url.clone()), &one).unwrap();
        let store = SqlStore::new(database.clone());
        for round in 0..200 {
            let destination = format!("destination {round}");
            dropped_after(round % 20, store.pause(&destination, "a test", "of dropped callers")).await;
            store.keep_rendering(&format!("rendering {round}")).await.unwrap();
        }
        database.close().await;

        assert_eq!(world.number("select count(*) from aftercommit.rendering").await, 200, "acknowledged, and gone");
        let paused = world.number("select count(*) from aftercommit.destination_state").await;
        let audited = world.number("select count(*) from aftercommit.audit").await;
        assert_eq!(paused, audited, "a transaction happened by half");
    }
}

/// Drops the future when it has been polled so often and is not done.
async fn dropped_after(polls: usize, future: impl Future) {
    let mut future = pin!(future);
    let mut left = polls;
    poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(());
        }
        left -= 1;
        future.as_mut().poll(context).map(|_| ())
    })
    .await;
}
