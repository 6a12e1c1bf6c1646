//! How things stand, and pausing.

use aftercommit::core::delivery::Reason;
use aftercommit::core::time::Timestamp;
use aftercommit::store::admin::{Act, Actor, AdminError, UnroutedTopic};

use super::world::{Backend, World, act, on_both};

on_both! {
    async fn the_status_counts_each_destination_and_says_which_are_not_configured(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 20).await;
        world.settle("crm", "outbox_id <= 5", Reason::Accepted).await;
        world.settle("crm", "outbox_id = 6", Reason::Refused).await;
        world.settle("crm", "outbox_id = 7", Reason::OutcomeUnknown).await;
        world.settle("crm", "outbox_id = 8", Reason::Operator).await;
        let hour = match backend {
            Backend::Postgres => "interval '1 hour'",
            Backend::Sqlite => "3600000000",
        };
        world.execute(&format!("update aftercommit.owed set due_at = due_at + {hour} where outbox_id = 20")).await;
        world.lease("crm").await;
        world.execute("insert into aftercommit.dispatch (relay, sequence, destination, shard, shards, epoch, rendering, entries)
            values ('r', 1, 'crm', 0, 1, 1, 1, '[[9,1,0],[10,1,0]]')").await;
        world.execute("insert into aftercommit.outbox (topic, row_key, op, payload) values ('stray', 'x', 'event', '{}')").await;

        let configured = ["crm".to_owned(), "new".to_owned()];
        let status = world.admin.status(&configured).await.unwrap();

        let names: Vec<_> = status.destinations.iter().map(|one| (one.name.as_str(), one.configured)).collect();
        assert_eq!(names, [("crm", true), ("hook", false), ("new", true)]);
        let [crm, hook, new] = &status.destinations[..] else { panic!() };
        assert_eq!((crm.owed, crm.due, crm.in_flight), (12, 11, 2));
        assert_eq!((hook.owed, hook.due, hook.in_flight), (20, 19, 0));
        assert_eq!((new.owed, new.oldest_owed_at), (0, None));
        assert!(crm.oldest_owed_at.unwrap() <= status.now);
        let settled = crm.settled;
        assert_eq!((settled.delivered, settled.dead, settled.uncertain, settled.cancelled), (5, 1, 1, 1));
        assert!(settled.exact);
        assert_eq!(crm.shards.len(), 1);
        assert!(crm.shards[0].owner.is_some());
        assert!(hook.shards.is_empty());
        assert_eq!(status.unrouted, 1);
        assert_eq!(status.unrouted_topics, [UnroutedTopic { topic: "stray".to_owned(), rows: 1, exact: true }]);
        assert_eq!(status.relays.len(), 1);
        assert!(status.relays[0].alive);
        assert_eq!(status.namespace, "test");
    }

    async fn the_status_shows_the_worst_of_what_the_shards_of_a_destination_say(backend: Backend) {
        let world = World::new(backend).await;
        world.execute("insert into aftercommit.lease (destination, shard, shards) values ('crm', 0, 3)").await;
        let time = |second: u32| match backend {
            Backend::Postgres => format!("timestamptz 'epoch' + interval '{second} s'"),
            Backend::Sqlite => format!("{second}000000"),
        };
        let [one, two, three, four] = [1, 2, 3, 4].map(time);
        world.execute(&format!(
            "insert into aftercommit.failing (destination, shard, since, breaker_opened_at, dying_from, detail) values
                ('crm', 0, {two}, null, {four}, 'HTTP 500'),
                ('crm', 1, {three}, {three}, {four}, 'HTTP 502'),
                ('crm', 3, {one}, {one}, {one}, 'from when it had more shards')"
        )).await;
        let status = world.admin.status(&[]).await.unwrap();
        let failing = status.destinations[0].failing.as_ref().unwrap();
        let micros = |time: Timestamp| time.as_micros() / 1_000_000;
        assert_eq!((micros(failing.since), failing.breaker_opened_at.map(micros)), (2, Some(3)));
        assert_eq!(failing.detail, "HTTP 500");
        assert_eq!(status.destinations[1].failing, None);
    }

    async fn a_pause_is_kept_with_who_and_why_and_the_first_one_counts(backend: Backend) {
        let world = World::new(backend).await;
        let first = Act::new(Actor::new("ann", "a test"), "the token was revoked").unwrap();
        let paused = world.admin.pause("crm", &[], &first).await.unwrap();
        assert_eq!(paused.pause.as_ref().unwrap().by, "ann");
        let again = world.admin.pause("crm", &[], &act()).await.unwrap();
        assert_eq!(again, paused);

        let status = world.admin.status(&[]).await.unwrap();
        assert_eq!(status.destinations[0].pause, paused.pause);

        assert_eq!(world.admin.resume("crm", &[], &act()).await.unwrap().pause, None);
        assert_eq!(world.admin.resume("crm", &[], &act()).await.unwrap().pause, None);
        let trail = "select count(*) from aftercommit.audit where subject = 'crm'";
        assert_eq!(world.number(trail).await, 2, "one line for each change");
        let line = "select actor || ' ' || action || ': ' || reason from aftercommit.audit order by id limit 1";
        assert_eq!(world.text(line).await, "ann pause: the token was revoked");
    }

    async fn an_unknown_destination_cannot_be_paused_and_a_configured_one_can(backend: Backend) {
        let world = World::new(backend).await;
        let refused = world.admin.pause("crmm", &["later".to_owned()], &act()).await.unwrap_err();
        assert_eq!(refused.to_string(), "there is no destination `crmm`; known are: crm, hook, later");
        world.admin.pause("later", &["later".to_owned()], &act()).await.unwrap();
        assert!(matches!(Act::new(Actor::new("ann", "a test"), "  "), Err(AdminError::NoReason)));
    }

    async fn one_walk_through_much_that_is_owed_serves_who_asks_next(backend: Backend) {
        let world = World::new(backend).await;
        let owe = |first: u32, last: u32| format!(
            "insert into aftercommit.owed (destination, outbox_id)
             with recursive number (i) as (select {first} union all select i + 1 from number where i < {last})
             select 'crm', i from number"
        );
        let owed = async || world.admin.status(&[]).await.unwrap().destinations[0].owed;
        world.execute(&owe(1, 200_000)).await;
        assert_eq!(owed().await, 200_000);
        world.execute(&owe(200_001, 200_001)).await;
        assert_eq!(owed().await, 200_001, "so few are counted each time");
        world.execute(&owe(200_002, 200_002)).await;
        assert_eq!(owed().await, 200_001, "the walk before serves");
    }
}
