//! What batches do to the records of a portal, and which record an id stands for.

use serde_json::{Value, json};

use super::world::{Portal, by_email};

const BATCH: &str = "/crm/v3/objects/contacts/batch";
const UPSERT: &str = "/crm/v3/objects/contacts/batch/upsert";

/// An input that goes by the property `external_id`.
fn by_external_id(id: &str, trace: &str, properties: &Value) -> Value {
    json!({
        "id": id,
        "idProperty": "external_id",
        "properties": properties,
        "objectWriteTraceId": trace,
    })
}

fn inputs(inputs: &[Value]) -> Value {
    json!({ "inputs": inputs })
}

#[test]
fn a_batch_without_errors_has_neither_errors_nor_their_number() {
    let mut portal = Portal::new();
    let batch = inputs(&[
        by_external_id("1", "t1", &json!({})),
        by_external_id("2", "t2", &json!({})),
    ]);
    for new in [true, false] {
        let reply = portal.post(UPSERT, &batch);
        assert_eq!(reply.status, 200);
        let body = reply.json();
        assert!(
            body.get("errors").is_none() && body.get("numErrors").is_none(),
            "{body}"
        );
        assert_eq!(body["results"][1]["new"], new);
        assert_eq!(body["results"][1]["objectWriteTraceId"], "t2");
    }
    assert_eq!(
        portal.contacts(),
        [json!({ "external_id": "1" }), json!({ "external_id": "2" })]
    );
}

#[test]
fn one_bad_input_refuses_a_batch_whose_inputs_have_no_traces_of_their_own() {
    let good = by_email("a@b.co", "t1", &json!({}));
    let bad = by_email(
        "c@b.co",
        "t1",
        &json!({ "lifetime_value": "banana", "naem": "x" }),
    );
    let mut untraced = [good.clone(), bad.clone()];
    for input in &mut untraced {
        input.as_object_mut().unwrap().remove("objectWriteTraceId");
    }
    for batch in [inputs(&[good, bad]), inputs(&untraced)] {
        let mut portal = Portal::new();
        let reply = portal.post(UPSERT, &batch);
        assert_eq!(reply.status, 400);
        let errors = reply.json()["errors"].as_array().unwrap().clone();
        let codes: Vec<&str> = errors
            .iter()
            .map(|error| error["code"].as_str().unwrap())
            .collect();
        assert_eq!(codes, ["INVALID_INTEGER", "PROPERTY_DOESNT_EXIST"]);
        assert_eq!(portal.contacts(), [] as [Value; 0]);
    }
}

#[test]
fn a_unique_value_of_another_record_refuses_the_whole_batch_even_with_traces() {
    let mut portal = Portal::new();
    portal.contact(&json!({ "email": "a@b.co", "external_id": "1" }));
    let before = portal.contacts();
    let reply = portal.post(
        UPSERT,
        &inputs(&[
            by_external_id("2", "t2", &json!({ "email": "new@b.co" })),
            by_external_id("3", "t3", &json!({ "email": "a@b.co" })),
        ]),
    );
    assert_eq!(reply.status, 409);
    assert_eq!(reply.json()["category"], "CONFLICT");
    assert_eq!(portal.contacts(), before, "nothing of it may be written");
    let reply = portal.post(
        UPSERT,
        &inputs(&[by_email("b@b.co", "t", &json!({ "external_id": "1" }))]),
    );
    assert_eq!(reply.status, 409);
    assert!(reply.text.contains("already has that value"), "{}", reply.text);
}

#[test]
fn two_inputs_of_one_batch_cannot_take_the_same_unique_value() {
    let mut portal = Portal::new();
    let reply = portal.post(
        UPSERT,
        &inputs(&[
            by_external_id("1", "t1", &json!({ "email": "a@b.co" })),
            by_external_id("2", "t2", &json!({ "email": "A@b.co" })),
        ]),
    );
    assert_eq!(reply.status, 409);
    assert_eq!(portal.contacts(), [] as [Value; 0]);
}

