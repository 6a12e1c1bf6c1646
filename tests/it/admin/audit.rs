//! The audit: every change is on it once, with who, from where and why, and can be found again.

use std::collections::BTreeSet;

use aftercommit::core::delivery::Reason;
use aftercommit::store::admin::{AuditFilter, PageSize, Role};
use serde_json::json;

use super::access::token;
use super::client::Client;
use super::destinations;
use super::openapi::{Operation, document};
use super::world::{Backend, World, on_both};

/// Each operation that changes something: where, with which body, and what the audit says of it. In an order in which each has
/// something to change.
const CHANGES: [(&str, &str, &str, &str); 15] = [
    (
        "cancel_delivery",
        "/v1/deliveries/1/crm/cancel",
        BECAUSE,
        "cancel: delivery 1 to crm",
    ),
    (
        "cancel_deliveries",
        "/v1/deliveries/cancel",
        r#"{"ids": [{"outbox_id": 2, "destination": "crm"}], "reason": "it is the test"}"#,
        "cancel: delivery 2 to crm",
    ),
    (
        "retry_delivery_now",
        "/v1/deliveries/3/crm/retry-now",
        BECAUSE,
        "retry-now: delivery 3 to crm",
    ),
    (
        "retry_deliveries_now",
        "/v1/deliveries/retry-now",
        r#"{"filter": {"destination": "crm"}, "reason": "it is the test"}"#,
        "retry-now: delivery 4 to crm",
    ),
    (
        "mark_delivery_delivered",
        "/v1/deliveries/1/hook/mark-delivered",
        EVIDENT,
        "mark-delivered: delivery 1 to hook",
    ),
    (
        "mark_deliveries_delivered",
        "/v1/deliveries/mark-delivered",
        r#"{"ids": [{"outbox_id": 2, "destination": "hook"}], "reason": "it is the test", "evidence": "a log"}"#,
        "mark-delivered: delivery 2 to hook",
    ),
    (
        "skip_head",
        "/v1/deliveries/6/crm/skip-head",
        r#"{"head": 5, "reason": "it is the test"}"#,
        "skip-head: delivery 5 to crm",
    ),
    (
        "pause_destination",
        "/v1/destinations/crm/pause",
        BECAUSE,
        "pause: crm",
    ),
    (
        "resume_destination",
        "/v1/destinations/crm/resume",
        BECAUSE,
        "resume: crm",
    ),
    (
        "test_destination",
        "/v1/destinations/hook/test",
        BECAUSE,
        "test: hook",
    ),
    (
        "create_replay",
        "/v1/replays",
        r#"{"filter": {"states": ["dead"]}, "reason": "it is the test"}"#,
        "replay: replay 1",
    ),
    ("pause_replay", "/v1/replays/1/pause", BECAUSE, "pause: replay 1"),
    (
        "resume_replay",
        "/v1/replays/1/resume",
        BECAUSE,
        "resume: replay 1",
    ),
    (
        "cancel_replay",
        "/v1/replays/1/cancel",
        BECAUSE,
        "cancel: replay 1",
    ),
    (
        "enqueue_rows",
        "/v1/outbox?topic=orders&key=id",
        r#"[{"id": 99}]"#,
        "enqueue: 1 of 1 rows",
    ),
];
const BECAUSE: &str = r#"{"reason": "it is the test"}"#;
const EVIDENT: &str = r#"{"reason": "it is the test", "evidence": "a log"}"#;

