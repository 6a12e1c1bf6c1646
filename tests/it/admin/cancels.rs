//! Cancelling: at once where nobody dispatches, by request where somebody does, and never a delivery lost between.

use aftercommit::core::delivery::{Reason, State};
use aftercommit::store::Store as _;
use aftercommit::store::admin::{AdminError, Cancelled, DeliveryFilter, Selection};

use super::world::{Backend, World, act, id, on_both, settle_owed};

fn to(destination: &str) -> Selection {
    Selection::Filter(DeliveryFilter {
        destination: Some(destination.to_owned()),
        ..Default::default()
    })
}

on_both! {
    async fn without_a_live_owner_a_delivery_is_cancelled_at_once(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 3).await;
        let lease = world.lease("crm").await;
        world.store.leave(&lease.owner).await.unwrap();

        let one = Selection::Ids(vec![id(2, "crm"), id(2, "hook"), id(9, "crm")]);
        let done = world.admin.cancel(&one, &act()).await.unwrap();

        assert_eq!(done, Cancelled { cancelled: 2, requested: 0, left_alone: 0 });
        assert_eq!(world.state(2, "crm").await, State::Cancelled);
        assert_eq!(world.state(1, "crm").await, State::Pending);
        world.assert_none_lost(6).await;
        let epoch = world.number("select epoch from aftercommit.lease where destination = 'crm'").await;
        assert!(epoch > lease.epoch, "the owner that fell silent could still write under its lease");
        let trail = "select subject || ' / ' || reason from aftercommit.audit order by id limit 1";
        assert_eq!(world.text(trail).await, "delivery 2 to crm / because of the test");
    }

    async fn a_live_owner_is_asked_and_finds_the_request(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 3).await;
        let lease = world.lease("crm").await;

        let done = world.admin.cancel(&to("crm"), &act()).await.unwrap();

        assert_eq!(done, Cancelled { cancelled: 0, requested: 3, left_alone: 0 });
        assert_eq!(world.state(2, "crm").await, State::Pending);
        let asked = world.store.cancel_requests(&lease.shard).await.unwrap();
        let ids: Vec<i64> = asked.iter().map(|asked| asked.outbox_id).collect();
        assert_eq!(ids, [1, 2, 3]);
    }

    async fn what_a_dead_relay_left_in_flight_waits_for_its_attempt_to_go_on_record(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 3).await;
        world.execute("insert into aftercommit.dispatch (relay, sequence, destination, shard, shards, epoch, rendering, entries)
            values ('dead', 1, 'crm', 0, 1, 1, 1, '[[2,1,0]]')").await;

        let done = world.admin.cancel(&to("crm"), &act()).await.unwrap();

        assert_eq!(done, Cancelled { cancelled: 2, requested: 1, left_alone: 0 });
        assert_eq!(world.state(2, "crm").await, State::Pending);
    }

    async fn uncertain_is_cancelled_and_what_has_ended_is_left_alone(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 4).await;
        world.settle("crm", "outbox_id = 1", Reason::Accepted).await;
        world.settle("crm", "outbox_id = 2", Reason::Refused).await;
        world.settle("crm", "outbox_id = 3", Reason::WindowPassed).await;
        world.lease("crm").await;

        let done = world.admin.cancel(&to("crm"), &act()).await.unwrap();

        assert_eq!(done, Cancelled { cancelled: 1, requested: 1, left_alone: 2 });
        assert_eq!(world.state(3, "crm").await, State::Cancelled);
        assert_eq!(world.state(2, "crm").await, State::Dead);
    }

    async fn a_cancel_must_say_what_it_means(backend: Backend) {
        let world = World::new(backend).await;
        let all = Selection::Filter(DeliveryFilter::default());
        assert!(matches!(world.admin.cancel(&all, &act()).await, Err(AdminError::SelectsAll)));
        let none = Selection::Ids(vec![]);
        assert!(matches!(world.admin.cancel(&none, &act()).await, Err(AdminError::SelectsAll)));
    }

    /// A relay that was thought dead reports successes while its deliveries are cancelled.
    async fn of_a_cancel_and_a_settle_at_once_exactly_one_counts(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 400).await;
        let lease = world.lease("crm").await;
        world.store.leave(&lease.owner).await.unwrap();

        let mut tasks = tokio::task::JoinSet::new();
        for part in 0..4 {
            let admin = world.admin.clone();
            tasks.spawn(async move {
                let first = part * 100 + 1;
                let filter = DeliveryFilter {
                    destination: Some("crm".to_owned()),
                    first_outbox_id: Some(first),
                    last_outbox_id: Some(first + 99),
                    ..Default::default()
                };
                admin.cancel(&Selection::Filter(filter), &act()).await.unwrap();
            });
            let (store, lease) = (world.store.clone(), lease.clone());
            tasks.spawn(async move {
                for start in (0..100).step_by(10) {
                    let first = part * 100 + 1 + start;
                    settle_owed(&store, &lease, first, first + 9).await;
                }
            });
        }
        tasks.join_all().await;

        world.assert_none_lost(800).await;
        let ended = "select count(*) from aftercommit.settled where destination = 'crm'";
        assert_eq!(world.number(ended).await, 400);
    }
}
