//! Settling by hand: what a person may say of a delivery, what is left alone, and what goes on record.

use aftercommit::core::delivery::{Reason, State};
use aftercommit::store::admin::{AdminError, DeliveryFilter, Evidence, Hurried, Marked, Selection};

use super::world::{Backend, World, act, id, on_both};

fn to_crm() -> Selection {
    Selection::Filter(DeliveryFilter {
        destination: Some("crm".to_owned()),
        ..Default::default()
    })
}

fn evidence() -> Evidence {
    Evidence::new("their log shows order 99").unwrap()
}

/// An hour from now, in the words of the database.
fn later(backend: Backend) -> &'static str {
    match backend {
        Backend::Postgres => "now() + interval '1 hour'",
        Backend::Sqlite => "now() + 3600000000",
    }
}

/// Five orders: delivered, dead, uncertain, waiting for an hour, due.
async fn mixed(backend: Backend) -> World {
    let world = World::new(backend).await;
    world.commit_orders(1, 5).await;
    world.settle("crm", "outbox_id = 1", Reason::Accepted).await;
    world.settle("crm", "outbox_id = 2", Reason::Refused).await;
    world.settle("crm", "outbox_id = 3", Reason::OutcomeUnknown).await;
    let wait = format!(
        "update aftercommit.owed set due_at = {} where outbox_id = 4",
        later(backend)
    );
    world.execute(&wait).await;
    world
}

on_both! {
    async fn uncertain_and_dead_are_marked_as_delivered_with_the_evidence_on_record(backend: Backend) {
        let world = mixed(backend).await;
        let done = world.admin.mark_delivered(&to_crm(), &evidence(), &act()).await.unwrap();
        assert_eq!(done, Marked { marked: 2, left_alone: 3 });
        for outbox_id in [2, 3] {
            let delivery = world.admin.delivery(&id(outbox_id, "crm")).await.unwrap().delivery;
            assert_eq!((delivery.state, delivery.reason), (State::Delivered, Some(Reason::Confirmed)));
        }
        assert_eq!(world.state(4, "crm").await, State::Pending);
        let line = "select action || ': ' || subject || ' / ' || reason || ' / ' || detail from aftercommit.audit";
        assert_eq!(world.text(line).await,
            "mark-delivered: 2 deliveries to crm / because of the test / \
             {\"evidence\":\"their log shows order 99\",\"filter\":{\"destination\":\"crm\"},\"outbox_ids\":[2,3]}");
        let again = world.admin.mark_delivered(&to_crm(), &evidence(), &act()).await.unwrap();
        assert_eq!(again, Marked { marked: 0, left_alone: 5 });
        assert_eq!(world.number("select count(*) from aftercommit.audit").await, 1);
        assert!(matches!(Evidence::new(" \n"), Err(AdminError::NoEvidence)));
        world.assert_none_lost(10).await;
    }

    async fn what_waits_for_a_later_time_is_due_now_and_all_else_is_left_alone(backend: Backend) {
        let world = mixed(backend).await;
        let done = world.admin.retry_now(&to_crm(), &act()).await.unwrap();
        assert_eq!(done, Hurried { hurried: 1, left_alone: 4 });
        let due = "select count(*) from aftercommit.owed where destination = 'crm' and due_at <= now()";
        assert_eq!(world.number(due).await, 2);
        let line = "select action || ': ' || subject || ' / ' || reason from aftercommit.audit";
        assert_eq!(world.text(line).await, "retry-now: delivery 4 to crm / because of the test");
        assert_eq!(world.number("select count(*) from aftercommit.owed where outbox_id = 4 and due_at > now()").await, 1,
            "what goes to `hook` was not meant");
    }

    async fn a_dry_run_counts_what_would_be_done_and_writes_nothing(backend: Backend) {
        for owned in [false, true] {
            let world = mixed(backend).await;
            if owned {
                world.lease("crm").await;
            }
            let before = world.admin.status(&[]).await.unwrap().destinations;
            let cancel = world.admin.would_cancel(&to_crm()).await.unwrap();
            let hurry = world.admin.would_retry_now(&to_crm()).await.unwrap();
            let mark = world.admin.would_mark_delivered(&to_crm()).await.unwrap();
            assert_eq!(world.admin.status(&[]).await.unwrap().destinations, before);
            assert_eq!(world.number("select count(*) from aftercommit.audit").await, 0);

            assert_eq!(hurry, world.admin.retry_now(&to_crm(), &act()).await.unwrap());
            assert_eq!(cancel, world.admin.cancel(&to_crm(), &act()).await.unwrap());
            let left = Marked { marked: mark.marked - 1, left_alone: mark.left_alone + 1 };
            assert_eq!(left, world.admin.mark_delivered(&to_crm(), &evidence(), &act()).await.unwrap(), "one was cancelled");
        }
    }

    async fn many_are_settled_step_by_step_each_with_its_line_in_the_audit(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 2_500).await;
        world.settle("crm", "true", Reason::OutcomeUnknown).await;
        world.settle("hook", "outbox_id <= 10", Reason::Refused).await;
        let states = DeliveryFilter { states: vec![State::Dead, State::Uncertain], ..Default::default() };
        let done = world.admin.mark_delivered(&Selection::Filter(states), &evidence(), &act()).await.unwrap();
        assert_eq!(done, Marked { marked: 2_510, left_alone: 0 });
        let lines = "select count(*) from aftercommit.audit where action = 'mark-delivered'";
        assert_eq!(world.number(lines).await, 4, "three steps, the first of them to two destinations");
    }

    async fn what_settles_by_hand_must_say_what_it_means(backend: Backend) {
        let world = World::new(backend).await;
        let all = Selection::Filter(DeliveryFilter::default());
        assert!(matches!(world.admin.retry_now(&all, &act()).await, Err(AdminError::SelectsAll)));
        assert!(matches!(world.admin.would_cancel(&all).await, Err(AdminError::SelectsAll)));
        let none = Selection::Ids(vec![]);
        assert!(matches!(world.admin.mark_delivered(&none, &evidence(), &act()).await, Err(AdminError::SelectsAll)));
    }
}