on_both! {
    async fn every_change_is_on_record_once_with_who_from_where_and_why(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 4).await;
        world.settle("hook", "true", Reason::Refused).await;
        let hour = match backend { Backend::Postgres => "now() + interval '1 hour'", Backend::Sqlite => "now() + 3600000000" };
        world.execute(&format!("update aftercommit.owed set due_at = {hour} where outbox_id in (3, 4)")).await;
        // The second one waits behind the first.
        world.execute("insert into aftercommit.outbox (topic, row_key, row_version, op, payload)
            values ('orders', 'same', 1, 'event', '{}'), ('orders', 'same', 2, 'event', '{}')").await;
        let client = destinations::client(&world, &destinations::config(destinations::NOBODY, "")).await;
        let ada = token(&world, "ada", Role::Operator, 1).await;
        let operations = Operation::all(&document(&client).await).into_iter();
        let changing: BTreeSet<String> = operations.filter(|operation| operation.method != "GET").map(|operation| operation.id()).collect();
        let tried: BTreeSet<String> = CHANGES.iter().map(|(id, ..)| (*id).to_owned()).collect();
        assert_eq!(tried, changing, "say in CHANGES how each operation changes something");
        for (number, (id, path, body, entry)) in CHANGES.into_iter().enumerate() {
            let done = client.send_as(&ada, "POST", path, body).await;
            assert!((200..300).contains(&done.status), "{id}: {done:?}");
            let count = i64::try_from(number + 2).unwrap();
            assert_eq!(world.number("select count(*) from aftercommit.audit").await, count, "{id}");
            let last = client.get("/v1/audit?limit=1").await.json()["entries"][0].clone();
            let said = format!("{}: {}", last["action"].as_str().unwrap(), last["subject"].as_str().unwrap());
            assert_eq!(said, entry, "{id}");
            assert_eq!((&last["actor"], &last["origin"]), (&json!("ada"), &json!("127.0.0.1")), "{id}");
            // Rows say themselves why they came.
            let why = if id == "enqueue_rows" { json!(null) } else { json!("it is the test") };
            assert_eq!(last["reason"], why, "{id}");
        }
    }

    async fn the_audit_is_read_page_by_page_and_by_filters(backend: Backend) {
        let world = World::new(backend).await;
        let client = Client::of(&world).await;
        world.execute(
            "insert into aftercommit.audit (actor, origin, action, subject, reason)
             with recursive number (i) as (select 1 union all select i + 1 from number where i < 12)
             select case when i % 3 = 0 then 'ada' else 'bob' end, '192.0.2.7', case when i % 2 = 0 then 'pause' else 'resume' end,
                 case when i < 7 then 'crm' else 'delivery 5 to hook' end, 'number ' || i
             from number order by i"
        ).await;
        let (mut path, mut seen) = ("/v1/audit?limit=5".to_owned(), vec![]);
        loop {
            let page = client.get(&path).await.json();
            seen.extend(page["entries"].as_array().unwrap().iter().map(|entry| entry["id"].as_i64().unwrap()));
            let Some(next) = page["next"].as_i64() else { break };
            path = format!("/v1/audit?limit=5&after={next}");
        }
        assert!(seen.iter().copied().eq((1..=12).rev()), "{seen:?}");
        for (filter, found) in [
            ("actor=ada", vec![12, 9, 6, 3]),
            ("action=resume&actor=ada", vec![9, 3]),
            ("subject=hook", vec![12, 11, 10, 9, 8, 7]),
            ("subject=crm&action=pause", vec![6, 4, 2]),
            ("subject=%25", vec![]),
            ("after=1", vec![]),
        ] {
            let page = client.get(&format!("/v1/audit?{filter}")).await.json();
            let ids: Vec<i64> = page["entries"].as_array().unwrap().iter().map(|entry| entry["id"].as_i64().unwrap()).collect();
            assert_eq!(ids, found, "{filter}");
            assert_eq!(page["next"], json!(null), "{filter}");
        }
    }

    async fn a_filter_that_matches_seldom_finds_what_lies_far_back(backend: Backend) {
        let world = World::new(backend).await;
        world.execute(
            "insert into aftercommit.audit (actor, origin, action, subject)
             with recursive number (i) as (select 1 union all select i + 1 from number where i < 20002)
             select case when i = 2 then 'ada' else 'bob' end, 'here', 'enqueue', '1 of 1 rows' from number order by i"
        ).await;
        let filter = AuditFilter { actor: Some("ada".to_owned()), ..AuditFilter::default() };
        let first = world.admin.audit(&filter, None, PageSize::default()).await.unwrap();
        assert_eq!((first.entries.len(), first.next), (0, Some(3)));
        let second = world.admin.audit(&filter, first.next, PageSize::default()).await.unwrap();
        assert_eq!((second.entries[0].id, second.entries.len(), second.next), (2, 1, None));
    }
}
