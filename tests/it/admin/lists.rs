//! Lists: complete, in order, stable while rows arrive; and one delivery, whole.

use std::collections::BTreeSet;

use aftercommit::core::delivery::{Reason, State};
use aftercommit::core::time::Timestamp;
use aftercommit::store::admin::{AdminError, Cursor, Delivery, DeliveryFilter, PageSize};

use super::world::{Backend, World, id, on_both};

fn states(states: &[State]) -> DeliveryFilter {
    DeliveryFilter {
        states: states.to_vec(),
        ..DeliveryFilter::default()
    }
}

fn ids(deliveries: &[Delivery]) -> Vec<(i64, &str)> {
    deliveries
        .iter()
        .map(|one| (one.id.outbox_id, one.id.destination.as_str()))
        .collect()
}

async fn mixed(backend: Backend) -> World {
    let world = World::new(backend).await;
    world.commit_orders(1, 60).await;
    world.settle("crm", "outbox_id % 3 = 0", Reason::Accepted).await;
    world.settle("crm", "outbox_id % 7 = 1", Reason::Refused).await;
    // The last answer counts.
    for (number, status) in [(1, 500), (2, 422)] {
        world
            .execute(&format!(
                "insert into aftercommit.attempt (outbox_id, destination, number, key_epoch, lease_epoch, outcome, http_status,
                    started_at, duration_us)
                 select outbox_id, destination, {number}, 0, 1, 'refused', {status}, now(), 1
                 from aftercommit.settled where state = 'dead'"
            ))
            .await;
    }
    world
        .settle("hook", "outbox_id % 10 = 0", Reason::OutcomeUnknown)
        .await;
    world
        .settle("hook", "outbox_id % 10 = 1", Reason::AgeExhausted)
        .await;
    world
}

