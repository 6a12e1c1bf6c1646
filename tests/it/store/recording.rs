//! What a record does, and what it refuses: the fence, late successes, repetition.

use aftercommit::core::delivery::Reason;
use aftercommit::core::row::TopicKind;
use aftercommit::core::time::Timestamp;
use aftercommit::store::Store as _;

use super::draft::{RENDERING, under};
use super::world::{Backend, World, on_both, relay, upsert};

const DISPATCHES: &str = "select count(*) from aftercommit.dispatch";

on_both! {
    async fn an_attempt_is_on_record_before_it_is_sent(backend: Backend) {
        let world = World::routed(backend).await;
        world.commit_many(3).await;
        let lease = world.lease(relay(1)).await;
        let recorded = under(&lease).begin(1, &[(3, 1), (1, 1)]).commit(&world.store).await;
        assert!(recorded.leased && !recorded.paused);
        assert_eq!(recorded.begun, [1, 3]);
        let entries = world.text("select entries from aftercommit.dispatch").await.unwrap();
        assert_eq!(entries.replace(' ', ""), "[[1,1,0],[3,1,0]]");
        assert_eq!(world.owed().await.owed.len(), 3, "it is owed until an outcome is on record");
    }

    async fn an_accepted_delivery_is_delivered(backend: Backend) {
        let world = World::routed(backend).await;
        world.commit_many(2).await;
        let lease = world.lease(relay(1)).await;
        under(&lease).begin(1, &[(1, 1)]).commit(&world.store).await;
        under(&lease).success(1, 1).finish(1).commit(&world.store).await;
        assert_eq!(world.state(1).await, "delivered accepted");
        assert_eq!(world.state(2).await, "pending");
        assert_eq!(world.outcomes(1).await, "accepted");
        assert_eq!(world.number(DISPATCHES).await, 0);
        let settled = "select attempts * 1000 + rendering from aftercommit.settled";
        assert_eq!(world.number(settled).await, 1000 + RENDERING);
        let history = match backend {
            Backend::Postgres => "select key || ' ' || encode(body_digest, 'hex') || ' ' || duration_us || ' ' || lease_epoch || detail || excerpt || http_status from aftercommit.attempt",
            Backend::Sqlite => "select key || ' ' || lower(hex(body_digest)) || ' ' || duration_us || ' ' || lease_epoch || detail || excerpt || http_status from aftercommit.attempt",
        };
        let expected = format!(
            "ac1-0123456789abcdef0123456789abcdef {} 12000 1a detailan excerpt200",
            "07".repeat(32)
        );
        assert_eq!(world.text(history).await.unwrap(), expected);
    }

    async fn a_refused_delivery_is_dead(backend: Backend) {
        let world = World::routed(backend).await;
        world.commit_many(1).await;
        let lease = world.lease(relay(1)).await;
        under(&lease).refused(1, 1).commit(&world.store).await;
        assert_eq!(world.state(1).await, "dead refused");
    }

    async fn a_retry_stays_owed_and_is_due_later(backend: Backend) {
        let world = World::routed(backend).await;
        world.commit_many(2).await;
        let lease = world.lease(relay(1)).await;
        let since = Timestamp::from_micros(1_700_000_000_000_000);
        let recorded = under(&lease).throttled(1, 1).unknown(2, 1, since).commit(&world.store).await;
        let owed = world.owed().await.owed;
        let counts: Vec<_> = owed.iter().map(|owed| (owed.attempts, owed.excused, owed.unknown_since)).collect();
        assert_eq!(counts, [(1, 1, None), (1, 0, Some(since))]);
        for delivery in &owed {
            let wait = delivery.due_at.since(recorded.now).as_secs_f64();
            assert!((59.9..60.1).contains(&wait), "due in {wait} s");
            assert_eq!(delivery.rendering, Some(RENDERING));
        }

        under(&lease).retry(2, 2).commit(&world.store).await;
        let unknown_since = world.owed().await.owed[1].unknown_since;
        assert_eq!(unknown_since, Some(since), "what is unknown once stays so");
        assert_eq!(world.outcomes(2).await, "unknown,unreachable");
    }

    async fn a_lost_lease_records_only_successes(backend: Backend) {
        let world = World::routed(backend).await;
        world.commit_many(7).await;
        let old = world.lease(relay(1)).await;
        under(&old).begin(1, &[(1, 1), (2, 1), (3, 1), (4, 1)]).commit(&world.store).await;
        let new = world.take_from(relay(1), relay(2)).await;
        under(&new).uncertain(6, 1).commit(&world.store).await;

        let recorded = under(&old)
            .begin(2, &[(5, 1)])
            .success(1, 1)
            .retry(2, 1)
            .refused(3, 1)
            .end(4, 0, Reason::Operator)
            .supersede_uncertain(6)
            .finish(1)
            .commit(&world.store)
            .await;

        assert!(!recorded.leased);
        assert!(recorded.begun.is_empty());
        assert_eq!(world.state(1).await, "delivered accepted");
        for waiting in [2, 3, 4, 5] {
            assert_eq!(world.state(waiting).await, "pending", "delivery {waiting}");
            assert_eq!(world.outcomes(waiting).await, "");
        }
        assert_eq!(world.state(6).await, "uncertain outcome_unknown");
        assert_eq!(world.number("select count(*) from aftercommit.settled").await, 2, "1 and 6");
        assert_eq!(world.owed().await.owed[0].attempts, 0);
        assert_eq!(world.number(DISPATCHES).await, 1, "the new owner still needs to know what was in flight");
    }

    async fn an_earlier_epoch_of_the_same_relay_is_a_lost_lease(backend: Backend) {
        let world = World::routed(backend).await;
        world.commit_many(1).await;
        let old = world.lease(relay(1)).await;
        world.lease(relay(1)).await;
        let recorded = under(&old).begin(1, &[(1, 1)]).refused(1, 1).commit(&world.store).await;
        assert!(!recorded.leased && recorded.begun.is_empty());
        assert_eq!(world.state(1).await, "pending");
    }

    async fn an_outcome_counts_only_for_the_attempt_that_is_due(backend: Backend) {
        let world = World::routed(backend).await;
        world.commit_many(3).await;
        let lease = world.lease(relay(1)).await;
        under(&lease).retry(1, 1).retry(2, 1).commit(&world.store).await;
        under(&lease).retry(1, 2).commit(&world.store).await;
        let recorded = under(&lease)
            .retry(1, 1)
            .end(2, 0, Reason::NewerVersion)
            .begin(1, &[(3, 1)])
            .commit(&world.store)
            .await;
        assert_eq!(recorded.begun, [3]);
        let recorded = under(&lease).begin(2, &[(1, 2), (2, 3)]).commit(&world.store).await;
        assert!(recorded.begun.is_empty());
        let attempts: Vec<_> = world.owed().await.owed.iter().map(|owed| owed.attempts).collect();
        assert_eq!(attempts, [2, 1, 0]);
    }

    async fn a_late_success_of_the_same_key_counts(backend: Backend) {
        let world = World::routed(backend).await;
        world.commit_many(1).await;
        let old = world.lease(relay(1)).await;
        let new = world.take_from(relay(1), relay(2)).await;
        under(&new).unknown(1, 1, Timestamp::from_micros(1)).commit(&world.store).await;
        under(&new).retry(1, 2).commit(&world.store).await;
        under(&old).success(1, 1).commit(&world.store).await;
        assert_eq!(world.state(1).await, "delivered accepted");
        assert_eq!(world.outcomes(1).await, "accepted,unreachable", "what was unknown is known now");
        assert_eq!(world.number("select attempts from aftercommit.settled").await, 2);
    }

    async fn a_late_success_under_an_old_key_is_history_and_no_more(backend: Backend) {
        let world = World::routed(backend).await;
        world.commit_many(1).await;
        let lease = world.lease(relay(1)).await;
        world.execute("update aftercommit.owed set key_epoch = 1, attempts = 1").await;
        under(&lease).success(1, 1).commit(&world.store).await;
        assert_eq!(world.state(1).await, "pending");
        assert_eq!(world.outcomes(1).await, "accepted");
        under(&lease).key_epoch(1).success(1, 2).commit(&world.store).await;
        assert_eq!(world.state(1).await, "delivered accepted");
    }

    async fn an_outcome_or_a_begin_under_an_old_key_changes_nothing(backend: Backend) {
        let world = World::routed(backend).await;
        world.commit_many(2).await;
        let lease = world.lease(relay(1)).await;
        world.execute("update aftercommit.owed set key_epoch = 1").await;
        let recorded = under(&lease).begin(1, &[(1, 1)]).retry(2, 1).commit(&world.store).await;
        assert!(recorded.begun.is_empty());
        let recorded = under(&lease).refused(2, 1).end(1, 0, Reason::Operator).commit(&world.store).await;
        assert!(recorded.leased);
        assert_eq!(world.owed().await.owed.iter().map(|owed| owed.attempts).collect::<Vec<_>>(), [0, 0]);
    }

    async fn a_late_success_counts_for_what_was_given_up_or_left_to_a_person(backend: Backend) {
        let world = World::routed(backend).await;
        world.commit_many(4).await;
        let old = world.lease(relay(1)).await;
        let new = world.take_from(relay(1), relay(2)).await;
        let since = Timestamp::from_micros(1);
        under(&new).uncertain(1, 1).unknown(2, 1, since).uncertain(3, 1).refused(4, 1).commit(&world.store).await;
        under(&new).refused(2, 2).commit(&world.store).await;

        let late = under(&old).success(1, 1).success(2, 1);
        let recorded = late.clone().commit(&world.store).await;
        assert!(!recorded.leased);
        for id in [1, 2] {
            assert_eq!(world.state(id).await, "delivered accepted");
        }
        assert_eq!(world.outcomes(1).await, "accepted");
        assert_eq!(world.outcomes(2).await, "accepted,refused");
        assert_eq!(world.number("select sum(attempts) from aftercommit.settled where outbox_id <= 2").await, 3);
        assert_eq!(world.state(3).await, "uncertain outcome_unknown", "nobody has spoken of it");
        assert_eq!(world.state(4).await, "dead refused", "nobody has spoken of it");

        let after_first = world.text(everything(backend)).await;
        late.commit(&world.store).await;
        assert_eq!(world.text(everything(backend)).await, after_first, "repeated, it changes nothing");
    }

    async fn a_late_success_changes_neither_what_a_person_ended_nor_another_key_nor_what_was_superseded(backend: Backend) {
        let world = World::routed(backend).await;
        world.commit_many(3).await;
        let lease = world.lease(relay(1)).await;
        under(&lease).uncertain(1, 1).uncertain(2, 1).uncertain(3, 1).commit(&world.store).await;
        under(&lease).supersede_uncertain(2).commit(&world.store).await;
        world.execute("update aftercommit.settled set state = 'cancelled', reason = 'operator' where outbox_id = 1").await;
        world.execute("update aftercommit.settled set key_epoch = 1 where outbox_id = 3").await;
        under(&lease).success(1, 1).success(2, 1).success(3, 1).commit(&world.store).await;
        assert_eq!(world.state(1).await, "cancelled operator");
        assert_eq!(world.state(2).await, "superseded newer_version");
        assert_eq!(world.state(3).await, "uncertain outcome_unknown");
        assert_eq!(world.outcomes(1).await, "accepted", "what was sent and taken is on record all the same");
    }

    async fn a_success_counts_once_for_what_is_owed_and_settled_at_once(backend: Backend) {
        let world = World::routed(backend).await;
        world.commit_many(1).await;
        let lease = world.lease(relay(1)).await;
        under(&lease).uncertain(1, 1).commit(&world.store).await;
        // As a backfill leaves it that met the settle.
        world.execute("insert into aftercommit.owed (destination, outbox_id) values ('hook', 1)").await;
        under(&lease).success(1, 1).commit(&world.store).await;
        assert_eq!(world.state(1).await, "delivered accepted");
        assert_eq!(world.number("select count(*) from aftercommit.owed").await, 0);
    }

    async fn a_guarded_version_is_not_begun_once_a_newer_one_was_delivered(backend: Backend) {
        let world = World::routed(backend).await;
        world.apply(&[("customers", TopicKind::State)], &[("customers", "hook"), ("customers", "crm")]).await;
        for version in [1, 2] {
            let rows = ["delivered", "arrived", "unguarded", "dead", "elsewhere", "owed"].map(|key| upsert(key, version, &version.to_string()));
            world.commit_rows(&rows).await;
        }
        let id = async |key: &str, version: i64| {
            let id = format!("select id from aftercommit.outbox where row_key = '{key}' and row_version = {version}");
            world.number(&id).await
        };
        let lease = world.lease(relay(1)).await;
        let settle = under(&lease)
            .success(id("delivered", 2).await, 1)
            .refused(id("arrived", 2).await, 1)
            .success(id("unguarded", 2).await, 1)
            .refused(id("dead", 2).await, 1)
            .refused(id("elsewhere", 2).await, 1);
        settle.commit(&world.store).await;
        let arrived = id("arrived", 2).await;
        world.execute(&format!(
            "update aftercommit.attempt set outcome = 'unknown' where outbox_id = {arrived} and destination = 'hook'"
        )).await;
        let elsewhere = id("elsewhere", 2).await;
        world.execute(&format!(
            "insert into aftercommit.settled (outbox_id, destination, state, reason, attempts, key_epoch)
             values ({elsewhere}, 'crm', 'delivered', 'accepted', 1, 0)"
        )).await;
        let unguarded = id("unguarded", 1).await;
        world.execute(&format!("update aftercommit.owed set guarded = true where outbox_id <> {unguarded}")).await;

        let mut old = vec![];
        for key in ["unguarded", "dead", "elsewhere", "owed"] {
            old.push(id(key, 1).await);
        }
        old.sort_unstable();
        let mut overtaken = [id("delivered", 1).await, id("arrived", 1).await];
        overtaken.sort_unstable();
        let attempts: Vec<(i64, u32)> = old.iter().chain(&overtaken).map(|id| (*id, 1)).collect();
        let draft = under(&lease).begin(1, &attempts);
        for _ in 0..2 {
            let recorded = draft.clone().commit(&world.store).await;
            assert_eq!((recorded.begun, recorded.overtaken), (old.clone(), overtaken.to_vec()));
        }
        let entries = "select sum(json_array_length(entries)) from aftercommit.dispatch";
        assert_eq!(world.number(entries).await, 4, "what is not begun is not on record");
        under(&lease).end(overtaken[0], 0, Reason::NewerVersion).commit(&world.store).await;
        assert_eq!(world.state(overtaken[0]).await, "superseded newer_version");
    }

    async fn what_is_to_be_cancelled_is_not_begun(backend: Backend) {
        let world = World::routed(backend).await;
        world.commit_many(2).await;
        let lease = world.lease(relay(1)).await;
        world.execute("update aftercommit.owed set cancel_at = now() where outbox_id = 1").await;
        let recorded = under(&lease).begin(1, &[(1, 1), (2, 1)]).commit(&world.store).await;
        assert_eq!(recorded.begun, [2]);
        under(&lease).end(1, 0, Reason::Operator).commit(&world.store).await;
        assert_eq!(world.state(1).await, "cancelled operator");
        assert_eq!(world.outcomes(1).await, "", "it was never attempted");
    }

    async fn a_paused_destination_begins_nothing_and_settles_all(backend: Backend) {
        let world = World::routed(backend).await;
        world.commit_many(2).await;
        let lease = world.lease(relay(1)).await;
        world.store.pause("hook", "relay", "gone").await.unwrap();
        let recorded = under(&lease).begin(1, &[(1, 1)]).success(2, 1).commit(&world.store).await;
        assert!(recorded.paused && recorded.leased && recorded.begun.is_empty());
        assert_eq!(world.number(DISPATCHES).await, 0, "nothing is in flight, so nothing says so");
        assert_eq!(world.state(2).await, "delivered accepted");
    }

    async fn a_newer_version_supersedes_what_was_uncertain(backend: Backend) {
        let world = World::routed(backend).await;
        world.commit_many(2).await;
        let lease = world.lease(relay(1)).await;
        under(&lease).uncertain(1, 1).success(2, 1).commit(&world.store).await;
        let uncertain = world.store.uncertain(&lease.shard).await.unwrap();
        assert_eq!(uncertain.len(), 1);
        assert_eq!((uncertain[0].outbox_id, &*uncertain[0].row.row_key), (1, "0000000"));

        under(&lease).supersede_uncertain(1).supersede_uncertain(2).commit(&world.store).await;
        assert_eq!(world.state(1).await, "superseded newer_version");
        assert_eq!(world.state(2).await, "delivered accepted");
        assert!(world.store.uncertain(&lease.shard).await.unwrap().is_empty());
    }

    async fn a_record_that_is_repeated_changes_nothing_and_says_the_same(backend: Backend) {
        let world = World::routed(backend).await;
        world.commit_many(6).await;
        let lease = world.lease(relay(1)).await;
        under(&lease).begin(1, &[(1, 1), (2, 1), (3, 1)]).commit(&world.store).await;
        let draft = under(&lease)
            .begin(2, &[(4, 1), (5, 1)])
            .success(1, 1)
            .throttled(2, 1)
            .refused(3, 1)
            .end(6, 0, Reason::NotCanonical)
            .finish(1);
        let first = draft.clone().commit(&world.store).await;
        let everything = everything(backend);
        let after_first = world.text(everything).await;

        let second = draft.commit(&world.store).await;
        assert_eq!((&second.begun, second.leased, second.paused), (&first.begun, first.leased, first.paused));
        assert_eq!(first.begun, [4, 5]);
        assert_eq!(world.text(everything).await, after_first);
    }

    async fn an_answer_that_no_text_can_hold_does_not_keep_the_outcome_off_the_record(backend: Backend) {
        let world = World::routed(backend).await;
        world.commit_many(1).await;
        let lease = world.lease(relay(1)).await;
        under(&lease).answered(1, 1, "nul \0, quote ', backslash \\, \u{1f980}").commit(&world.store).await;
        let excerpt = world.text("select detail || excerpt from aftercommit.attempt").await.unwrap();
        assert_eq!(excerpt, "nul \u{fffd}, quote ', backslash \\, \u{1f980}".repeat(2));
    }

    async fn an_empty_record_tells_whether_the_lease_is_held(backend: Backend) {
        let world = World::routed(backend).await;
        let lease = world.lease(relay(1)).await;
        assert!(under(&lease).commit(&world.store).await.leased);
        world.take_from(relay(1), relay(2)).await;
        assert!(!under(&lease).commit(&world.store).await.leased);
    }
}

/// All that a record may write, as one text.
fn everything(backend: Backend) -> &'static str {
    match backend {
        Backend::Postgres => {
            "select concat(
                (select string_agg(owed::text, ';' order by outbox_id) from aftercommit.owed),
                (select string_agg(settled::text, ';' order by outbox_id) from aftercommit.settled),
                (select string_agg(attempt::text, ';' order by outbox_id, number) from aftercommit.attempt),
                (select string_agg(dispatch::text, ';' order by sequence) from aftercommit.dispatch))"
        }
        Backend::Sqlite => {
            "select (select group_concat(outbox_id || ' ' || attempts || ' ' || excused || ' ' || due_at, ';') from owed)
                || (select group_concat(outbox_id || state || at || attempts, ';') from settled)
                || (select group_concat(outbox_id || outcome || number, ';') from attempt)
                || (select group_concat(sequence || entries, ';') from dispatch)"
        }
    }
}