#[test]
fn a_contact_is_known_by_all_its_addresses_and_keeps_its_first() {
    let mut portal = Portal::new();
    let id = portal.contact(&json!({ "email": "Ann@B.co", "hs_additional_emails": "ann@home.org;Lee@b.co" }));
    let reply = portal.post(
        UPSERT,
        &inputs(&[by_email("LEE@B.CO", "t1", &json!({ "firstname": "Ann" }))]),
    );
    let result = reply.json()["results"][0].clone();
    assert_eq!(result["id"], id.as_str());
    assert_eq!(result["new"], false);
    assert_eq!(
        result["properties"]["email"], "ann@b.co",
        "the address of the answer differs from that of the call"
    );
    assert_eq!(result["properties"]["firstname"], "Ann");
    let mine = json!({ "properties": { "email": "ann@home.org" } });
    assert_eq!(portal.post("/crm/v3/objects/contacts", &mine).status, 409);
}

#[test]
fn two_addresses_of_one_contact_in_a_batch_give_one_result() {
    let mut portal = Portal::new();
    portal.contact(&json!({ "email": "a@b.co", "hs_additional_emails": "c@d.co" }));
    let reply = portal.post(
        UPSERT,
        &inputs(&[
            by_email("a@b.co", "t1", &json!({ "city": "Ulm" })),
            by_email("c@d.co", "t2", &json!({ "zip": "89073" })),
        ]),
    );
    assert_eq!((reply.status, reply.traces()), (200, (vec!["t1".into()], vec![])));
    assert_eq!(portal.contacts()[0]["zip"], "89073");
}

#[test]
fn an_address_that_is_not_repeated_among_the_properties_is_no_upsert() {
    let mut portal = Portal::new();
    let input = json!({ "id": "a@b.co", "idProperty": "email", "properties": { "city": "Ulm" } });
    let reply = portal.post(UPSERT, &inputs(&[input]));
    assert_eq!(reply.status, 400);
    assert!(
        reply.text.contains("Partial upserts are not supported"),
        "{}",
        reply.text
    );
}

#[test]
fn an_id_that_was_merged_is_missing_from_a_batch_without_any_error() {
    let mut portal = Portal::new();
    let kept = portal.contact(&json!({ "email": "a@b.co" }));
    let gone = portal.contact(&json!({ "email": "old@b.co", "city": "Ulm" }));
    let merge = json!({ "primaryObjectId": kept, "objectIdToMerge": gone });
    assert_eq!(portal.post("/crm/v3/objects/contacts/merge", &merge).status, 200);

    let update = |id: &str, trace: &str| json!({ "id": id, "properties": { "zip": "89073" }, "objectWriteTraceId": trace });
    let reply = portal.post(
        &format!("{BATCH}/update"),
        &inputs(&[update(&gone, "t1"), update(&kept, "t2")]),
    );
    assert_eq!((reply.status, reply.traces()), (200, (vec!["t2".into()], vec![])));
    assert_eq!(reply.json()["status"], "COMPLETE");

    let single = portal.send(
        "PATCH",
        &format!("/crm/v3/objects/contacts/{gone}"),
        json!({ "properties": { "zip": "1" } }).to_string(),
    );
    assert_eq!(single.json()["id"], kept.as_str(), "the canonical id is another");
    assert_eq!(
        portal.contacts(),
        [json!({ "email": "a@b.co", "city": "Ulm", "zip": "1", "hs_additional_emails": "old@b.co" })]
    );
}

#[test]
fn an_update_of_an_id_that_stands_for_nothing_is_an_error_of_its_own() {
    let mut portal = Portal::new();
    let id = portal.contact(&json!({ "email": "a@b.co" }));
    let update = |id: &str, trace: &str| json!({ "id": id, "properties": {}, "objectWriteTraceId": trace });
    let reply = portal.post(
        &format!("{BATCH}/update"),
        &inputs(&[update("5", "t1"), update(&id, "t2")]),
    );
    assert_eq!(
        (reply.status, reply.traces()),
        (207, (vec!["t2".into()], vec!["t1".into()]))
    );
    assert_eq!(reply.json()["errors"][0]["category"], "OBJECT_NOT_FOUND");
    let own = json!({ "id": id, "idProperty": "hs_object_id", "properties": {} });
    let reply = portal.post(&format!("{BATCH}/update"), &inputs(&[own]));
    assert!(
        reply.text.contains("non-unique 0-1 property hs_object_id"),
        "{}",
        reply.text
    );
}

