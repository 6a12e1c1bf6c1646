//! What a person decides about deliveries that have ended or wait as uncertain, and a relay that runs meanwhile.

use std::time::Duration;

use aftercommit::core::delivery::State;
use aftercommit::mock::receiver::{Fault, Rule};
use aftercommit::store::admin::{
    Act, Actor, AdminStore, DeliveryFilter, DeliveryId, Evidence, Expectations, Hurried, KeyMode,
    ReplayRequest, Selection, StaleRows,
};

use super::world::{Backend, SWIFT, World, on_both};

/// What may have arrived is not sent again.
fn hold() -> String {
    "uncertain_policy = \"hold\"\n".to_owned() + SWIFT
}

/// Retries that never come within a test.
const PATIENT: &str = "[destinations.hook.retry]\nfirst = \"1h\"\nmax_delay = \"1h\"\n";

/// Three orders of one row key, of which the first was processed, and its answer lost.
async fn one_uncertain_holds_two(backend: Backend) -> World {
    let world = World::with(backend, &hold()).await;
    world
        .receiver
        .script([Rule::once(Fault::ProcessedThenDropped)])
        .unwrap();
    world.orders(3, |_| "o-1".into()).await;
    world
}

fn admin(world: &World) -> AdminStore {
    AdminStore::new(world.base.database.clone(), Duration::from_secs(4))
}

fn act() -> Act {
    Act::new(Actor::new("ada", "a test"), "the story goes on").unwrap()
}

fn all_that_is(state: State) -> Selection {
    Selection::Filter(DeliveryFilter {
        states: vec![state],
        ..DeliveryFilter::default()
    })
}

async fn replay(world: &World, state: State) {
    let request = ReplayRequest {
        selection: all_that_is(state).into(),
        key: KeyMode::New,
        stale: StaleRows::Skip,
        rate: None,
    };
    admin(world).create_replay(&request, None, &act()).await.unwrap();
}

on_both! {
    async fn an_older_version_that_is_replayed_does_not_overwrite_one_that_came_before_it_was_found(backend: Backend) {
        let world = World::with(backend, SWIFT).await;
        let relay = world.relay(SWIFT).await;
        world.customer("c-1", 1, r#"{"name":"old"}"#).await;
        world.until(&[("delivered", 1)]).await;
        world.customer("c-1", 2, r#"{"name":"new"}"#).await;
        world.until(&[("delivered", 2)]).await;
        // As of a replay that looked before the newer version was delivered, and committed after.
        world
            .base
            .execute(
                "insert into aftercommit.owed (destination, outbox_id, attempts, excused, guarded)
                 select destination, outbox_id, attempts, attempts, true from aftercommit.settled where outbox_id = 1;
                 delete from aftercommit.settled where outbox_id = 1",
            )
            .await;
        world.until(&[("delivered", 1), ("superseded", 1)]).await;
        assert_eq!(world.effects(), [r#"{"name":"old"}"#, r#"{"name":"new"}"#]);
        world.finish([relay]).await;
    }

    async fn an_uncertain_delivery_that_is_cancelled_frees_its_row_key(backend: Backend) {
        let world = one_uncertain_holds_two(backend).await;
        let relay = world.relay(&hold()).await;
        world.until(&[("uncertain", 1), ("pending", 2)]).await;
        let cancelled = admin(&world).cancel(&all_that_is(State::Uncertain), &act()).await.unwrap();
        assert_eq!(cancelled.cancelled, 1);
        world.until(&[("cancelled", 1), ("delivered", 2)]).await;
        world.finish([relay]).await;
    }

    async fn a_delivery_that_waits_for_an_hour_is_sent_when_a_person_asks_for_it(backend: Backend) {
        let world = World::with(backend, PATIENT).await;
        world.receiver.script([Rule::next(2, Fault::Fail { status: 500 })]).unwrap();
        world.orders(2, |number| format!("o-{number}")).await;
        let relay = world.relay(PATIENT).await;
        world.until_number("select count(*) from aftercommit.owed where attempts = 1", 2).await;
        let first = Selection::Ids(vec![DeliveryId { outbox_id: 1, destination: "hook".to_owned() }]);
        let hurried = admin(&world).retry_now(&first, &act()).await.unwrap();
        assert_eq!(hurried, Hurried { hurried: 1, left_alone: 0 });
        world.until(&[("delivered", 1), ("pending", 1)]).await;
        let rest = admin(&world).retry_now(&all_that_is(State::Pending), &act()).await.unwrap();
        assert_eq!(rest.hurried, 1);
        world.until(&[("delivered", 2)]).await;
        world.finish([relay]).await;
    }

    async fn an_uncertain_delivery_that_a_person_knows_was_taken_frees_its_row_key(backend: Backend) {
        let world = one_uncertain_holds_two(backend).await;
        let relay = world.relay(&hold()).await;
        world.until(&[("uncertain", 1), ("pending", 2)]).await;
        let evidence = Evidence::new("their log").unwrap();
        admin(&world).mark_delivered(&all_that_is(State::Uncertain), &evidence, &act()).await.unwrap();
        world.until(&[("delivered", 3)]).await;
        assert_eq!(world.effects().len(), 3, "nothing was sent again");
        world.finish([relay]).await;
    }

    async fn a_head_that_is_skipped_lets_the_next_one_go_on(backend: Backend) {
        let world = one_uncertain_holds_two(backend).await;
        let relay = world.relay(&hold()).await;
        world.until(&[("uncertain", 1), ("pending", 2)]).await;
        let blocked = DeliveryId { outbox_id: 3, destination: "hook".to_owned() };
        assert_eq!(admin(&world).skip_head(&blocked, 1, &Expectations::new(), &act()).await.unwrap().cancelled.cancelled, 1);
        world.until(&[("cancelled", 1), ("delivered", 2)]).await;
        world.finish([relay]).await;
    }

    async fn an_uncertain_delivery_that_is_replayed_goes_ahead_of_what_waited_behind_it(backend: Backend) {
        let world = one_uncertain_holds_two(backend).await;
        let relay = world.relay(&hold()).await;
        world.until(&[("uncertain", 1), ("pending", 2)]).await;
        replay(&world, State::Uncertain).await;
        world.until(&[("delivered", 3)]).await;
        let first = r#"{"order":1}"#;
        assert_eq!(world.effects(), [first, first, r#"{"order":2}"#, r#"{"order":3}"#]);
        world.finish([relay]).await;
    }

    async fn an_uncertain_delivery_holds_its_row_key_in_the_next_relay_too(backend: Backend) {
        let world = one_uncertain_holds_two(backend).await;
        let first = world.relay(&hold()).await;
        world.until(&[("uncertain", 1), ("pending", 2)]).await;
        first.relay.shutdown(Duration::from_secs(10)).await.unwrap();
        let second = world.relay(&hold()).await;
        world.customer("c-1", 1, "{}").await;
        let customers = "select count(*) from aftercommit.settled join aftercommit.outbox on outbox.id = settled.outbox_id
            where topic = 'customers' and state = 'delivered'";
        world.until_number(customers, 1).await;
        assert_eq!(world.effects(), [r#"{"order":1}"#, "{}"]);
        world.finish([second]).await;
    }
}
