//! What a replay must not do: send an older version over a newer one that may have arrived, or end a relay with itself.

use aftercommit::core::delivery::Reason;
use aftercommit::store::Store as _;
use aftercommit::store::admin::{KeyMode, ReplayRequest, ReplayState, Selection, StaleRows};

use super::client::Client;
use super::world::{Backend, World, act, finish, new, on_both};

async fn replay_all(world: &World) -> i64 {
    let request = ReplayRequest {
        selection: Selection::All.into(),
        key: KeyMode::Same,
        stale: StaleRows::Skip,
        rate: None,
    };
    new(world.admin.create_replay(&request, None, &act()).await.unwrap()).id
}

on_both! {
    async fn a_newer_version_that_may_have_arrived_is_not_overwritten(backend: Backend) {
        // An attempt without an answer, and a row that waits for a person, may both have arrived.
        for (reason, outcome) in [(Reason::OutcomeUnknown, "refused"), (Reason::AttemptsExhausted, "unknown")] {
            let world = World::new(backend).await;
            let (older, newer) = (world.commit_account("a", 1).await, world.commit_account("a", 2).await);
            world.settle("crm", &format!("outbox_id = {older}"), Reason::Refused).await;
            world.settle("crm", &format!("outbox_id = {newer}"), reason).await;
            world.execute(&format!(
                "insert into aftercommit.attempt (outbox_id, destination, number, key_epoch, lease_epoch, outcome, started_at, duration_us)
                 select {newer}, 'crm', 1, 0, 1, '{outcome}', at, 1 from aftercommit.settled where outbox_id = {newer} and destination = 'crm'"
            )).await;
            let replay = replay_all(&world).await;
            finish(&world, 10).await;
            let done = world.admin.replay(replay).await.unwrap();
            assert_eq!((done.state, done.skipped), (ReplayState::Done, 1), "{reason:?}");
            let owed = format!("select count(*) from aftercommit.owed where outbox_id = {older} and destination = 'crm'");
            assert_eq!(world.number(&owed).await, 0, "{reason:?}: the older one stays where it is");
        }
    }

    async fn a_replay_that_cannot_go_on_is_paused_and_holds_up_no_other(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 2).await;
        world.settle("crm", "true", Reason::Refused).await;
        let broken = replay_all(&world).await;
        world.execute(&format!("update aftercommit.replay set filter = '{{\"nobody\": \"knows\"}}' where id = {broken}")).await;
        let whole = replay_all(&world).await;
        while world.store.advance_replays(10).await.unwrap().looked_at > 0 {}
        assert_eq!(world.admin.replay(whole).await.unwrap().state, ReplayState::Done);
        assert_eq!(world.text(&format!("select state from aftercommit.replay where id = {broken}")).await, "paused");
        let said = world.text("select reason from aftercommit.audit where actor = 'relay'").await;
        assert!(said.starts_with("it cannot go on"), "{said}");
    }

    async fn a_text_with_nul_is_refused_before_anything_is_made_of_it(backend: Backend) {
        let world = World::new(backend).await;
        let client = Client::of(&world).await;
        for body in [r#"{"filter": {"topic": "a\u0000b"}, "reason": "x"}"#, r#"{"all": true, "reason": "x\u0000"}"#] {
            let refused = client.post("/v1/replays", body).await;
            assert_eq!(refused.status, 422, "{refused:?}");
        }
        assert_eq!(world.number("select count(*) from aftercommit.replay").await, 0);
    }
}