#[test]
fn an_empty_text_clears_and_null_leaves() {
    let mut portal = Portal::new();
    portal.contact(&json!({ "external_id": "1", "city": "Ulm", "zip": "89073", "phone": "1" }));
    let change = json!({ "city": "", "zip": null });
    assert_eq!(
        portal
            .post(UPSERT, &inputs(&[by_external_id("1", "t", &change)]))
            .status,
        200
    );
    assert_eq!(
        portal.contacts(),
        [json!({ "external_id": "1", "zip": "89073", "phone": "1" })]
    );
}

#[test]
fn a_batch_takes_a_hundred_inputs_and_no_more() {
    let mut portal = Portal::new();
    let many = |count: usize| {
        let input = |number: usize| by_external_id(&number.to_string(), &format!("t{number}"), &json!({}));
        inputs(&(0..count).map(input).collect::<Vec<_>>())
    };
    assert_eq!(portal.post(UPSERT, &many(100)).status, 200);
    for count in [0, 101] {
        assert_eq!(portal.post(UPSERT, &many(count)).status, 400);
    }
    assert_eq!(portal.contacts().len(), 100);
}

#[test]
fn records_are_created_read_and_archived_in_batches() {
    let mut portal = Portal::new();
    let people = [
        json!({ "properties": { "email": "a@b.co", "city": "Ulm" } }),
        json!({ "properties": { "email": "c@d.co" } }),
    ];
    let created = portal.post(&format!("{BATCH}/create"), &inputs(&people));
    assert_eq!(created.status, 201);
    let read = json!({
        "idProperty": "email",
        "properties": ["city"],
        "inputs": [{ "id": "A@B.co" }, { "id": "nobody@b.co" }],
    });
    let read = portal.post(&format!("{BATCH}/read"), &read);
    assert_eq!(read.status, 207);
    let body = read.json();
    assert_eq!(body["results"][0]["properties"]["city"], "Ulm");
    assert_eq!(body["errors"][0]["context"]["ids"], json!(["nobody@b.co"]));
    assert_eq!(
        body["errors"][0]["message"],
        "Could not get some CONTACT objects, they may be deleted or not exist. Check that ids are valid."
    );
    let id = created.json()["results"][0]["id"].clone();
    let archive = inputs(&[json!({ "id": id }), json!({ "id": "5" })]);
    for _ in 0..2 {
        assert_eq!(portal.post(&format!("{BATCH}/archive"), &archive).status, 204);
    }
    assert_eq!(portal.contacts(), [json!({ "email": "c@d.co" })]);
    let again = portal.post(UPSERT, &inputs(&[by_email("a@b.co", "t", &json!({}))]));
    assert_eq!(
        again.json()["results"][0]["new"],
        true,
        "an archived address is free again"
    );
}

#[test]
fn the_dated_paths_are_the_same_calls() {
    let mut portal = Portal::new();
    let batch = inputs(&[by_email("a@b.co", "t", &json!({}))]);
    assert_eq!(
        portal
            .post("/crm/objects/2026-03/contacts/batch/upsert", &batch)
            .status,
        200
    );
    assert_eq!(
        portal.post("/crm/v3/objects/0-1/batch/upsert", &batch).json()["results"][0]["new"],
        false
    );
    assert_eq!(
        portal.get("/crm/properties/2026-03/contacts/email").json()["hasUniqueValue"],
        true
    );
    assert_eq!(portal.get("/crm/v3/objects/unicorns").status, 400);
    assert_eq!(portal.get("/crm/v4/objects/contacts").status, 404);
    assert_eq!(portal.send("PUT", "/crm/v3/objects/contacts", "").status, 405);
}
