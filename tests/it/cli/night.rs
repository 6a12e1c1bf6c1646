//! What somebody asks at 3 in the morning: what is stuck, why, is it back, and how does it stand now.

use aftercommit::mock::receiver::{Fault, Receiver, ReceiverOptions, Rule};
use serde_json::{Value, json};

use crate::store::world::{Backend, World, on_both};

use super::command::Project;

fn configuration(world: &World, url: &str) -> String {
    format!(
        r#"
[database]
url = "{}"
[topics.orders]
kind = "event"
[destinations.hook]
type = "webhook"
url = "{url}"
topics = ["orders"]
allow_http = true
allow_networks = ["127.0.0.0/8"]
secrets = ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"]
"#,
        world.url
    )
}

/// Three orders are owed to `hook`, whose receiver is at `url`.
async fn orders(world: &World, url: &str) -> Project {
    let project = Project::with(&configuration(world, url));
    project.run(&["apply"]).await.done();
    let input = "{\"id\": 1}\n{\"id\": 2}\n{\"id\": 3}\n";
    project
        .run_with(&["enqueue", "--topic", "orders", "--key", "id"], input)
        .await
        .done();
    project
}

/// Ends two of them as refused, one with an attempt on record.
async fn refuse(world: &World) {
    world
        .execute(
            "begin;
             insert into aftercommit.settled (outbox_id, destination, state, reason, attempts, key_epoch)
             select outbox_id, destination, 'dead', 'refused', 1, 0 from aftercommit.owed where outbox_id <= 2;
             delete from aftercommit.owed where outbox_id <= 2;
             insert into aftercommit.attempt
                 (outbox_id, destination, number, key_epoch, lease_epoch, outcome, http_status, started_at, duration_us, detail,
                  excerpt)
             select outbox_id, destination, 1, 0, 1, 'refused', 422, at, 5, 'HTTP 422: no field `size`', 'unknown field'
             from aftercommit.settled where outbox_id = 2;
             commit",
        )
        .await;
}

on_both! {
    async fn trouble_names_each_cause_and_the_command_that_goes_on(backend: Backend) {
        let world = World::migrated(backend).await;
        let project = orders(&world, "https://example.com/").await;
        assert_eq!(project.run(&["trouble"]).await.done(), "nothing is dead, and nothing is uncertain\n");
        refuse(&world).await;
        let told = project.run(&["trouble"]).await.done();
        for part in ["hook, dead (refused), for example 2:hook, row orders/2, 1 attempt:", "HTTP 422: no field `size`",
            "answered: unknown field"] {
            assert!(told.contains(part), "{part:?} is not in: {told}");
        }
        // The command that it prints does what it says.
        let command = told.lines().find_map(|line| line.trim().strip_prefix("aftercommit ")).unwrap();
        let dry: Vec<&str> = command.split(' ').chain(["--json"]).collect();
        assert_eq!(project.run(&dry).await.json()["matched"], 2);
        let told = project.run(&["trouble", "--json"]).await.json();
        assert_eq!((&told["groups"][0]["count"], &told["groups"][0]["oldest"]["outbox_id"]), (&json!(2), &json!(1)));
        let status = project.run(&["status"]).await.done();
        assert!(status.contains("2 dead and 0 uncertain: `aftercommit trouble` says why"), "{status}");
    }

    async fn the_doctor_says_why_a_row_does_not_move_by_its_id_or_by_its_key(backend: Backend) {
        let world = World::migrated(backend).await;
        let project = orders(&world, "https://example.com/").await;
        refuse(&world).await;
        project.run(&["pause", "hook", "--reason", "maintenance"]).await.done();
        let told = project.run(&["doctor", "3"]).await.done();
        assert!(told.starts_with("row 3, orders/3\n\nto hook: pending\n  hook is paused since "), "{told}");
        assert!(told.contains("maintenance\n    → once that is mended, `aftercommit resume hook --reason …`"), "{told}");
        let by_key = project.run(&["doctor", "--topic", "orders", "--row-key", "2", "--json"]).await.json();
        assert_eq!((&by_key["outbox_id"], &by_key["deliveries"][0]["state"]), (&json!(2), &json!("dead")));
        let one = project.run(&["doctor", "2:hook"]).await.done();
        assert!(one.contains("the receiver refused it for good; attempt 1 was refused with HTTP 422"), "{one}");
        project.run(&["doctor", "4711"]).await.failed(4);
        project.run(&["doctor", "2:crm"]).await.failed(4);
        project.run(&["doctor", "--topic", "orders", "--row-key", "9"]).await.failed(4);
        assert_eq!(project.run(&["doctor"]).await.code, Some(2));
        assert_eq!(project.run(&["doctor", "--topic", "orders"]).await.code, Some(2));
        let shown = project.run(&["show", "3"]).await.done();
        assert!(shown.contains("next") && shown.contains("hook is paused since"), "{shown}");
        let shown = project.run(&["show", "3", "--json"]).await.json();
        assert!(shown[0]["next"]["sentence"].as_str().unwrap().contains("is paused"), "{shown}");
    }

    async fn a_destination_is_tried_out_with_a_reason_and_the_exit_code_is_the_answer(backend: Backend) {
        let world = World::migrated(backend).await;
        let receiver = Receiver::start(ReceiverOptions::default()).await.unwrap();
        let project = orders(&world, &receiver.url()).await;
        let test = ["test", "hook", "--reason", "is it back?"];
        let told = project.run(&test).await.done();
        assert!(told.starts_with("hook: good: the ping was taken with HTTP 20"), "{told}");
        let requests = receiver.requests();
        assert_eq!(requests.len(), 1);
        assert_eq!(requests[0].header("aftercommit-topic"), Some("aftercommit.ping"));
        let audited = "select count(*) from aftercommit.audit where action = 'test' and reason = 'is it back?'";
        assert_eq!(world.number(audited).await, 1);

        receiver.script([Rule::always(Fault::Fail { status: 500 })]).unwrap();
        let failed = project.run(&[&test[..], &["--json"]].concat()).await;
        assert_eq!(failed.code, Some(1), "{failed:?}");
        let told: Value = serde_json::from_str(&failed.stdout).unwrap();
        assert_eq!((&told["destination"], &told["ok"], &told["http_status"]), (&json!("hook"), &json!(false), &json!(500)));
        project.run(&["test", "hok", "--reason", "x"]).await.failed(4);
        assert_eq!(project.run(&["test", "hook"]).await.code, Some(2));
        assert_eq!(world.number(audited).await, 2);
    }

    async fn the_status_is_shown_again_and_again_until_it_is_enough(backend: Backend) {
        let world = World::migrated(backend).await;
        let project = orders(&world, "https://example.com/").await;
        let mut watching = project.start(&["status", "--watch", "--interval", "100ms"]);
        for _ in 0..2 {
            let mut line = watching.line().await;
            while !line.contains("schema version") {
                assert!(!line.contains('\u{1b}'), "a pipe is no terminal: {line:?}");
                line = watching.line().await;
            }
        }
        watching.signal("TERM").await;
        assert_eq!(watching.ends().await, Some(0));
        let mut watching = project.start(&["status", "--watch", "--interval", "100ms", "--json"]);
        for _ in 0..2 {
            let status: Value = serde_json::from_str(&watching.line().await).unwrap();
            assert_eq!(status["destinations"][0]["owed"], 3);
        }
        drop(watching);
        assert_eq!(project.run(&["status", "--interval", "2s"]).await.code, Some(2), "without --watch it means nothing");
        assert_eq!(project.run(&["status", "--watch", "--interval", "1ms"]).await.code, Some(2));
    }
}
