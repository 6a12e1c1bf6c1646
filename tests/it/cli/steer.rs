//! The verbs that settle by hand and that steer replays, on a database that no relay works on.

use serde_json::json;

use super::command::Project;
use super::desk::{DESTINATIONS, orders};
use crate::store::world::{Backend, World, on_both};

/// The first order has ended as the reason says.
async fn ended(world: &World, reason: &str) -> (Project, String) {
    let project = orders(world).await;
    let id = project.run(&["list", "--row-key", "1", "--json"]).await.json()["deliveries"][0]["outbox_id"]
        .to_string();
    world
        .execute(&format!(
            "begin;
             insert into aftercommit.settled (outbox_id, destination, state, reason, attempts, key_epoch)
             values ({id}, 'crm', {reason}, 1, 0);
             insert into aftercommit.attempt (outbox_id, destination, number, key_epoch, lease_epoch, outcome, http_status,
                started_at, duration_us)
             values ({id}, 'crm', 1, 0, 1, 'refused', 422, now(), 1);
             delete from aftercommit.owed where outbox_id = {id};
             commit"
        ))
        .await;
    (project, format!("{id}:crm"))
}

on_both! {
    async fn a_delivery_is_marked_as_delivered_with_its_evidence(backend: Backend) {
        let world = World::migrated(backend).await;
        let (project, uncertain) = ended(&world, "'uncertain', 'outcome_unknown'").await;
        let dry = project.run(&["mark-delivered", "--state", "uncertain", "--dry-run"]).await.done();
        assert_eq!(dry, "1 would be delivered, 0 were neither uncertain nor dead\n");
        let bare = project.run(&["mark-delivered", &uncertain, "--reason", "x"]).await;
        assert_eq!(bare.code, Some(2), "the evidence is missing");
        let mark = ["mark-delivered", &uncertain, "--evidence", "their log", "--reason", "x", "--json"];
        assert_eq!(project.run(&mark).await.json(), json!({"marked": 1, "left_alone": 0}));
        let shown = project.run(&["list", "--because", "confirmed"]).await.done();
        assert!(shown.contains("delivered (confirmed)"), "{shown}");
    }

    async fn what_waits_for_later_is_due_at_once_when_a_person_says_so(backend: Backend) {
        let world = World::migrated(backend).await;
        let project = orders(&world).await;
        let hour = match backend { Backend::Postgres => "now() + interval '1 hour'", Backend::Sqlite => "now() + 3600000000" };
        world.execute(&format!("update aftercommit.owed set due_at = {hour}")).await;
        let dry = project.run(&["retry-now", "--destination", "crm", "--dry-run"]).await.done();
        assert_eq!(dry, "3 would be due at once, 0 do not wait for a later time\n");
        let hurried = project.run(&["retry-now", "--row-key", "2", "--reason", "x"]).await.done();
        assert_eq!(hurried, "1 are due at once, 0 do not wait for a later time\n");
        let rest = project.run(&["retry-now", "--all", "--reason", "x", "--json"]).await.json();
        assert_eq!(rest, json!({"hurried": 2, "left_alone": 1}));
    }

    async fn a_head_is_skipped_by_naming_what_it_blocks(backend: Backend) {
        let world = World::migrated(backend).await;
        let project = orders(&world).await;
        world.execute("update aftercommit.outbox set row_key = 'same'").await;
        let first = world.number("select min(id) from aftercommit.outbox").await;
        let blocked = format!("{}:crm", world.number("select max(id) from aftercommit.outbox").await);
        let shown = project.run(&["skip-head", &blocked, "--dry-run"]).await.done();
        assert!(shown.starts_with(&format!("{first}:crm stands first: pending since ")), "{shown}");
        let asked = project.run(&["skip-head", &blocked, "--reason", "x"]).await.failed(2);
        assert!(asked.contains(&format!("help: `aftercommit skip-head {blocked} --head {first} --reason …` ends it")), "{asked}");
        let waits = project.run(&["show", &blocked]).await.done();
        assert!(waits.contains(&format!("waits for    {first}:crm, pending")), "{waits}");
        let head = first.to_string();
        let skip = ["skip-head", &blocked, "--head", &head, "--reason", "x"];
        assert_eq!(project.run(&skip).await.done(), format!("{first}:crm stood first, and is cancelled\n"));
        let again = project.run(&skip).await.failed(2);
        assert!(again.contains(&format!("outbox row {} stands first", first + 1)), "{again}");
        project.run(&["skip-head", &format!("{first}:crm"), "--dry-run"]).await.failed(2);
        project.run(&["skip-head", "4711:crm", "--dry-run"]).await.failed(4);
        project.run(&["skip-head", "4711", "--reason", "x"]).await.failed(2);
        assert_eq!(project.run(&["skip-head", &blocked, "--head", &head]).await.code, Some(2), "the reason is missing");
    }

    async fn what_was_settled_before_an_error_is_told(backend: Backend) {
        let world = World::migrated(backend).await;
        let project = orders(&world).await;
        world.execute("insert into aftercommit.outbox (topic, row_key, op, payload)
            with recursive number (i) as (select 1 union all select i + 1 from number where i < 1100)
            select 'orders', 'more-' || i, 'event', '{}' from number").await;
        let last = world.number("select max(outbox_id) from aftercommit.owed").await;
        world.execute(&match backend {
            Backend::Postgres => format!("create function aftercommit.fail() returns trigger language plpgsql as $$ begin raise 'not now'; end $$;
                create trigger fail before delete on aftercommit.owed for each row
                    when (old.outbox_id = {last}) execute function aftercommit.fail()"),
            Backend::Sqlite => format!("create trigger fail before delete on owed when old.outbox_id = {last}
                begin select raise(abort, 'not now'); end"),
        }).await;
        let failed = project.run(&["cancel", "--destination", "crm", "--reason", "x"]).await;
        assert_ne!(failed.code, Some(0));
        assert!(failed.stderr.contains("1000 were settled before, 0 asked of the relay that holds them, 0 left alone"), "{failed:?}");
        assert_eq!(world.number("select count(*) from aftercommit.settled where state = 'cancelled'").await, 1_000);
    }

    async fn a_replay_is_limited_stopped_and_worked_off_here(backend: Backend) {
        let world = World::migrated(backend).await;
        let (project, _) = ended(&world, "'dead', 'refused'").await;
        let filter = ["replay", "--state", "dead", "--http-status", "422"];
        let dry = project.run(&[&filter[..], &["--rate", "5", "--dry-run"]].concat()).await.done();
        assert!(dry.contains("1 matches (1 dead): 1 would be due"), "{dry}");
        assert!(dry.contains("takes about 1 s at 5 a second; they go with the same key and the same bytes"), "{dry}");
        let other = project.run(&["replay", "--state", "dead", "--http-status", "500", "--dry-run", "--json"]).await.json();
        assert_eq!(other["matched"], 0);

        project.run(&[&filter[..], &["--rate", "5", "--reason", "x"]].concat()).await.done();
        let paused = project.run(&["pause", "--replay", "1", "--reason", "x"]).await.done();
        assert!(paused.starts_with("replay 1 is paused, `aftercommit resume --replay 1` lets it go on"), "{paused}");
        let list = project.run(&["replays", "--state", "paused"]).await.done();
        assert!(list.contains("paused at 0%") && list.contains("5/s"), "{list}");
        project.run(&["resume", "--replay", "1", "--reason", "x"]).await.done();
        // Whoever waits works off the older ones too.
        let second = project.run(&["replay", "--state", "dead", "--reason", "x", "--wait", "--json"]).await.json();
        assert_eq!(second["state"], "done");
        let list = project.run(&["replays", "--json"]).await.json();
        assert_eq!((&list["replays"][1]["state"], &list["replays"][1]["requeued"]), (&json!("done"), &json!(1)));
        for wrong in [&["pause", "--reason", "x"][..], &["pause", "crm", "--replay", "1", "--reason", "x"]] {
            assert_eq!(project.run(wrong).await.code, Some(2), "{wrong:?}");
        }
        project.run(&["resume", "--replay", "9", "--reason", "x"]).await.failed(4);
    }

    async fn rows_that_a_destination_never_had_are_replayed_to_it(backend: Backend) {
        let world = World::migrated(backend).await;
        let project = orders(&world).await;
        let erp = "[destinations.erp]\ntype = \"webhook\"\nurl = \"https://example.com/\"\ntopics = [\"orders\"]\n";
        let config = format!("[database]\nurl = \"{}\"\n{}{erp}", world.url, DESTINATIONS);
        project.write("aftercommit.toml", &config);
        project.run(&["apply"]).await.done();
        let missing = ["replay", "--missing", "--destination", "erp"];
        let dry = project.run(&[&missing[..], &["--dry-run"]].concat()).await.done();
        assert!(dry.contains("3 match (3 missing)") && dry.contains("orders/1"), "{dry}");
        let done = project.run(&[&missing[..], &["--reason", "erp is new", "--wait", "--json"]].concat()).await.json();
        assert_eq!(done["requeued"], 3);
        let again = project.run(&[&missing[..], &["--dry-run"]].concat()).await.done();
        assert!(again.starts_with("0 match: "), "{again}");
        project.run(&["replay", "--missing", "--dry-run"]).await.failed(2);
        assert_eq!(project.run(&["replay", "--missing", "--state", "dead", "--dry-run"]).await.code, Some(2));
    }
}
