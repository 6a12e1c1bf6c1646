//! Rows that come into sight after a replay of missing rows was asked for, though they were written before: on PostgreSQL, where
//! many write at once. SQLite has one writer, and who asks for a replay is it.

use aftercommit::store::admin::{Replay, ReplayState};
use aftercommit::store::{SqlStore, Store as _};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

use super::missing::{missing_at, request};
use super::world::{Backend, World, act, connect, new};
use crate::postgres::Server;
use crate::store::world::World as Base;

const OWED: &str = "select count(*) from aftercommit.owed where destination = 'erp'";
const LATE: &str =
    "insert into aftercommit.outbox (topic, row_key, op, payload) values ('orders', 'late', 'event', '{}')";

/// A transaction of the story's own.
struct Other(PgConnection);

impl Other {
    async fn begin(world: &World, sql: &str) -> Self {
        let mut other = Self(PgConnection::connect(&world.url).await.unwrap());
        other.run(&format!("begin; {sql}")).await;
        other
    }

    async fn run(&mut self, sql: &str) {
        let sql = AssertSqlSafe(sql.to_owned());
        sqlx::raw_sql(sql).execute(&mut self.0).await.unwrap();
    }

    async fn pid(&mut self) -> i32 {
        let pid = sqlx::query_scalar("select pg_backend_pid()");
        pid.fetch_one(&mut self.0).await.unwrap()
    }
}

/// Three orders, and a route to `erp` that came later.
async fn routed_late(world: &World) {
    world
        .execute("insert into aftercommit.route (topic, destination) values ('orders', 'erp')")
        .await;
}

async fn ask(world: &World) -> i64 {
    let request = request(missing_at("erp"));
    new(world.admin.create_replay(&request, None, &act()).await.unwrap()).id
}

/// Takes the steps that may be taken, lets a second go by as it were, and says where the replay stands.
async fn a_second(world: &World, replay: i64) -> Replay {
    while world.store.advance_replays(2).await.unwrap().looked_at > 0 {}
    world
        .execute("update aftercommit.replay set next_step_at = now()")
        .await;
    world.admin.replay(replay).await.unwrap()
}

#[tokio::test]
async fn a_row_that_comes_into_sight_after_the_replay_has_passed_it_is_owed_before_that_ends() {
    let world = World::new(Backend::Postgres).await;
    world.commit_orders(1, 2).await;
    let mut writer = Other::begin(&world, LATE).await;
    world.commit_orders(3, 1).await;
    routed_late(&world).await;
    let job = ask(&world).await;
    for _ in 0..2 {
        let waiting = a_second(&world, job).await;
        assert_eq!((waiting.state, waiting.requeued), (ReplayState::Running, 3));
        let words = waiting.waits.unwrap();
        let who = format!("process {}, open since ", writer.pid().await);
        assert!(
            words.starts_with("It waits for transactions that were open when it was asked for")
                && words.contains(&who),
            "{words}"
        );
    }
    writer.run("commit").await;
    // What a crash leaves: the database, and nothing of the process.
    let after = SqlStore::new(connect(&world.url));
    while after.advance_replays(2).await.unwrap().looked_at > 0 {}
    let done = world.admin.replay(job).await.unwrap();
    assert_eq!(
        (done.state, done.requeued, done.left_alone, done.waits),
        (ReplayState::Done, 4, 0, None)
    );
    assert_eq!(world.number(OWED).await, 4);
}

#[tokio::test]
async fn a_row_that_such_a_transaction_writes_later_under_its_old_snapshot_is_owed_too() {
    let world = World::new(Backend::Postgres).await;
    let isolation = "set transaction isolation level repeatable read";
    let mut writer = Other::begin(&world, &format!("{isolation}; {LATE}")).await;
    routed_late(&world).await;
    let job = ask(&world).await;
    writer.run(&LATE.replace("late", "later")).await;
    // These see the route, and have nothing to do with it.
    world.commit_orders(1, 2).await;
    assert_eq!(a_second(&world, job).await.requeued, 0);
    writer.run("commit").await;
    assert_eq!(a_second(&world, job).await.requeued, 2);
    assert_eq!(world.number(OWED).await, 4);
}

#[tokio::test]
async fn a_row_that_is_rolled_back_is_waited_for_and_never_owed() {
    let world = World::new(Backend::Postgres).await;
    world.commit_orders(1, 2).await;
    let mut writer = Other::begin(&world, LATE).await;
    routed_late(&world).await;
    let job = ask(&world).await;
    assert_eq!(a_second(&world, job).await.state, ReplayState::Running);
    writer.run("rollback").await;
    let done = a_second(&world, job).await;
    assert_eq!((done.state, done.requeued), (ReplayState::Done, 2));
}

