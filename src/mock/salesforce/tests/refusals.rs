//! Faults that are armed: each code that a client must tell apart.

use serde_json::json;

use super::*;

const ONE: &str = "sobjects/Account/Ext__c/a-1";

#[test]
fn a_request_meets_the_fault_that_is_armed_once() {
    let mut desk = Desk::new();
    let cases = [
        ("request-limit", 403, "REQUEST_LIMIT_EXCEEDED"),
        ("long-request-limit", 403, "REQUEST_LIMIT_EXCEEDED"),
        ("concurrent-limit", 403, "CONCURRENT_REQUESTS_LIMIT_EXCEEDED"),
        ("invalid-session", 401, "INVALID_SESSION_ID"),
        ("insufficient-access", 403, "INSUFFICIENT_ACCESS"),
        ("api-disabled", 403, "API_DISABLED_FOR_ORG"),
        ("storage-limit", 403, "STORAGE_LIMIT_EXCEEDED"),
        ("server-unavailable", 503, "SERVER_UNAVAILABLE"),
    ];
    for (fault, status, code) in cases {
        desk.arm(&format!("{fault}:1"));
        let told = desk.data("PATCH", ONE, r#"{"Name":"x"}"#);
        assert_eq!(
            (told.status, &told.body[0]["errorCode"]),
            (status, &json!(code)),
            "{fault}"
        );
    }
    assert_eq!(
        desk.data("PATCH", ONE, r#"{"Name":"x"}"#).status,
        201,
        "none of them has processed it"
    );
    desk.arm("several-match:1");
    let told = desk.data("PATCH", ONE, "{}");
    let at = |end: &str| format!("/services/data/v62.0/{ONE}/{end}");
    assert_eq!((told.status, told.body), (300, json!([at("aaa"), at("bbb")])));
}

#[test]
fn maintenance_is_a_page_for_people() {
    let mut desk = Desk::new();
    desk.arm("maintenance:1");
    let told = desk.data("GET", "limits", "");
    assert_eq!(
        (told.status, told.header("content-type")),
        (503, Some("text/html;charset=UTF-8"))
    );
    assert!(told.text.contains("We are down for maintenance"), "{}", told.text);
    assert!(desk.org.failure(502).headers[0].1.starts_with("text/html"));
}

#[test]
fn a_fault_of_the_token_endpoint_strikes_there_and_nowhere_else() {
    let mut desk = Desk::new();
    desk.arm("not-approved:1");
    assert_eq!(desk.data("GET", "limits", "").status, 200);
    desk.arm("request-limit:1");
    let told = desk.ask_for_token("grant_type=client_credentials&client_id=app&client_secret=s");
    let expected =
        json!({ "error": "invalid_grant", "error_description": "user hasn't approved this consumer" });
    assert_eq!((told.status, told.body), (400, expected));
    desk.log_in();
    assert_eq!(desk.data("GET", "limits", "").status, 403);
}

#[test]
fn a_locked_row_is_refused_twice_and_its_siblings_are_not() {
    let mut desk = Desk::new();
    desk.arm("unable-to-lock-row:2@Ext__c=b");
    let records =
        ["a", "b"].map(|id| json!({ "attributes": { "type": "Account" }, "Ext__c": id, "Name": "x" }));
    let body = json!({ "records": records }).to_string();
    let mut send = || {
        desk.data("PATCH", "composite/sobjects/Account/Ext__c", &body)
            .body
    };
    for _ in 0..2 {
        let told = send();
        assert_eq!(told[0]["success"], true);
        let error = json!({
            "statusCode": "UNABLE_TO_LOCK_ROW",
            "message": "unable to obtain exclusive access to this record",
            "fields": [],
        });
        assert_eq!(told[1], json!({ "success": false, "errors": [error] }));
    }
    assert_eq!(send()[1]["success"], true);
}

#[test]
fn duplicates_are_told_under_their_misspelt_name_unless_the_client_insists() {
    let mut desk = Desk::new();
    desk.arm("duplicates-detected");
    let contact = "sobjects/Contact/Ext__c/c-1";
    let told = desk.data("PATCH", contact, r#"{"LastName":"x"}"#);
    let error = &told.body[0];
    assert_eq!(
        (told.status, &error["errorCode"]),
        (400, &json!("DUPLICATES_DETECTED"))
    );
    assert_eq!(error["message"], "Use one of these records?");
    let found = &error["duplicateResut"];
    assert_eq!(
        (&found["duplicateRule"], &found["allowSave"]),
        (&json!("Contacts_DR"), &json!(true))
    );
    assert_eq!(
        found["matchResults"][0]["matchRecords"][0]["matchConfidence"],
        100.0
    );
    desk.headers.push((
        "sforce-duplicate-rule-header",
        "allowSave=true; runAsCurrentUser=true".into(),
    ));
    assert_eq!(desk.data("PATCH", contact, r#"{"LastName":"x"}"#).status, 201);
}

#[test]
fn a_single_record_meets_its_fault_by_the_external_id_in_the_path() {
    let mut desk = Desk::new();
    desk.arm("validation-rule:1@Ext__c=a-1,flow-lock:1@Ext__c=a-1");
    assert_eq!(
        desk.data("PATCH", "sobjects/Account/Ext__c/a-2", r#"{"Name":"x"}"#)
            .status,
        201
    );
    let told = desk.data("PATCH", ONE, r#"{"Name":"x"}"#);
    assert_eq!(told.body[0]["errorCode"], "FIELD_CUSTOM_VALIDATION_EXCEPTION");
    let told = desk.data("PATCH", ONE, r#"{"Name":"x"}"#);
    assert_eq!(told.body[0]["errorCode"], "CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY");
    assert!(
        told.body[0]["message"]
            .as_str()
            .unwrap()
            .contains("UNABLE_TO_LOCK_ROW")
    );
}
