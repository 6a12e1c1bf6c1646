//! The verbs that look at deliveries and steer them, on a database that no relay works on.

use serde_json::{Value, json};

use crate::store::world::{Backend, World, on_both};

use super::command::Project;

pub(super) const DESTINATIONS: &str = r#"
[topics.orders]
kind = "event"
[destinations.crm]
type = "webhook"
url = "https://example.com/"
topics = ["orders"]
"#;

/// Three orders are owed to `crm`.
pub(super) async fn orders(world: &World) -> Project {
    let project = Project::with(&format!("[database]\nurl = \"{}\"\n{DESTINATIONS}", world.url));
    project.run(&["apply"]).await.done();
    let input = "{\"id\": 1}\n{\"id\": 2}\n{\"id\": 3}\n";
    project
        .run_with(&["enqueue", "--topic", "orders", "--key", "id"], input)
        .await
        .done();
    project
}

fn row_keys(list: &Value) -> Vec<&str> {
    let deliveries = list["deliveries"].as_array().unwrap();
    deliveries
        .iter()
        .map(|delivery| delivery["row_key"].as_str().unwrap())
        .collect()
}

on_both! {
    async fn deliveries_are_listed_page_by_page_and_shown_whole(backend: Backend) {
        let world = World::migrated(backend).await;
        let project = orders(&world).await;
        let page = project.run(&["list", "--limit", "2", "--json"]).await.json();
        assert_eq!(row_keys(&page), ["3", "2"]);
        let next = page["next"].as_str().unwrap();
        let rest = project.run(&["list", "--limit", "2", "--json", "--after", next]).await.json();
        assert_eq!((row_keys(&rest), &rest["next"]), (vec!["1"], &Value::Null));
        assert_eq!(row_keys(&project.run(&["list", "--row-key", "2", "--json"]).await.json()), ["2"]);
        assert_eq!(row_keys(&project.run(&["list", "--since", "1h", "--json"]).await.json()).len(), 3);
        assert_eq!(project.run(&["list", "--state", "dead"]).await.done(), "no such deliveries\n");
        let table = project.run(&["list"]).await.done();
        assert!(table.contains("orders/2") && table.contains("pending"), "{table}");

        let id = page["deliveries"][0]["outbox_id"].to_string();
        let shown = project.run(&["show", &id, "--json"]).await.json();
        assert_eq!(shown[0]["payload"], "{\"id\": 3}");
        assert!(shown[0]["idempotency_key"].as_str().unwrap().starts_with("ac1-"));
        let shown = project.run(&["show", &format!("{id}:crm")]).await.done();
        assert!(shown.contains("no attempt yet"), "{shown}");
    }

    async fn an_attempt_in_flight_and_the_answers_to_those_before_are_shown(backend: Backend) {
        let world = World::migrated(backend).await;
        let project = orders(&world).await;
        let id = project.run(&["list", "--row-key", "2", "--json"]).await.json()["deliveries"][0]["outbox_id"].to_string();
        world.execute(&format!(
            "insert into aftercommit.attempt
                 (outbox_id, destination, number, key_epoch, lease_epoch, outcome, started_at, duration_us, excerpt)
             select outbox_id, destination, 1, 0, 1, 'refused', owed_at, 5, '\u{1b}[2Jno{}\nmore'
             from aftercommit.owed where outbox_id = {id}",
            "o".repeat(300)
        )).await;
        world.execute(&format!("update aftercommit.owed set attempts = 1 where outbox_id = {id}")).await;
        // The second entry is of an attempt that is on record already.
        world.execute(&format!(
            "insert into aftercommit.dispatch (relay, sequence, destination, shard, shards, epoch, rendering, entries)
             values ('r', 1, 'crm', 0, 1, 1, 1, '[[{id}, 2, 0], [{}, 3, 0]]')",
            id.parse::<i64>().unwrap() + 1
        )).await;
        let shown = project.run(&["show", &id]).await.done();
        assert!(shown.contains("attempt 2 is in flight since "), "{shown}");
        let answer = format!("attempt 1 was answered: \\u{{1b}}[2Jno{}… (--json shows more)\n", "o".repeat(194));
        assert!(shown.contains(&answer), "{shown}");
        let others = project.run(&["list", "--row-key", "3", "--json"]).await.json();
        let other = others["deliveries"][0]["outbox_id"].to_string();
        let shown = project.run(&["show", &other, "--json"]).await.json();
        assert_eq!(shown[0]["in_flight_since"], Value::Null);
    }

    async fn a_cancelled_delivery_is_replayed_without_a_relay(backend: Backend) {
        let world = World::migrated(backend).await;
        let project = orders(&world).await;
        let cancel = ["cancel", "--row-key", "2", "--reason", "test", "--json"];
        assert_eq!(project.run(&cancel).await.json()["cancelled"], 1);
        let cancelled = project.run(&["list", "--state", "cancelled", "--json"]).await.json();
        assert_eq!(row_keys(&cancelled), ["2"]);

        let dry = project.run(&["replay", "--state", "cancelled", "--dry-run", "--json"]).await.json();
        assert_eq!((&dry["matched"], &dry["requeued"]), (&json!(1), &json!(1)));
        assert_eq!(row_keys(&project.run(&["list", "--state", "cancelled", "--json"]).await.json()).len(), 1);

        let none = project.run(&["replay", "--state", "dead", "--dry-run"]).await.done();
        assert!(none.starts_with("0 match: "), "{none}");

        let replay = ["replay", "--state", "cancelled", "--key", "new", "--reason", "again", "--wait", "--json"];
        let replayed = project.run(&replay).await.json();
        assert_eq!((&replayed["state"], &replayed["requeued"]), (&json!("done"), &json!(1)));
        assert_eq!(row_keys(&project.run(&["list", "--state", "pending", "--json"]).await.json()).len(), 3);

        project.run(&cancel).await.done();
        let replay = ["replay", "--state", "cancelled", "--reason", "again", "--wait"];
        let said = project.run(&replay).await.done();
        assert!(said.contains("1 is due again; the relay sends now what is due, `aftercommit list` shows"), "{said}");
    }

    async fn a_pause_shows_in_the_status_until_it_is_over(backend: Backend) {
        let world = World::migrated(backend).await;
        let project = orders(&world).await;
        project.run(&["pause", "crm", "--reason", "maintenance"]).await.done();
        let status = project.run(&["status"]).await.done();
        assert!(status.contains("crm is paused since") && status.contains("maintenance"), "{status}");
        project.run(&["resume", "crm", "--reason", "over"]).await.done();
        let status = project.run(&["status", "--json"]).await.json();
        assert_eq!(status["destinations"][0]["pause"], Value::Null);
        assert_eq!(status["destinations"][0]["owed"], 3);
    }

    async fn what_is_owed_to_a_destination_without_configuration_is_shown_as_held(backend: Backend) {
        let world = World::migrated(backend).await;
        let project = orders(&world).await;
        let renamed = DESTINATIONS.replace("destinations.crm", "destinations.erp");
        project.write("aftercommit.toml", &format!("[database]\nurl = \"{}\"\n{renamed}", world.url));
        let status = project.run(&["status"]).await.done();
        assert!(status.contains("crm is not in the configuration: 3 deliveries are held"), "{status}");
    }

    async fn a_destination_that_nobody_knows_is_refused_and_one_that_was_removed_is_known(backend: Backend) {
        let world = World::migrated(backend).await;
        let project = orders(&world).await;
        for verb in [&["list"][..], &["replay", "--reason=x"], &["replay", "--dry-run"], &["cancel", "--reason=x"]] {
            let error = project.run(&[verb, &["--destination", "crmm", "--state", "dead"]].concat()).await.failed(4);
            assert!(error.contains("no destination `crmm`") && error.contains("known are: crm"), "{error}");
        }
        assert_eq!(world.number("select count(*) from aftercommit.replay").await, 0);

        project.write("aftercommit.toml", &format!("[database]\nurl = \"{}\"\n", world.url));
        project.run(&["apply"]).await.done();
        let held = project.run(&["list", "--destination", "crm", "--json"]).await.json();
        assert_eq!(row_keys(&held), ["3", "2", "1"]);
        project.run(&["cancel", "--destination", "crm", "--reason", "x"]).await.done();
        let ended = project.run(&["list", "--destination", "crm", "--state", "cancelled", "--json"]).await.json();
        assert_eq!(row_keys(&ended).len(), 3);
    }

    async fn what_is_not_there_ends_with_four_and_what_makes_no_sense_with_two(backend: Backend) {
        let world = World::migrated(backend).await;
        let project = orders(&world).await;
        project.run(&["show", "4711"]).await.failed(4);
        project.run(&["show", "1:erp"]).await.failed(4);
        project.run(&["pause", "erp", "--reason", "x"]).await.failed(4);
        project.run(&["cancel", "--replay", "9", "--reason", "x"]).await.failed(4);
        for verb in [["cancel", "--reason=x"], ["replay", "--reason=x"], ["replay", "--dry-run"]] {
            let error = project.run(&[&verb[..], &["1:crm", "4711:crm"]].concat()).await.failed(4);
            assert!(error.contains("no delivery of outbox row 4711 to `crm`"), "{error}");
            let error = project.run(&[&verb[..], &["4711"]].concat()).await.failed(4);
            assert!(error.contains("outbox row 4711"), "{error}");
        }
        let pending = project.run(&["list", "--state", "pending", "--json"]).await.json();
        assert_eq!(row_keys(&pending).len(), 3);
        project.run(&["replay", "--reason", "x"]).await.failed(2);
        project.run(&["cancel", "--all", "--reason", " "]).await.failed(2);
        assert_eq!(project.run(&["cancel", "1", "--state", "dead", "--reason", "x"]).await.code, Some(2));
        assert_eq!(project.run(&["list", "--since", "yesterday"]).await.code, Some(2));
    }
}
