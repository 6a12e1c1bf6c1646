//! A row of very many versions: what asks for it by its key finds each delivery once, and reads no more than it needs.

use aftercommit::core::delivery::{Reason, State};
use aftercommit::store::Store as _;
use aftercommit::store::admin::{
    Delivery, DeliveryFilter, KeyMode, PageSize, ReplayRequest, ReplayState, Selection, StaleRows,
};

use super::world::{Backend, World, act, finish, new, on_both};

/// Versions of the row `many`, among events of the same key; destinations come and go on the way.
async fn many(backend: Backend) -> World {
    let world = World::new(backend).await;
    for version in 1..=30 {
        world.commit_account("many", version).await;
        let event = "insert into aftercommit.outbox (topic, row_key, row_version, op, payload) values ('orders', 'many', $, 'event', '{}')";
        world.execute(&event.replace('$', &version.to_string())).await;
    }
    world.commit_account("other", 1).await;
    world
        .execute(
            "insert into aftercommit.route (topic, destination) values ('accounts', 'erp'), ('accounts', 'hook');
             insert into aftercommit.owed (destination, outbox_id)
             select 'erp', id from aftercommit.outbox where topic = 'accounts' and id % 10 = 1;
             insert into aftercommit.owed (destination, outbox_id)
             select 'hook', id from aftercommit.outbox where topic = 'accounts' and id % 3 = 0",
        )
        .await;
    world.settle("crm", "outbox_id % 4 = 1", Reason::Refused).await;
    world.settle("hook", "outbox_id % 5 = 0", Reason::Accepted).await;
    world.settle("erp", "outbox_id % 20 = 1", Reason::Refused).await;
    world
}

fn of_many(topic: Option<&str>, destination: Option<&str>, states: &[State]) -> DeliveryFilter {
    DeliveryFilter {
        row_key: Some("many".to_owned()),
        topic: topic.map(str::to_owned),
        destination: destination.map(str::to_owned),
        states: states.to_vec(),
        ..DeliveryFilter::default()
    }
}

fn again(filter: DeliveryFilter, stale: StaleRows) -> ReplayRequest {
    ReplayRequest {
        selection: Selection::Filter(filter).into(),
        key: KeyMode::Same,
        stale,
        rate: None,
    }
}

/// `outbox_id destination` of each, as text.
fn names(deliveries: &[Delivery]) -> String {
    let name = |one: &Delivery| format!("{} {}", one.id.outbox_id, one.id.destination);
    deliveries.iter().map(name).collect::<Vec<_>>().join(",")
}

/// What the view has of the row `many`, in the order of the lists.
async fn expected(world: &World, condition: &str) -> String {
    let (gather, collate) = match world.backend {
        Backend::Postgres => ("string_agg", "collate \"C\""),
        Backend::Sqlite => ("group_concat", ""),
    };
    let sql = format!(
        "select coalesce({gather}(name, ','), '') from (
            select outbox_id || ' ' || destination as name
            from aftercommit.delivery
            where outbox_id in (select id from aftercommit.outbox where row_key = 'many') and {condition}
            order by outbox_id desc, destination {collate}
        ) as named"
    );
    world.text(&sql).await
}

