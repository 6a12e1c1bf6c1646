//! What a relay does beside sending, and what an operator starts, killed in the middle.

use std::time::Duration;

use aftercommit::core::delivery::State;
use aftercommit::store::admin::{
    Act, Actor, AdminStore, Created, DeliveryFilter, KeyMode, ReplayRequest, Selection, StaleRows,
};

use super::world::{Backend, Process, World, died, on_both};
use crate::store::world::World as Base;

/// Deliveries that a replay makes due again.
const REPLAYED: i64 = 20;

on_both! {
    async fn a_migration_that_was_killed_runs_again_to_its_end(backend: Backend) {
        let mut world = World::unrouted(Base::empty(backend).await).await;
        for crash in ["in_migration", "after_migration"] {
            died(world.start(&["migrate"], &[("AFTERCOMMIT_CRASH", crash)]), crash).await;
        }
        let mut migrate = world.start(&["migrate"], &[]);
        assert!(migrate.ended().await.success(), "{:#?}", migrate.log());
        world.commit_batch().await;
        let relay = world.relay();
        world.finish(vec![relay]).await;
    }

    async fn what_had_no_route_is_sent_once_though_each_sweep_is_killed(backend: Backend) {
        let mut world = World::unrouted(Base::migrated(backend).await).await;
        world.commit_orders(REPLAYED).await;
        world.crash("before_routing:1").await;
        world.crash("after_routing:1").await;
        let relay = world.relay();
        world.finish(vec![relay]).await;
    }

    async fn a_replay_under_the_same_key_goes_on_where_it_was_killed_and_changes_nothing(backend: Backend) {
        let (world, job) = replayed_and_killed(backend, KeyMode::Same).await;
        let relay = finished(&world, job).await;
        let counts = world.receiver.counts();
        assert!(counts.requests >= 40, "each was sent again: {counts:?}");
        assert_eq!(counts.effects, 20, "and took effect once");
        world.finish(vec![relay]).await;
    }

    async fn a_replay_under_a_new_key_goes_on_where_it_was_killed_and_is_new_to_the_receiver_once(backend: Backend) {
        let (world, job) = replayed_and_killed(backend, KeyMode::New).await;
        let relay = finished(&world, job).await;
        assert_eq!(world.receiver.counts().effects, 40, "each took effect again, once");
        world.finish(vec![relay]).await;
    }
}

/// The server ends the connection when all of the second migration is made but for its record, as it would for a client
/// that is gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_migration_that_is_cut_off_in_the_middle_leaves_nothing_half_done() {
    let mut world = World::unrouted(Base::empty(Backend::Postgres).await).await;
    world.base.execute(CUT).await;
    let mut migrate = world.start(&["migrate"], &[]);
    assert!(!migrate.ended().await.success());
    let version = world.base.database.schema_version().await.unwrap();
    assert_eq!(version, None, "the first migration is gone with the second");

    world.base.execute("drop event trigger watch").await;
    let mut migrate = world.start(&["migrate"], &[]);
    assert!(migrate.ended().await.success(), "{:#?}", migrate.log());
    world.commit_batch().await;
    let relay = world.relay();
    world.finish(vec![relay]).await;
}

/// As soon as there is a table of migrations, it gets a trigger that ends whoever records the second one.
const CUT: &str = "
create function cut() returns trigger language plpgsql as $$
begin
    perform pg_terminate_backend(pg_backend_pid());
    return new;
end
$$;
create function watch() returns event_trigger language plpgsql as $$
begin
    if to_regclass('aftercommit.migration') is not null
        and not exists (select from pg_trigger where tgname = 'cut')
    then
        create trigger cut before insert on aftercommit.migration
            for each row when (new.version = 2) execute function public.cut();
    end if;
end
$$;
create event trigger watch on ddl_command_end when tag in ('CREATE TABLE') execute function watch();
";

/// Orders are delivered and then replayed, by relays that die within the step of the replay and right after it.
async fn replayed_and_killed(backend: Backend, key: KeyMode) -> (World, i64) {
    let mut world = World::new(backend).await;
    world.commit_orders(REPLAYED).await;
    let mut relay = world.relay();
    world.settled(&mut relay).await;
    super::world::stopped(&mut relay).await;

    let delivered = DeliveryFilter {
        states: vec![State::Delivered],
        ..DeliveryFilter::default()
    };
    let request = ReplayRequest {
        selection: Selection::Filter(delivered).into(),
        key,
        stale: StaleRows::Skip,
        rate: None,
    };
    let act = Act::new(Actor::new("tester", "a test"), "because of the test").unwrap();
    let created = admin(&world).create_replay(&request, None, &act).await.unwrap();
    let Created::New(job) = created else {
        panic!("{created:?}");
    };
    world.crash("in_replay:1").await;
    assert_eq!(
        admin(&world).replay(job.id).await.unwrap().requeued,
        0,
        "a step that was killed was not taken"
    );
    world.crash("after_replay:1").await;
    (world, job.id)
}

/// A relay goes on until all that was replayed has ended; exactly that was made due again.
async fn finished(world: &World, job: i64) -> Process {
    let mut relay = world.relay();
    world.settled(&mut relay).await;
    let running = "select count(*) from aftercommit.replay where state = 'running'";
    world.until_number(&mut relay, running, 0).await;
    let requeued = admin(world).replay(job).await.unwrap().requeued;
    assert_eq!(i64::try_from(requeued).unwrap(), REPLAYED);
    relay
}

fn admin(world: &World) -> AdminStore {
    AdminStore::new(world.base.database.clone(), Duration::from_secs(2))
}
