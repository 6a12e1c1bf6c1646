//! Skipping a head: which delivery keeps another from being sent, and that the one which was seen is what ends.

use aftercommit::core::delivery::{Reason, State};
use aftercommit::core::queue::OrderMode;
use aftercommit::store::admin::{AdminError, Cancelled, Expectations, Expected};
use serde_json::json;

use super::client::Client;
use super::world::{Backend, World, act, id, on_both};

/// A configuration that says nothing of an order.
fn usual() -> Expectations {
    Expectations::new()
}

fn in_order(order: OrderMode) -> Expectations {
    let expected = Expected {
        order: Some(order),
        ..Expected::default()
    };
    Expectations::from([("crm".to_owned(), expected)])
}

/// So many orders of one row key, with the outbox ids from 1 on.
async fn of_one_row(world: &World, count: u32) {
    for number in 1..=count {
        world
            .execute(&format!(
                "insert into aftercommit.outbox (topic, row_key, row_version, op, payload)
                 values ('orders', 'same', {number}, 'event', '{{}}')"
            ))
            .await;
    }
}

/// An attempt of this delivery is on the wire.
async fn in_flight(world: &World, outbox_id: i64) {
    world
        .execute(&format!(
            "insert into aftercommit.dispatch (relay, sequence, destination, shard, shards, epoch, rendering, entries)
             values ('one', 1, 'crm', 0, 1, 1, 1, '[[{outbox_id}, 1, 0]]')"
        ))
        .await;
}

/// The outbox row that stands first, as the delivery shows it.
async fn head(world: &World, outbox_id: i64, expected: &Expectations) -> Option<i64> {
    let detail = world.admin.delivery(&id(outbox_id, "crm")).await.unwrap();
    let options = world.admin.options(&detail.delivery, expected).await.unwrap();
    options.head.map(|head| head.id.outbox_id)
}

