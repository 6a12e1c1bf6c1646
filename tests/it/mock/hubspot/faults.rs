//! The faults of HubSpot's own: what each answers, and what it leaves in the records.

use aftercommit::mock::crm::Crm as _;
use serde_json::{Value, json};

use super::world::{Portal, Reply, by_email};

const UPSERT: &str = "/crm/v3/objects/contacts/batch/upsert";

/// Upserts three contacts, a, b and c, with their letters as trace ids.
fn upsert(portal: &mut Portal) -> Reply {
    let input = |name: &&str| by_email(&format!("{name}@b.co"), name, &json!({}));
    let inputs: Vec<Value> = ["a", "b", "c"].iter().map(input).collect();
    portal.post(UPSERT, &json!({ "inputs": inputs }))
}

#[test]
fn a_fault_that_meets_a_request_refuses_it_and_writes_nothing() {
    for (fault, status, category) in [
        ("locked", 423, json!("RESOURCE_LOCKED")),
        ("migrating", 477, json!("MIGRATION_IN_PROGRESS")),
        ("expired-token", 401, json!("EXPIRED_AUTHENTICATION")),
        ("bad-token", 401, json!("INVALID_AUTHENTICATION")),
        ("missing-scopes", 403, json!("MISSING_SCOPES")),
        ("conflict", 409, json!("CONFLICT")),
        ("server-error", 500, Value::Null),
    ] {
        let mut portal = Portal::new();
        portal.arm(&format!("{fault}:1"));
        let reply = upsert(&mut portal);
        assert_eq!(
            (reply.status, &reply.json()["category"]),
            (status, &category),
            "{fault}"
        );
        assert!(reply.header("x-hubspot-correlation-id").is_some(), "{fault}");
        assert_eq!(reply.header("retry-after").is_some(), fault == "migrating");
        assert_eq!(portal.contacts(), [] as [Value; 0], "{fault}");
        assert_eq!(upsert(&mut portal).status, 200, "{fault}");
    }
}

#[test]
fn a_proxy_in_front_of_hubspot_answers_with_a_page() {
    let mut portal = Portal::new();
    portal.arm("page:1");
    let reply = upsert(&mut portal);
    assert_eq!(reply.status, 502);
    assert!(reply.text.starts_with("<!DOCTYPE html>"), "{}", reply.text);
    assert_eq!(portal.hubspot.failure(524).status, 524);
    assert!(portal.hubspot.failure(524).body.starts_with(b"<!DOCTYPE html>"));
}

#[test]
fn a_record_can_be_missing_from_an_answer_written_or_not() {
    let mut portal = Portal::new();
    portal.arm("omit:1@email=a@b.co");
    assert_eq!(upsert(&mut portal).traces().0, ["b", "c"]);
    assert_eq!(portal.contacts().len(), 2);
    portal.arm("omit-written:1@email=a@b.co");
    assert_eq!(upsert(&mut portal).traces().0, ["b", "c"]);
    assert_eq!(portal.contacts().len(), 3);
}

#[test]
fn a_success_can_say_nothing_of_any_input() {
    let mut portal = Portal::new();
    portal.arm("empty:1");
    let reply = upsert(&mut portal);
    assert_eq!(reply.status, 200);
    assert_eq!(
        reply.json(),
        json!({ "status": "COMPLETE", "results": [], "errors": [] })
    );
}

#[test]
fn one_record_can_be_refused_alone_or_refuse_all() {
    let mut portal = Portal::new();
    portal.arm("invalid:1@email=b@b.co,taken:2@email=c@b.co");
    assert_eq!(
        upsert(&mut portal).status,
        409,
        "c is taken, and with it all are refused"
    );
    assert_eq!(portal.contacts(), [] as [Value; 0]);
    let one = json!({ "inputs": [by_email("c@b.co", "c", &json!({}))] });
    assert_eq!(portal.post(UPSERT, &one).status, 409);
    portal.arm("invalid:1@id=b@b.co");
    let reply = upsert(&mut portal);
    assert_eq!(reply.status, 207);
    assert_eq!(reply.traces(), (vec!["a".into(), "c".into()], vec!["b".into()]));
}

#[test]
fn a_fault_waits_for_a_request_that_it_can_happen_to() {
    let mut portal = Portal::new();
    portal.arm("expired-token:1,empty:1");
    let form = "grant_type=refresh_token";
    assert_eq!(portal.send("POST", "/oauth/v1/token", form).status, 400);
    assert_eq!(portal.get("/crm/v3/objects/contacts").status, 401);
    assert_eq!(portal.get("/crm/v3/objects/contacts").status, 200);
    assert_eq!(upsert(&mut portal).json()["results"], json!([]));
    portal.arm("ten-secondly:1");
    assert_eq!(portal.send("POST", "/oauth/v1/token", form).status, 429);
}

#[test]
fn a_reset_forgets_records_tokens_and_counts() {
    let mut portal = Portal::with(|options| options.limits.daily = 1);
    upsert(&mut portal);
    assert_eq!(upsert(&mut portal).status, 429);
    portal.hubspot.reset();
    assert_eq!(portal.contacts(), [] as [Value; 0]);
    assert_eq!(upsert(&mut portal).json()["results"][0]["new"], true);
}
