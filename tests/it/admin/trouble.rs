//! What is in trouble, by destination and reason, and what went wrong last.

use aftercommit::core::delivery::{Reason, State};
use serde_json::json;

use super::client::Client;
use super::world::{Backend, World, on_both};

/// Puts on record that the last attempt of these deliveries met `outcome`.
pub(super) async fn met(world: &World, condition: &str, outcome: &str, status: u16, detail: &str) {
    for table in ["settled", "owed"] {
        world
            .execute(&format!(
                "insert into aftercommit.attempt
                     (outbox_id, destination, number, key_epoch, lease_epoch, outcome, http_status, started_at, duration_us,
                      detail, excerpt)
                 select outbox_id, destination, attempts, 0, 1, '{outcome}', {status}, now(), 5, '{detail}', 'said so'
                 from aftercommit.{table} where {condition} and attempts > 0"
            ))
            .await;
    }
}

on_both! {
    async fn trouble_is_told_by_cause_with_its_oldest_row_and_an_example(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 30).await;
        world.settle("crm", "outbox_id <= 12", Reason::Refused).await;
        world.settle("crm", "outbox_id between 13 and 15", Reason::AttemptsExhausted).await;
        world.settle("hook", "outbox_id = 4", Reason::WindowPassed).await;
        world.settle("hook", "outbox_id = 5", Reason::Accepted).await;
        met(&world, "outbox_id = 12 and destination = 'crm'", "refused", 422, "HTTP 422: no such field").await;

        let trouble = world.admin.trouble().await.unwrap();
        let told: Vec<_> = trouble.groups.iter()
            .map(|group| (group.destination.as_str(), group.state, group.reason, group.count, group.exact)).collect();
        assert_eq!(told, [
            ("crm", State::Dead, Reason::Refused, 12, true),
            ("crm", State::Dead, Reason::AttemptsExhausted, 3, true),
            ("hook", State::Uncertain, Reason::WindowPassed, 1, true),
        ]);
        let refused = &trouble.groups[0];
        assert_eq!((refused.oldest.outbox_id, refused.oldest.row_key.as_str()), (1, "order-1"));
        let example = &refused.example;
        assert_eq!((example.outbox_id, example.topic.as_str(), example.attempts), (12, "orders", 3));
        assert_eq!((example.http_status, example.detail.as_deref()), (Some(422), Some("HTTP 422: no such field")));
        assert_eq!(trouble.groups[1].example.detail, None, "it has no attempt on record");

        let client = Client::of(&world).await;
        let told = client.get("/v1/trouble").await.json();
        assert_eq!(told["groups"].as_array().unwrap().len(), 3);
        let example = &told["groups"][0]["example"];
        assert_eq!((&example["row_key"], &example["excerpt"]), (&json!("order-12"), &json!("said so")));
    }

    async fn where_nothing_is_in_trouble_there_is_nothing_to_tell(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 3).await;
        world.settle("crm", "outbox_id = 1", Reason::Accepted).await;
        let client = Client::of(&world).await;
        assert_eq!(client.get("/v1/trouble").await.json(), json!({"groups": []}));
    }

    async fn the_last_errors_of_a_destination_come_from_what_is_owed_and_what_is_in_trouble(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 30).await;
        world.settle("crm", "outbox_id <= 12", Reason::Refused).await;
        world.settle("crm", "outbox_id = 13", Reason::Accepted).await;
        world.execute("update aftercommit.owed set attempts = 2 where outbox_id = 14").await;
        met(&world, "outbox_id <= 12", "refused", 422, "no").await;
        met(&world, "outbox_id = 13", "accepted", 200, "yes").await;
        met(&world, "outbox_id = 14", "unreachable", 0, "away").await;
        let names = ["crm".to_owned(), "hook".to_owned()];
        let errors = world.admin.last_errors(&names).await.unwrap();
        let ids: Vec<i64> = errors["crm"].iter().map(|error| error.outbox_id).collect();
        assert_eq!(ids.len(), 10, "ten at most: {ids:?}");
        assert!(ids.contains(&14) && ids.contains(&12) && !ids.contains(&13) && !ids.contains(&1), "{ids:?}");
        let hook: Vec<_> = errors["hook"].iter().map(|error| (error.outbox_id, error.outcome.as_str())).collect();
        assert_eq!(hook, [(14, "unreachable")]);
    }
}