#[tokio::test]
async fn a_transaction_that_writes_elsewhere_or_only_reads_is_not_waited_for() {
    let world = World::new(Backend::Postgres).await;
    world.commit_orders(1, 2).await;
    world.execute("create table elsewhere (id integer)").await;
    let reads = "set transaction isolation level repeatable read; select count(*) from aftercommit.outbox";
    let _reader = Other::begin(&world, reads).await;
    let _writer = Other::begin(&world, "insert into public.elsewhere values (1)").await;
    routed_late(&world).await;
    let job = ask(&world).await;
    // Nor one that began to write after it was asked for: it has seen the route.
    let _later = Other::begin(&world, LATE).await;
    let done = a_second(&world, job).await;
    assert_eq!(
        (done.state, done.requeued, done.waits),
        (ReplayState::Done, 2, None)
    );
}

#[tokio::test]
async fn one_that_waits_for_ever_holds_up_no_other_and_can_be_paused_and_ended() {
    let world = World::new(Backend::Postgres).await;
    world.commit_orders(1, 2).await;
    let mut idle = Other::begin(&world, LATE).await;
    routed_late(&world).await;
    let (waiting, other) = (ask(&world).await, ask(&world).await);
    idle.run("select 1").await;
    a_second(&world, waiting).await;
    let known = world.admin.replay(other).await.unwrap();
    assert_eq!((known.requeued, known.left_alone), (0, 0));
    // A third of another kind comes to its end.
    world
        .execute("update aftercommit.replay set waits_for = null where id = 2")
        .await;
    assert_eq!(a_second(&world, other).await.state, ReplayState::Done);

    let paused = world.admin.pause_replay(waiting, &act()).await.unwrap();
    assert!(paused.state == ReplayState::Paused && paused.waits.is_some());
    assert_eq!(a_second(&world, waiting).await.state, ReplayState::Paused);
    let listed = world.admin.replays(
        Some(ReplayState::Paused),
        None,
        aftercommit::store::admin::PageSize::default(),
    );
    assert_eq!(listed.await.unwrap().replays[0].waits, paused.waits);
    let cancelled = world.admin.cancel_replay(waiting, &act()).await.unwrap();
    assert_eq!((cancelled.state, cancelled.waits), (ReplayState::Cancelled, None));
}

/// A worker looks while the transaction is open, and comes to write when another one has seen it end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_look_from_before_the_replay_began_again_does_not_end_it() {
    let world = World::new(Backend::Postgres).await;
    let mut writer = Other::begin(&world, LATE).await;
    routed_late(&world).await;
    let job = ask(&world).await;
    let mut other = Other::begin(&world, "select 1 from aftercommit.replay for update").await;
    let mut step = Box::pin(world.store.advance_replays(10));
    tokio::select! {
        done = &mut step => panic!("it did not wait: {done:?}"),
        () = world.until("select count(*) > 0 from pg_locks where not granted") => {}
    }
    writer.run("commit").await;
    other
        .run("update aftercommit.replay set waits_for = null; commit")
        .await;
    step.await.unwrap();
    let done = a_second(&world, job).await;
    assert_eq!((done.state, done.requeued), (ReplayState::Done, 1));
}

#[tokio::test]
async fn a_transaction_that_is_prepared_meanwhile_is_waited_for_beyond_a_restart_of_the_server() {
    let server = Server::own_with("max_prepared_transactions = 4\n").await;
    let base = Base::on(server.database().await);
    base.database.migrate("test").await.unwrap();
    let world = World::over(base).await;
    let mut writer = Other::begin(&world, LATE).await;
    routed_late(&world).await;
    let job = ask(&world).await;
    writer.run("prepare transaction 'by the pipeline'").await;
    assert_waits_for_prepared(&a_second(&world, job).await);
    // From then on nobody knows it by the name under which it was noted.
    server.restart_immediately().await;
    let world = world.reconnected();
    assert_waits_for_prepared(&a_second(&world, job).await);
    world.execute("commit prepared 'by the pipeline'").await;
    let done = a_second(&world, job).await;
    assert_eq!(
        (done.state, done.requeued, done.waits),
        (ReplayState::Done, 1, None)
    );
}

fn assert_waits_for_prepared(replay: &Replay) {
    assert_eq!((replay.state, replay.requeued), (ReplayState::Running, 0));
    let words = replay.waits.as_deref().unwrap();
    assert!(
        words.contains("one that is prepared (see pg_prepared_xacts)"),
        "{words}"
    );
}
