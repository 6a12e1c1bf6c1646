//! `aftercommit run` as a process: what it says, and what signals do to it.

use aftercommit::mock::receiver::{Receiver, ReceiverOptions};

use crate::store::world::{Backend, World, on_both};

use super::command::{Project, Running};

/// A daemon's configuration for a receiver of the story.
fn configuration(world: &World, receiver: &Receiver) -> String {
    format!(
        "[database]\nurl = \"{}\"\n[admin]\nlisten = \"127.0.0.1:0\"\n[relay]\npoll_idle = \"20ms\"\n\
         [topics.orders]\nkind = \"event\"\n[destinations.hook]\ntype = \"webhook\"\nurl = \"{}\"\n\
         topics = [\"orders\"]\nallow_http = true\nallow_networks = [\"127.0.0.0/8\"]\n",
        world.url,
        receiver.url()
    )
}

async fn receiver() -> Receiver {
    Receiver::start(ReceiverOptions::default()).await.unwrap()
}

/// A daemon at work.
async fn daemon(project: &Project) -> Running {
    let mut daemon = project.start(&["run"]);
    let ready = daemon.line().await;
    assert!(ready.starts_with("ready: "), "{ready}");
    daemon
}

async fn commit(world: &World, row_key: &str) {
    world
        .execute(&format!(
            "insert into aftercommit.outbox (topic, row_key, op, payload) values ('orders', '{row_key}', 'event', '{{}}')"
        ))
        .await;
}