on_both! {
    async fn the_head_that_is_named_ends_and_a_request_that_is_sent_twice_ends_one(backend: Backend) {
        let world = World::new(backend).await;
        of_one_row(&world, 4).await;
        world.settle("crm", "outbox_id = 1", Reason::Accepted).await;
        world.settle("crm", "outbox_id = 2", Reason::OutcomeUnknown).await;
        assert_eq!(head(&world, 4, &usual()).await, Some(2));

        let skipped = world.admin.skip_head(&id(4, "crm"), 2, &usual(), &act()).await.unwrap();
        assert_eq!((skipped.skipped, skipped.cancelled), (2, Cancelled { cancelled: 1, ..Cancelled::default() }));
        let again = world.admin.skip_head(&id(4, "crm"), 2, &usual(), &act()).await;
        assert!(matches!(again, Err(AdminError::OtherHead { named: 2, first: 3, .. })), "{again:?}");
        assert_eq!((world.state(2, "crm").await, world.state(3, "crm").await), (State::Cancelled, State::Pending));

        let skipped = world.admin.skip_head(&id(4, "crm"), 3, &usual(), &act()).await.unwrap();
        assert_eq!(skipped.cancelled.cancelled, 1, "nobody dispatches it");
        let again = world.admin.skip_head(&id(4, "crm"), 3, &usual(), &act()).await;
        assert!(matches!(again, Err(AdminError::NotBlocked(_))), "{again:?}");
        assert_eq!(world.state(4, "crm").await, State::Pending);
        let lines = "select string_agg(line, '; ') from (select action || ': ' || subject || ' ' || detail as line
            from aftercommit.audit order by id) as lines";
        let lines = if backend == Backend::Sqlite { lines.replace("string_agg", "group_concat") } else { lines.to_owned() };
        assert_eq!(world.text(&lines).await,
            r#"skip-head: delivery 2 to crm {"blocked":4}; skip-head: delivery 3 to crm {"blocked":4}"#);
    }

    async fn a_live_relay_is_asked_to_end_the_head_and_asked_twice_it_is_the_same_head(backend: Backend) {
        let world = World::new(backend).await;
        of_one_row(&world, 3).await;
        world.lease("crm").await;
        for _ in 0..2 {
            let skipped = world.admin.skip_head(&id(3, "crm"), 1, &usual(), &act()).await.unwrap();
            assert_eq!((skipped.skipped, skipped.cancelled.requested), (1, 1));
        }
        assert_eq!(world.text("select subject from aftercommit.audit order by id limit 1").await, "delivery 1 to crm, requested");
    }

    async fn where_the_order_is_independent_nothing_waits_and_nothing_is_skipped(backend: Backend) {
        let world = World::new(backend).await;
        of_one_row(&world, 2).await;
        let independent = in_order(OrderMode::Independent);
        assert_eq!(head(&world, 2, &independent).await, None);
        let refused = world.admin.skip_head(&id(2, "crm"), 1, &independent, &act()).await;
        assert!(matches!(refused, Err(AdminError::NoOrder(_))), "{refused:?}");
        assert!(matches!(world.admin.head(&id(2, "crm"), &independent).await, Err(AdminError::NoOrder(_))));
        assert_eq!(world.state(1, "crm").await, State::Pending);
    }

    async fn where_the_newest_counts_only_what_may_be_on_its_way_stands_before_it(backend: Backend) {
        let world = World::new(backend).await;
        let mut ids = [0; 4];
        for (version, outbox_id) in (1..).zip(&mut ids) {
            *outbox_id = world.commit_account("a", version).await;
        }
        let [first, second, third, newest] = ids;
        assert_eq!(head(&world, newest, &usual()).await, None, "they end by themselves");
        world.settle("crm", &format!("outbox_id = {first}"), Reason::OutcomeUnknown).await;
        assert_eq!(head(&world, newest, &usual()).await, None, "it waits for a person, and nobody for it");
        in_flight(&world, third).await;
        assert_eq!(head(&world, newest, &usual()).await, Some(third));
        world.execute(&format!("update aftercommit.owed set unknown_since = now() where outbox_id = {second}")).await;
        assert_eq!(head(&world, newest, &usual()).await, Some(second));
        assert_eq!(head(&world, newest, &in_order(OrderMode::Ordered)).await, Some(first));
        let skipped = world.admin.skip_head(&id(newest, "crm"), second, &usual(), &act()).await.unwrap();
        assert_eq!(skipped.cancelled.cancelled, 1);
        assert_eq!(world.state(second, "crm").await, State::Cancelled);
    }

    async fn what_has_ended_or_stands_first_or_alone_is_blocked_by_nothing(backend: Backend) {
        let world = World::new(backend).await;
        of_one_row(&world, 2).await;
        world.commit_orders(1, 1).await;
        world.settle("crm", "outbox_id = 2", Reason::Operator).await;
        for free in [id(1, "crm"), id(2, "crm"), id(3, "crm")] {
            let refused = world.admin.skip_head(&free, 1, &usual(), &act()).await;
            assert!(matches!(refused, Err(AdminError::NotBlocked(_))), "{free:?}: {refused:?}");
        }
        let unknown = world.admin.skip_head(&id(9, "crm"), 1, &usual(), &act()).await;
        assert!(matches!(unknown, Err(AdminError::UnknownDelivery(_))), "{unknown:?}");
        assert_eq!(world.number("select count(*) from aftercommit.owed where destination = 'crm'").await, 2);
        assert_eq!(world.number("select count(*) from aftercommit.audit").await, 0);
    }

    async fn a_delivery_shows_its_head_and_what_can_be_done_and_a_stale_head_is_a_conflict_that_names_the_new_one(backend: Backend) {
        let world = World::new(backend).await;
        of_one_row(&world, 3).await;
        world.settle("crm", "outbox_id = 1", Reason::OutcomeUnknown).await;
        let client = Client::of(&world).await;
        let shown = client.get("/v1/deliveries/3/crm").await.json();
        assert_eq!(shown["actions"], json!(["skip-head", "cancel"]));
        let head = &shown["head"];
        assert_eq!((&head["outbox_id"], &head["state"], &head["reason"]), (&json!(1), &json!("uncertain"), &json!("outcome_unknown")));
        assert!(head["settled_at"].is_string());
        let first = client.get("/v1/deliveries/1/crm").await.json();
        assert_eq!((&first["actions"], &first["head"]), (&json!(["replay", "mark-delivered", "cancel"]), &json!(null)));

        let skip = r#"{"head": 1, "reason": "r"}"#;
        let skipped = client.post("/v1/deliveries/3/crm/skip-head", skip).await.json();
        assert_eq!(skipped, json!({"skipped": 1, "cancelled": 1, "requested": 0, "left_alone": 0}));
        let again = client.post("/v1/deliveries/3/crm/skip-head", skip).await;
        assert!(again.problem(409).contains("outbox row 2 stands first"), "{again:?}");
        assert_eq!(again.json()["known"], json!(["2"]));
        assert_eq!(world.state(2, "crm").await, State::Pending);
    }
}
