//! Bodies that were recorded from real portals, and those that HubSpot documents: the mock answers the same. A `…`
//! stands for what differs each time.

use serde_json::json;

use super::world::{Portal, by_email};

const UPSERT: &str = "/crm/v3/objects/contacts/batch/upsert";

#[test]
fn a_batch_that_succeeds_in_part() {
    let mut portal = Portal::new();
    let inputs = [
        by_email("a@b.co", "t1", &json!({})),
        by_email("not-an-email", "t2", &json!({})),
    ];
    portal.post(UPSERT, &json!({ "inputs": inputs })).is(
        207,
        &json!({
            "completedAt": "…Z",
            "status": "COMPLETE",
            "startedAt": "…Z",
            "results": [{
                "id": "…",
                "properties": {
                    "createdate": "2026-06-24T18:05:37.123Z",
                    "email": "a@b.co",
                    "hs_object_id": "…",
                    "lastmodifieddate": "2026-06-24T18:05:37.123Z",
                    "hs_object_source": "INTEGRATION",
                },
                "createdAt": "2026-06-24T18:05:37.123Z",
                "updatedAt": "2026-06-24T18:05:37.123Z",
                "archived": false,
                "objectWriteTraceId": "t1",
                "url": "https://app.hubspot.com/contacts/1/record/0-1/…",
                "new": true,
            }],
            "errors": [{
                "status": "error",
                "category": "VALIDATION_ERROR",
                "message": "Property values were not valid: [{\"isValid\":false,\"message\":\"Email address \
                            not-an-email is invalid\",\"error\":\"INVALID_EMAIL\",\"name\":\"email\"}]",
                "context": { "objectWriteTraceId": ["t2"] },
            }],
            "numErrors": 1,
        }),
    );
}

#[test]
fn a_single_record_with_a_bad_value() {
    let body = json!({ "properties": { "email": "not-an-email" } });
    Portal::new().post("/crm/v3/objects/contacts", &body).is(
        400,
        &json!({
            "status": "error",
            "message": "Property values were not valid: […]",
            "correlationId": "…",
            "errors": [{
                "message": "Email address not-an-email is invalid",
                "code": "INVALID_EMAIL",
                "context": { "propertyName": ["email"] },
            }],
            "category": "VALIDATION_ERROR",
        }),
    );
}

#[test]
fn a_property_that_does_not_exist_and_one_that_is_the_systems() {
    let mut portal = Portal::new();
    for (property, code, sentence) in [
        (
            "naem",
            "PROPERTY_DOESNT_EXIST",
            "Property \"naem\" does not exist",
        ),
        (
            "hs_object_id",
            "READ_ONLY_VALUE",
            "\"hs_object_id\" is a read only property; its value cannot be set.",
        ),
    ] {
        let body = json!({ "properties": { property: "1" } });
        let error = portal.post("/crm/v3/objects/contacts", &body).json()["errors"][0].clone();
        let recorded = json!({
            "message": sentence,
            "code": code,
            "context": { "propertyName": [property] },
        });
        assert_eq!(error, recorded);
    }
}

#[test]
fn an_id_property_that_is_not_unique() {
    let inputs = json!([{ "id": "b.co", "idProperty": "domain", "properties": { "domain": "b.co" } }]);
    let body = json!({ "inputs": inputs });
    Portal::new()
        .post("/crm/v3/objects/companies/batch/upsert", &body)
        .is(
            400,
            &json!({
                "status": "error",
                "message": "Unable to perform update/upsert by non-unique 0-2 property domain in portal ID 1",
                "correlationId": "…",
                "category": "VALIDATION_ERROR",
            }),
        );
}

#[test]
fn an_id_that_stands_twice_in_a_batch() {
    let input = json!({ "id": "12877907025", "properties": { "firstname": "A" } });
    let body = json!({ "inputs": [input, input] });
    Portal::new()
        .post("/crm/v3/objects/contacts/batch/update", &body)
        .is(
            400,
            &json!({
                "status": "error",
                "message": "Duplicate IDs found in batch input: [12877907025]. IDs must be unique",
                "correlationId": "…",
                "context": { "ids": ["12877907025"] },
                "category": "VALIDATION_ERROR",
            }),
        );
}

#[test]
fn a_body_that_is_no_json() {
    let body = "{\n  \"inputs\":\n      [ ,]}";
    Portal::new().send("POST", UPSERT, body).is(
        400,
        &json!({
            "status": "error",
            "message": "Invalid input JSON on line 3, column 9: …",
            "correlationId": "…",
            "category": "VALIDATION_ERROR",
        }),
    );
}

#[test]
fn a_contact_whose_address_belongs_to_another() {
    let mut portal = Portal::new();
    let id = portal.contact(&json!({ "email": "a@b.co" }));
    let body = json!({ "properties": { "email": "A@B.co" } });
    portal.post("/crm/v3/objects/contacts", &body).is(
        409,
        &json!({
            "status": "error",
            "message": format!("Contact already exists. Existing ID: {id}"),
            "correlationId": "…",
            "category": "CONFLICT",
        }),
    );
}

#[test]
fn a_record_that_is_not_there() {
    let mut portal = Portal::new();
    for (method, body) in [("GET", ""), ("PATCH", "{}"), ("DELETE", "")] {
        portal.send(method, "/crm/v3/objects/contacts/5", body).is(
            404,
            &json!({
                "status": "error",
                "message": "resource not found",
                "correlationId": "…",
                "category": "OBJECT_NOT_FOUND",
            }),
        );
    }
}

#[test]
fn each_of_the_three_limits() {
    let mut portal = Portal::new();
    portal.arm("ten-secondly:1,secondly:1,daily:1");
    for (policy, limit) in [
        ("TEN_SECONDLY_ROLLING", "ten_secondly_rolling"),
        ("SECONDLY", "secondly"),
        ("DAILY", "daily"),
    ] {
        portal.get("/crm/v3/objects/contacts").is(
            429,
            &json!({
                "status": "error",
                "message": format!("You have reached your {limit} limit."),
                "errorType": "RATE_LIMIT",
                "correlationId": "…",
                "policyName": policy,
                "groupName": "publicapi:private-apps:oauth-…",
            }),
        );
    }
}

#[test]
fn a_token_that_may_not_do_it() {
    let mut portal = Portal::new();
    portal
        .hubspot
        .set_scopes(vec!["crm.objects.contacts.read".into()]);
    assert_eq!(portal.get("/crm/v3/objects/contacts").status, 200);
    let body = json!({ "properties": {} });
    portal.post("/crm/v3/objects/contacts", &body).is(
        403,
        &json!({
            "status": "error",
            "message": "This app hasn't been granted all required scopes to make this call. …",
            "correlationId": "…",
            "errors": [{
                "message": "One or more of the following scopes are required.",
                "context": {
                    "missingScopes": ["crm.objects.contacts.write"],
                    "requiredGranularScopes": ["crm.objects.contacts.write"],
                },
            }],
            "links": { "scopes": "https://developers.hubspot.com/scopes" },
            "category": "MISSING_SCOPES",
        }),
    );
}