on_both! {
    async fn the_daemon_waits_for_a_database_that_is_migrated_later_and_delivers_what_is_committed(backend: Backend) {
        let world = World::empty(backend).await;
        let receiver = receiver().await;
        world.execute("create table pipeline (id integer)").await;
        let project = Project::with(&configuration(&world, &receiver));
        let mut daemon = project.start(&["run", "--json"]);
        let said = daemon.logs("trying again").await;
        assert!(said.contains("run `aftercommit migrate`"), "{said}");

        project.run(&["migrate"]).await.done();
        let ready: serde_json::Value = serde_json::from_str(&daemon.line().await).unwrap();
        assert!(ready["admin"].as_str().unwrap().starts_with("http://127.0.0.1:"), "{ready}");
        commit(&world, "1").await;
        receiver.received(1).await;
        assert_eq!(receiver.effects()[0].row_key(), Some("1"));
        daemon.signal("TERM").await;
        assert_eq!(daemon.ends().await, Some(0));
    }

    async fn a_broken_file_changes_nothing_at_a_reload_and_a_sound_one_is_taken_over(backend: Backend) {
        let world = World::migrated(backend).await;
        let (old, new) = (receiver().await, receiver().await);
        let project = Project::with(&configuration(&world, &old));
        let mut daemon = daemon(&project).await;

        project.write("aftercommit.toml", "[relay]\nheartbeet = \"1s\"\nlease_ttl = 7\n");
        daemon.signal("HUP").await;
        daemon.logs("relay.heartbeet").await;
        daemon.logs("relay.lease_ttl").await;
        daemon.logs("goes on under the old one").await;
        commit(&world, "1").await;
        old.received(1).await;

        project.write("aftercommit.toml", &configuration(&world, &new));
        daemon.signal("HUP").await;
        daemon.logs("the configuration was read again").await;
        commit(&world, "2").await;
        new.received(1).await;
        assert_eq!(old.counts().requests, 1);
        daemon.signal("INT").await;
        assert_eq!(daemon.ends().await, Some(0));
    }

    async fn every_event_of_a_log_for_machines_is_an_object_on_a_line(backend: Backend) {
        let world = World::migrated(backend).await;
        let receiver = receiver().await;
        let sound = configuration(&world, &receiver) + "[log]\nformat = \"json\"\n";
        let project = Project::with(&sound);
        let mut daemon = daemon(&project).await;
        // An error of several lines.
        project.write("aftercommit.toml", "[relay]\nheartbeet = \"1s\"\nlease_ttl = 7\n");
        daemon.signal("HUP").await;
        let mut seen = vec![];
        while !seen.iter().any(|message: &String| message.contains("goes on under the old one")) {
            let line = daemon.logs("").await;
            let event: serde_json::Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"));
            for field in ["timestamp", "level", "target"] {
                assert!(event[field].is_string(), "{line}");
            }
            seen.push(event["message"].as_str().unwrap_or_else(|| panic!("{line}")).to_owned());
        }
        assert!(seen.iter().any(|message| message.contains("relay.heartbeet")), "{seen:?}");
    }

    async fn a_reload_warns_of_what_only_a_restart_takes_over_until_it_is_changed_back(backend: Backend) {
        let world = World::migrated(backend).await;
        let receiver = receiver().await;
        let sound = configuration(&world, &receiver);
        let project = Project::with(&sound);
        let mut daemon = daemon(&project).await;
        let elsewhere = sound.replacen("url = \"", "statement_timeout = \"7s\"\nurl = \"", 1);
        let elsewhere = elsewhere.replacen(&world.url, "sqlite:elsewhere.db", 1);
        project.write("aftercommit.toml", &elsewhere);
        daemon.signal("HUP").await;
        daemon.logs("database.url").await;
        daemon.logs("database.statement_timeout").await;
        daemon.logs("the configuration was read again").await;

        project.write("aftercommit.toml", &sound);
        daemon.signal("HUP").await;
        // The warning says `again` too, and would come first.
        let said = daemon.logs("again").await;
        assert!(said.contains("the configuration was read again"), "{said}");
    }

    async fn a_destination_that_a_reload_removes_keeps_its_debts(backend: Backend) {
        let world = World::migrated(backend).await;
        let receiver = receiver().await;
        let sound = configuration(&world, &receiver);
        let project = Project::with(&sound);
        let mut daemon = daemon(&project).await;
        project.run(&["pause", "hook", "--reason", "so that it owes something"]).await.done();
        commit(&world, "1").await;

        project.write("aftercommit.toml", sound.split("[destinations").next().unwrap());
        daemon.signal("HUP").await;
        let said = daemon.logs("is not in the configuration").await;
        assert!(said.contains("hook") && said.contains("owed=1"), "{said}");
        assert_eq!(world.number("select count(*) from aftercommit.owed where destination = 'hook'").await, 1);
    }

    async fn asked_to_end_in_the_middle_of_a_request_the_daemon_finishes_it(backend: Backend) {
        let world = World::migrated(backend).await;
        let receiver = receiver().await;
        let project = Project::with(&configuration(&world, &receiver));
        let mut daemon = daemon(&project).await;
        receiver.hold();
        commit(&world, "1").await;
        receiver.received(1).await;
        daemon.signal("TERM").await;
        daemon.logs("nothing new is begun").await;
        receiver.release();
        assert_eq!(daemon.ends().await, Some(0));
        let state = world.text("select state from aftercommit.delivery").await;
        assert_eq!(state.as_deref(), Some("delivered"));
        assert_eq!(world.number("select count(*) from aftercommit.lease where owner is not null").await, 0);
    }

    async fn a_second_signal_ends_the_daemon_at_once_and_the_attempt_stays_on_record(backend: Backend) {
        let world = World::migrated(backend).await;
        let receiver = receiver().await;
        let project = Project::with(&configuration(&world, &receiver));
        let mut daemon = daemon(&project).await;
        receiver.hold();
        commit(&world, "1").await;
        receiver.received(1).await;
        daemon.signal("TERM").await;
        daemon.logs("nothing new is begun").await;
        daemon.signal("TERM").await;
        assert_eq!(daemon.ends().await, Some(1));
        assert_eq!(world.number("select count(*) from aftercommit.dispatch").await, 1);
        assert_eq!(world.number("select count(*) from aftercommit.owed").await, 1);
    }
}

#[tokio::test]
async fn the_mock_receiver_says_where_it_listens_and_ends_when_it_is_asked_to() {
    let mut mock = Project::empty().start(&["mock", "receiver", "--listen", "127.0.0.1:0", "--json"]);
    let listening: serde_json::Value = serde_json::from_str(&mock.line().await).unwrap();
    assert!(
        listening["url"]
            .as_str()
            .unwrap()
            .starts_with("http://127.0.0.1:")
    );
    mock.signal("TERM").await;
    assert_eq!(mock.ends().await, Some(0));
    let error = Project::empty()
        .run(&["mock", "receiver", "--faults", "explode=1"])
        .await
        .failed(2);
    assert!(error.contains("explode"), "{error}");
}
