//! A caller may be dropped at any moment: what was acknowledged is durable, and no transaction is left open.

use std::time::Duration;

use aftercommit::store::Store as _;
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
            // From before the first round trip to after the last one.
            let patience = Duration::from_micros(u64::try_from(id).unwrap() * 97 % 6_000);
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
        for id in acknowledged {
            let paused = format!("select count(*) from aftercommit.destination_state where destination = 'destination {id}'");
            assert_eq!(world.number(&paused).await, 1, "the pause of destination {id} was acknowledged and is gone");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_connection_is_left_in_a_transaction_when_callers_give_up() {
    let world = World::migrated(Backend::Postgres).await;
    for id in 0..200_u64 {
        let patience = Duration::from_micros(id * 37 % 3_000);
        let destination = format!("destination {id}");
        let pause = world.store.pause(&destination, "a test", "of time-outs");
        let acknowledged = tokio::time::timeout(patience, pause).await;
        // The connections that this leaves behind carry the next ones.
        if matches!(acknowledged, Ok(Ok(()))) {
            let paused = format!(
                "select count(*) from aftercommit.destination_state where destination = '{destination}'"
            );
            assert_eq!(
                world.number(&paused).await,
                1,
                "{destination} was acknowledged and is gone"
            );
        }
    }
    // A transaction that is given its connection waits for those that are still at work.
    world.store.beat(&relay(1), super::world::TTL).await.unwrap();
    world.database.close().await;
    let idle = "select count(*) from pg_stat_activity
        where datname = current_database() and state like 'idle in transaction%'";
    assert_eq!(world.number(idle).await, 0);
}
