//! Many at once: a delivery is in one place, and only in one.

use aftercommit::store::SqlStore;
use tokio::task::JoinSet;

use super::draft::under;
use super::world::{Backend, World, connect, on_both, relay};

const DELIVERIES: i64 = 40;

on_both! {
    async fn settles_and_replays_at_once_lose_no_delivery_and_double_none(backend: Backend) {
        let world = World::routed(backend).await;
        world.commit_many(usize::try_from(DELIVERIES).unwrap()).await;
        let lease = world.lease(relay(1)).await;
        let mut threads = JoinSet::new();
        for thread in 0..8_i64 {
            let database = connect(&world.url);
            let (store, lease, url) = (SqlStore::new(database), lease.clone(), world.url.clone());
            threads.spawn(async move {
                let mut chance = fastrand::Rng::with_seed(u64::try_from(thread).unwrap());
                for _ in 0..40 {
                    let mut draft = under(&lease);
                    for id in chosen(&mut chance) {
                        draft = draft.success(id, 1);
                    }
                    draft.commit(&store).await;
                    if thread < 4 {
                        replay(backend, &url, &chosen(&mut chance)).await;
                    }
                }
            });
        }
        threads.join_all().await;

        let both = "select count(*) from aftercommit.owed
            join aftercommit.settled on settled.outbox_id = owed.outbox_id and settled.destination = owed.destination";
        assert_eq!(world.number(both).await, 0, "in both tables");
        assert_eq!(world.number("select count(*) from aftercommit.delivery").await, DELIVERIES, "lost");
    }
}

fn chosen(chance: &mut fastrand::Rng) -> Vec<i64> {
    let mut ids: Vec<i64> = (0..10).map(|_| chance.i64(1..=DELIVERIES)).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// Makes deliveries that have ended due again, as a replay does.
async fn replay(backend: Backend, url: &str, ids: &[i64]) {
    use sqlx::{AssertSqlSafe, Connection as _, PgConnection, SqliteConnection};

    let ids = ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    match backend {
        Backend::Postgres => {
            let statement = format!(
                "with gone as (delete from aftercommit.settled where outbox_id in ({ids}) returning *)
                 insert into aftercommit.owed (destination, outbox_id, attempts, key_epoch)
                 select destination, outbox_id, attempts, key_epoch from gone"
            );
            let mut connection = PgConnection::connect(url).await.unwrap();
            sqlx::raw_sql(AssertSqlSafe(statement))
                .execute(&mut connection)
                .await
                .unwrap();
            connection.close().await.unwrap();
        }
        Backend::Sqlite => {
            let statement = format!(
                "begin immediate;
                 insert into owed (destination, outbox_id, attempts, key_epoch)
                 select destination, outbox_id, attempts, key_epoch from settled where outbox_id in ({ids});
                 delete from settled where outbox_id in ({ids});
                 commit"
            );
            let mut connection = SqliteConnection::connect(url).await.unwrap();
            sqlx::raw_sql(AssertSqlSafe(statement))
                .execute(&mut connection)
                .await
                .unwrap();
            connection.close().await.unwrap();
        }
    }
}

/// Without the lock on the lease, the record would read who held it before, and begin what the new owner never finds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_record_waits_for_a_takeover_that_has_not_committed() {
    use sqlx::{Connection as _, Executor as _, PgConnection};

    let world = World::routed(Backend::Postgres).await;
    world.commit_many(1).await;
    let old = world.lease(relay(1)).await;
    let mut takeover = PgConnection::connect(&world.url).await.unwrap();
    let mut watcher = PgConnection::connect(&world.url).await.unwrap();
    let mut taken = takeover.begin().await.unwrap();
    taken
        .execute("update aftercommit.lease set owner = 'somebody', epoch = epoch + 1")
        .await
        .unwrap();

    let mut records = JoinSet::new();
    records.spawn({
        let store = world.store.clone();
        async move { under(&old).begin(1, &[(1, 1)]).commit(&store).await }
    });
    let waiting = "select count(*) from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'";
    while sqlx::query_scalar::<_, i64>(waiting)
        .fetch_one(&mut watcher)
        .await
        .unwrap()
        == 0
    {
        assert!(records.try_join_next().is_none(), "it did not wait");
    }
    taken.commit().await.unwrap();
    let recorded = records.join_next().await.unwrap().unwrap();
    assert!(!recorded.leased && recorded.begun.is_empty());
    assert_eq!(world.number("select count(*) from aftercommit.dispatch").await, 0);
}
