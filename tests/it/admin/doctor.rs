//! Why a row does not move: each cause as it stands in the tables. What is said of it, the unit tests of the findings hold.

use aftercommit::core::delivery::{Reason, State};
use aftercommit::store::Store as _;
use aftercommit::store::admin::{AdminError, Examined, Expectations, Expected};

use super::client::Client;
use super::trouble::met;
use super::world::{Backend, TTL, World, act, id, on_both};

/// The configuration has `crm` and `hook`.
fn expected() -> Expectations {
    let named = |name: &str| (name.to_owned(), Expected::default());
    [named("crm"), named("hook")].into()
}

async fn examined(world: &World, outbox_id: i64, destination: &str) -> Examined {
    let diagnosis = world.admin.doctor(outbox_id, &expected()).await.unwrap();
    let found = diagnosis
        .deliveries
        .into_iter()
        .find(|one| one.destination == destination);
    found.unwrap_or_else(|| panic!("nothing is said of {outbox_id}:{destination}"))
}

/// Everything that is said of a delivery, on lines.
async fn said(world: &World, outbox_id: i64, destination: &str) -> String {
    let examined = examined(world, outbox_id, destination).await;
    let sentences = examined.findings.into_iter().map(|finding| finding.sentence);
    sentences.collect::<Vec<_>>().join("\n")
}

async fn assert_said(world: &World, outbox_id: i64, destination: &str, parts: &[&str]) {
    let said = said(world, outbox_id, destination).await;
    for part in parts {
        assert!(said.contains(part), "{part:?} is not in: {said}");
    }
}

fn later(backend: Backend) -> &'static str {
    match backend {
        Backend::Postgres => "now() + interval '1 hour'",
        Backend::Sqlite => "now() + 3600000000",
    }
}