on_both! {
    async fn every_delivery_of_a_row_comes_once_in_pages_of_any_size(backend: Backend) {
        let world = many(backend).await;
        let ids = DeliveryFilter { first_outbox_id: Some(11), last_outbox_id: Some(39), ..of_many(None, None, &[]) };
        let accounts = "outbox_id in (select id from aftercommit.outbox where topic = 'accounts')";
        let filters = [
            (of_many(None, None, &[]), "true"),
            (of_many(Some("accounts"), None, &[]), accounts),
            (of_many(None, Some("erp"), &[]), "destination = 'erp'"),
            (of_many(None, None, &[State::Dead]), "state = 'dead'"),
            (of_many(Some("orders"), Some("erp"), &[]), "false"),
            (ids, "outbox_id between 11 and 39"),
        ];
        for (filter, condition) in filters {
            let expected = expected(&world, condition).await;
            for size in [1, 2, 3, 7, 1_000] {
                assert_eq!(names(&world.list(&filter, size).await), expected, "{filter:?} in pages of {size}");
            }
        }
    }

    async fn a_replay_of_a_row_comes_by_each_of_its_deliveries_once_in_steps_of_any_size(backend: Backend) {
        for step in [1, 2, 7, 1_000] {
            let world = many(backend).await;
            let dead = world.number(
                "select count(*) from aftercommit.delivery join aftercommit.outbox on outbox.id = outbox_id
                 where row_key = 'many' and state = 'dead'"
            ).await;
            let all = expected(&world, "true").await.split(',').count();
            let request = again(of_many(None, None, &[]), StaleRows::Force);
            let dry = world.admin.dry_run(&request).await.unwrap();
            assert_eq!((dry.matched, dry.by_state["dead"]), (all as u64, u64::try_from(dead).unwrap()));
            let job = new(world.admin.create_replay(&request, None, &act()).await.unwrap()).id;
            finish(&world, step).await;
            let done = world.admin.replay(job).await.unwrap();
            assert_eq!((done.state, done.requeued, done.left_alone), (ReplayState::Done, dry.requeued, dry.left_alone), "by {step}");
            assert_eq!(done.requeued + done.left_alone, all as u64, "by {step}");
            assert_eq!(expected(&world, "state = 'dead'").await, "", "by {step}");
        }
    }

    async fn versions_of_which_nothing_stands_cost_a_bounded_look_and_what_is_behind_them_is_found(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_account("many", 1).await;
        world.settle("crm", "true", Reason::Refused).await;
        world.execute(&format!(
            "insert into aftercommit.outbox (topic, row_key, row_version, op, payload)
             with recursive number (i) as (select 2 union all select i + 1 from number where i < 25000)
             select 'accounts', 'many', i, 'upsert', cast('{{\"version\": ' || i || '}}' as {}) from number",
            if backend == Backend::Postgres { "json" } else { "text" }
        )).await;
        world.execute("delete from aftercommit.owed").await;
        let row = of_many(Some("accounts"), None, &[]);
        let first = world.admin.deliveries(&row, None, PageSize::default()).await.unwrap();
        assert!(first.deliveries.is_empty() && first.next.is_some(), "it went to the end of 25,000 versions");
        assert_eq!(names(&world.list(&row, 100).await), "1 crm");

        let job = new(world.admin.create_replay(&again(row, StaleRows::Skip), None, &act()).await.unwrap()).id;
        let step = world.store.advance_replays(1_000).await.unwrap();
        assert_eq!(step.looked_at, 1_000, "a step is a step, whatever it finds");
        finish(&world, 1_000).await;
        assert_eq!(world.admin.replay(job).await.unwrap().requeued, 1);
    }

    async fn of_many_dead_versions_those_are_replayed_that_none_overtakes_however_the_steps_fall(backend: Backend) {
        for step in [1, 4, 100] {
            let world = many(backend).await;
            world.execute("delete from aftercommit.owed").await;
            world.execute("delete from aftercommit.settled").await;
            // The 21st was delivered to `crm`; the 26th may have arrived at `hook`.
            world.execute(
                "insert into aftercommit.settled (outbox_id, destination, state, reason, attempts, key_epoch)
                 select id, 'crm', case when row_version = 21 then 'delivered' else 'dead' end,
                    case when row_version = 21 then 'accepted' else 'refused' end, 1, 0
                 from aftercommit.outbox where topic = 'accounts' and row_key = 'many'
                 union all
                 select id, 'hook', 'dead', 'refused', 1, 0 from aftercommit.outbox where topic = 'accounts' and row_key = 'many'"
            ).await;
            world.execute(
                "insert into aftercommit.attempt (outbox_id, destination, number, key_epoch, lease_epoch, outcome, started_at, duration_us)
                 select id, 'hook', 1, 0, 1, 'unknown', now(), 1
                 from aftercommit.outbox where topic = 'accounts' and row_key = 'many' and row_version = 26"
            ).await;
            let request = again(of_many(None, None, &[State::Dead]), StaleRows::Skip);
            let job = new(world.admin.create_replay(&request, None, &act()).await.unwrap()).id;
            finish(&world, step).await;
            let done = world.admin.replay(job).await.unwrap();
            assert_eq!((done.requeued, done.skipped), (9 + 5, 20 + 25), "by {step}");
            for (destination, oldest) in [("crm", 22), ("hook", 26)] {
                let due = format!(
                    "select min(row_version) from aftercommit.owed join aftercommit.outbox on outbox.id = owed.outbox_id
                     where destination = '{destination}'"
                );
                assert_eq!(world.number(&due).await, oldest, "{destination} by {step}");
            }
        }
    }
}