on_both! {
    async fn every_filter_finds_what_the_view_has_in_pages_of_any_size(backend: Backend) {
        let world = mixed(backend).await;
        let crm = |filter: DeliveryFilter| DeliveryFilter { destination: Some("crm".to_owned()), ..filter };
        let filters = [
            (DeliveryFilter::default(), "true"),
            (states(&[State::Pending]), "state = 'pending'"),
            (states(&[State::Dead]), "state = 'dead'"),
            (states(&[State::Dead, State::Uncertain]), "state in ('dead', 'uncertain')"),
            (states(&[State::Pending, State::Dead]), "state in ('pending', 'dead')"),
            (states(&[State::Delivered]), "state = 'delivered'"),
            (crm(DeliveryFilter::default()), "destination = 'crm'"),
            (crm(states(&[State::Dead, State::Delivered])), "destination = 'crm' and state in ('dead', 'delivered')"),
            (DeliveryFilter { reason: Some(Reason::AgeExhausted), ..Default::default() }, "reason = 'age_exhausted'"),
            (DeliveryFilter { reason: Some(Reason::AgeExhausted), ..states(&[State::Pending]) }, "false"),
            (DeliveryFilter { http_status: Some(422), ..Default::default() }, "destination = 'crm' and outbox_id % 7 = 1 and outbox_id % 3 <> 0"),
            (DeliveryFilter { http_status: Some(500), ..states(&[State::Dead]) }, "false"),
            (DeliveryFilter { topic: Some("accounts".to_owned()), ..Default::default() }, "false"),
            (DeliveryFilter { first_outbox_id: Some(10), last_outbox_id: Some(20), ..Default::default() },
                "outbox_id between 10 and 20"),
            (DeliveryFilter { row_key: Some("order-7".to_owned()), ..Default::default() }, "outbox_id = 7"),
            (DeliveryFilter { row_key: Some("order-8".to_owned()), topic: Some("orders".to_owned()), ..states(&[State::Dead]) },
                "outbox_id = 8 and state = 'dead'"),
        ];
        for (filter, condition) in filters {
            let expected = world.number(&format!("select count(*) from aftercommit.delivery where {condition}")).await;
            for size in [1, 7, 60, 1000] {
                let found = world.list(&filter, size).await;
                assert_eq!(found.len(), usize::try_from(expected).unwrap(), "{filter:?} in pages of {size}");
                let order: BTreeSet<_> = ids(&found).into_iter().map(|(id, to)| (-id, to)).collect();
                assert!(order.into_iter().map(|(id, to)| (-id, to)).eq(ids(&found)), "{filter:?} in pages of {size}");
            }
        }
    }

    async fn pages_stay_complete_while_rows_are_committed_and_settled(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 300).await;
        let size = PageSize::new(50).unwrap();
        let (mut seen, mut after, mut next_order) = (vec![], None, 1_000);
        loop {
            let page = world.admin.deliveries(&DeliveryFilter::default(), after, size).await.unwrap();
            seen.extend(page.deliveries);
            let Some(next) = page.next else { break };
            after = Some(next);
            world.commit_orders(next_order, 20).await;
            world.settle("crm", &format!("outbox_id % 12 = {}", next_order / 20 % 12), Reason::Accepted).await;
            next_order += 20;
        }
        let expected = (1..=300).rev().flat_map(|id| [(id, "crm"), (id, "hook")]);
        assert!(expected.eq(ids(&seen)));
    }

    async fn a_filter_that_matches_seldom_costs_a_bounded_look_and_still_finds_all(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_account("rare", 1).await;
        world.commit_orders(1, 30_000).await;
        world.settle("hook", "true", Reason::Accepted).await;
        let rare = DeliveryFilter { topic: Some("accounts".to_owned()), ..Default::default() };
        let first = world.admin.deliveries(&rare, None, PageSize::default()).await.unwrap();
        assert!(first.deliveries.is_empty() && first.next.is_some(), "it went to the end of 60,000 deliveries");
        assert_eq!(ids(&world.list(&rare, 100).await), [(1, "crm")]);
    }

    async fn rows_are_found_by_the_time_at_which_they_were_written(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 3).await;
        let written = world.admin.delivery(&id(2, "crm")).await.unwrap().delivery.created_at;
        let later = Timestamp::from_micros(written.as_micros() + 1);
        let since = |since, until| DeliveryFilter { since, until, ..Default::default() };
        assert_eq!(world.list(&since(Some(written), None), 10).await.len(), 6);
        assert_eq!(world.list(&since(Some(later), None), 10).await.len(), 0);
        assert_eq!(world.list(&since(None, Some(written)), 10).await.len(), 0);
        assert_eq!(world.list(&since(None, Some(later)), 10).await.len(), 6);
    }

    async fn of_the_headers_of_a_row_what_gives_access_is_not_shown(backend: Backend) {
        let world = World::new(backend).await;
        world.execute(
            r#"insert into aftercommit.outbox (topic, row_key, op, payload, headers) values
               ('orders', 'o', 'event', '{}', '{"Authorization": "Bearer canary", "x-api-key": "canary", "x-tenant": "acme"}')"#,
        ).await;
        let detail = world.admin.delivery(&id(1, "crm")).await.unwrap();
        let shown = r#"{"Authorization":"(secret)","x-api-key":"(secret)","x-tenant":"acme"}"#;
        assert_eq!(detail.headers.as_deref(), Some(shown));
    }

    async fn one_delivery_is_shown_whole(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 1).await;
        let digest = match backend { Backend::Postgres => r"'\xab01'", Backend::Sqlite => "x'ab01'" };
        world.execute(&format!(
            "insert into aftercommit.attempt (outbox_id, destination, number, key_epoch, lease_epoch, outcome, http_status,
                started_at, duration_us, key, body_digest, detail, excerpt)
             values (1, 'crm', 1, 0, 5, 'refused', 500, now(), 1500, 'ac1-x', {digest}, 'it said no', 'oops')"
        )).await;
        world.settle("crm", "true", Reason::AttemptsExhausted).await;

        let shown = world.admin.delivery(&id(1, "crm")).await.unwrap();
        assert_eq!(shown.delivery.state, State::Dead);
        assert_eq!(shown.delivery.reason, Some(Reason::AttemptsExhausted));
        assert_eq!((shown.payload.as_str(), shown.payload_bytes), ("{\"order\": 1}", 12));
        assert_eq!(shown.idempotency_key.as_deref().map(str::len), Some(36));
        assert_eq!(shown.history.len(), 1);
        let attempt = &shown.history[0];
        assert_eq!((attempt.outcome.as_str(), attempt.http_status, attempt.duration_us), ("refused", Some(500), 1500));
        assert_eq!(attempt.body_digest.as_deref(), Some("ab01"));

        let other = world.admin.delivery(&id(1, "hook")).await.unwrap();
        assert_ne!(other.idempotency_key, shown.idempotency_key);
        let missing = world.admin.delivery(&id(1, "nobody")).await;
        assert!(matches!(missing, Err(AdminError::UnknownDelivery(_))));
    }

    async fn a_payload_without_a_canonical_form_is_shown_with_the_reason(backend: Backend) {
        let world = World::new(backend).await;
        let deep = format!("{}1{}", "[".repeat(65), "]".repeat(65));
        world.execute(&format!(
            "insert into aftercommit.outbox (topic, row_key, op, payload) values ('orders', 'deep', 'event', '{deep}')"
        )).await;
        let shown = world.admin.delivery(&id(1, "crm")).await.unwrap();
        assert_eq!(shown.idempotency_key, None);
        assert!(shown.not_canonical.unwrap().contains("nested"));
    }
}

#[test]
fn a_cursor_is_read_as_it_is_written_and_nothing_else_is_one() {
    let cursor: Cursor = "42:a:b".parse().unwrap();
    assert_eq!(cursor.to_string(), "42:a:b");
    for text in ["", "42", "x:crm", ":"] {
        assert!(
            matches!(text.parse::<Cursor>(), Err(AdminError::NoCursor(_))),
            "{text}"
        );
    }
    assert!(PageSize::new(0).is_err() && PageSize::new(1_001).is_err());
}