on_both! {
    async fn a_row_that_is_not_there_is_said_to_be_missing_and_why_it_may_be(backend: Backend) {
        let world = World::new(backend).await;
        let missing = world.admin.doctor(9, &expected()).await.unwrap_err();
        assert!(matches!(missing, AdminError::UnknownRow(9)));
        assert!(missing.to_string().contains("once its transaction has committed"), "{missing}");
        let client = Client::of(&world).await;
        assert!(client.get("/v1/doctor/9").await.problem(404).contains("no outbox row 9"));
        client.get("/v1/doctor/nine").await.problem(400);
    }

    async fn a_row_that_nobody_routes_and_one_that_came_before_its_route_are_told_apart(backend: Backend) {
        let world = World::new(backend).await;
        world.execute("insert into aftercommit.outbox (topic, row_key, op, payload) values ('stray', 'x', 'event', '{}')").await;
        assert_said(&world, 1, "", &["its topic `stray` has no route"]).await;
        world.execute("insert into aftercommit.route (topic, destination) values ('stray', 'crm')").await;
        assert_said(&world, 1, "", &["is routed to crm by now, but no relay keeps house"]).await;
        world.commit_orders(1, 1).await;
        world.execute("delete from aftercommit.owed where destination = 'hook'").await;
        let hook = examined(&world, 2, "hook").await;
        assert_eq!(hook.state, None);
        assert!(hook.findings[0].sentence.contains("was never owed there"), "{hook:?}");
        assert_eq!(examined(&world, 2, "crm").await.state, Some(State::Pending));
    }

    async fn a_destination_that_keeps_its_rows_says_who_why_and_since_when(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 1).await;
        assert_said(&world, 1, "crm", &["no relay runs"]).await;
        world.lease("crm").await;
        assert_said(&world, 1, "crm", &["it is due, and nothing keeps it: relay 00000000-0000-0000-0000-000000000001"]).await;
        assert_said(&world, 1, "hook", &["nobody holds the lease of its part of hook"]).await;

        world.admin.pause("crm", &[], &act()).await.unwrap();
        assert_said(&world, 1, "crm", &["crm is paused since", "by tester: because of the test"]).await;
        world.admin.resume("crm", &[], &act()).await.unwrap();
        world.execute(&format!(
            "insert into aftercommit.failing (destination, shard, since, breaker_opened_at, dying_from, detail)
             values ('crm', 0, now(), now(), {}, 'HTTP 502')", later(backend))).await;
        world.execute("insert into aftercommit.usage (destination, used, allowed, reserve, heard_at)
            values ('crm', 99, 100, 5, now())").await;
        assert_said(&world, 1, "crm", &["the breaker of crm is open", "(HTTP 502)", "99 of 100 daily calls"]).await;

        let only_hook: Expectations = [("hook".to_owned(), Expected::default())].into();
        let diagnosis = world.admin.doctor(1, &only_hook).await.unwrap();
        let first = &diagnosis.deliveries[0].findings[0].sentence;
        assert!(first.contains("crm is not in the configuration"), "{first}");
        let silent = world.admin.doctor(1, &Expectations::new()).await.unwrap();
        let first = &silent.deliveries[0].findings[0].sentence;
        assert!(first.contains("breaker"), "a configuration without destinations misses none: {first}");
    }

    async fn a_shard_whose_relay_fell_silent_is_told_by_the_slot_of_the_row(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 1).await;
        let slot = world.number("select slot from aftercommit.owed where destination = 'crm'").await;
        let live = world.lease("crm").await;
        world.execute(
            "update aftercommit.lease set shards = 2 where destination = 'crm';
             insert into aftercommit.lease (destination, shard, shards, owner, epoch) values ('crm', 1, 2, 'gone', 1)").await;
        world.execute(&format!("update aftercommit.owed set slot = {} where destination = 'crm'", slot / 2 * 2)).await;
        assert_said(&world, 1, "crm", &[&format!("relay {}", live.owner.0)]).await;
        world.execute(&format!("update aftercommit.owed set slot = {} where destination = 'crm'", slot / 2 * 2 + 1)).await;
        assert_said(&world, 1, "crm", &["held by relay gone, which has not been heard of for a day"]).await;
    }

    async fn an_attempt_in_flight_is_told_with_its_relay_and_whether_that_lives(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 2).await;
        let lease = world.lease("crm").await;
        world.execute(&format!(
            "insert into aftercommit.dispatch (relay, sequence, destination, shard, shards, epoch, rendering, entries, job)
             values ('{}', 1, 'crm', 0, 1, 1, 1, '[[1,1,0]]', null), ('gone', 1, 'crm', 0, 1, 1, 1, '[[2,1,0]]', '750A')",
            lease.owner.0)).await;
        assert_said(&world, 1, "crm", &["attempt 1 is in flight since", "sent by relay 00000000"]).await;
        assert_said(&world, 2, "crm", &["attempt 1 was begun at", "relay gone, which has fallen silent"]).await;
    }

    async fn a_row_behind_others_of_its_key_says_which_and_a_newer_version_which_takes_its_place(backend: Backend) {
        let world = World::new(backend).await;
        world.lease("crm").await;
        for number in 1..=4 {
            world.execute(&format!(
                "insert into aftercommit.outbox (topic, row_key, op, payload) values ('orders', 'o', 'event', '{number}')")).await;
        }
        assert_said(&world, 4, "crm", &["it waits behind 3 older deliveries of its row key; the first is 1:crm"]).await;
        world.settle("crm", "outbox_id = 1", Reason::OutcomeUnknown).await;
        assert_said(&world, 4, "crm", &["held by 1:crm, which is uncertain", "behind 2 older", "the first is 2:crm"]).await;
        assert_said(&world, 1, "crm", &["it has waited for a person since", "3 later deliveries of its row key wait until then"]).await;

        let (old, new) = (world.commit_account("a", 1).await, world.commit_account("a", 2).await);
        assert_said(&world, old, "crm", &[&format!("a newer version of the row is owed, {new}:crm")]).await;
        world.execute(&format!("update aftercommit.owed set unknown_since = now() where outbox_id = {old}")).await;
        assert_said(&world, new, "crm", &[&format!("an older version of the row, {old}:crm, may be on its way")]).await;
        world.settle("crm", &format!("outbox_id = {old}"), Reason::NewerVersion).await;
        assert_said(&world, old, "crm", &[&format!("the newest is {new}:crm")]).await;
        assert_eq!(world.admin.newest_of_row("accounts", "a").await.unwrap(), Some(new));
        assert_eq!(world.admin.newest_of_row("accounts", "b").await.unwrap(), None);
    }

    async fn what_comes_next_for_a_delivery_stands_in_its_detail(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 2).await;
        world.lease("crm").await;
        world.execute(&format!("update aftercommit.owed set attempts = 1, due_at = {} where outbox_id = 1", later(backend))).await;
        met(&world, "outbox_id = 1", "refused", 500, "HTTP 500: they are ill").await;
        world.settle("crm", "outbox_id = 2", Reason::Refused).await;
        let next = world.admin.next(&id(1, "crm"), &expected()).await.unwrap();
        assert!(next.sentence.contains("for attempt 2 (15 of 16 that count are left"), "{}", next.sentence);
        assert!(next.sentence.contains("attempt 1 failed with HTTP 500") && next.sentence.contains("they are ill"));

        let client = Client::of(&world).await;
        let shown = client.get("/v1/deliveries/1/crm").await.json();
        assert_eq!(shown["next"]["due_at"], shown["due_at"]);
        let dead = client.get("/v1/deliveries/2/crm").await.json();
        assert!(dead["next"]["sentence"].as_str().unwrap().contains("refused it for good"), "{dead}");
        assert!(dead["next"]["due_at"].is_null());
        let told = client.get("/v1/doctor/2").await.json();
        assert_eq!((&told["topic"], &told["row_key"]), (&"orders".into(), &"order-2".into()));
        assert_eq!((&told["deliveries"][0]["destination"], &told["deliveries"][0]["state"]), (&"crm".into(), &"dead".into()));
        let way_out = told["deliveries"][0]["findings"][0]["way_out"].as_str().unwrap();
        assert!(way_out.contains("aftercommit replay 2:crm"), "{way_out}");
    }

    async fn a_lease_that_its_owner_has_lost_to_time_is_no_lease(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 1).await;
        let lease = world.lease("crm").await;
        let ago = match backend {
            Backend::Postgres => "now() - interval '1 hour'",
            Backend::Sqlite => "now() - 3600000000",
        };
        world.execute(&format!("update aftercommit.relay set beat_at = {ago}")).await;
        assert_said(&world, 1, "crm", &["was heard of last at", "another relay takes it over"]).await;
        world.store.beat(&lease.owner, TTL).await.unwrap();
        assert_said(&world, 1, "crm", &["nothing keeps it"]).await;
    }
}
