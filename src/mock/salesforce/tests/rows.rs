//! Single records: by id and by external id, and what is refused.

use serde_json::json;

use super::*;

const ONE: &str = "sobjects/Account/Ext__c/a-1";

#[test]
fn an_upsert_says_what_it_did_as_its_version_does() {
    let mut desk = Desk::new();
    let created = desk.data("PATCH", ONE, r#"{"Name":"Ada"}"#);
    let id = created.id();
    assert!(id.starts_with("001") && id.len() == 18, "{id}");
    let body = |created: bool| json!({ "id": id, "success": true, "errors": [], "created": created });
    assert_eq!((created.status, &created.body), (201, &body(true)));
    let place = format!("/services/data/v62.0/sobjects/Account/{id}");
    assert_eq!(created.header("location"), Some(place.as_str()));
    assert_eq!(created.header("sforce-limit-info"), Some("api-usage=1/15000"));
    let updated = desk.data("PATCH", ONE, r#"{"Name":"Ada L."}"#);
    assert_eq!((updated.status, updated.body), (200, body(false)));

    let old = desk.send("PATCH", &format!("/services/data/v45.0/{ONE}"), r#"{"Name":"A"}"#);
    assert_eq!((old.status, old.text.as_str()), (204, ""));
    let old = desk.send(
        "PATCH",
        "/services/data/v45.0/sobjects/Account/Ext__c/new",
        r#"{"Name":"A"}"#,
    );
    assert_eq!(old.status, 201);
    assert!(old.body.get("created").is_none(), "{}", old.text);
}

#[test]
fn update_only_creates_nothing() {
    let mut desk = Desk::new();
    let told = desk.data("PATCH", &format!("{ONE}?updateOnly=true"), r#"{"Name":"x"}"#);
    assert_eq!(
        (told.status, &told.body[0]["errorCode"]),
        (404, &json!("NOT_FOUND"))
    );
    assert_eq!(desk.org.store().records("Account").count(), 0);
}

#[test]
fn odd_external_ids_arrive_decoded_and_match_without_case() {
    let mut desk = Desk::new();
    let odd = "sobjects/Account/Ext__c/a%2Fb%20c%2B%C3%A9";
    let created = desk.data("PATCH", odd, r#"{"Name":"x"}"#);
    assert_eq!(created.status, 201);
    assert_eq!(desk.data("GET", odd, "").body["Ext__c"], "a/b c+é");
    let again = desk.data(
        "PATCH",
        "sobjects/account/EXT__C/A%2FB%20C%2b%C3%89",
        r#"{"Name":"y"}"#,
    );
    assert_eq!((again.status, again.id()), (200, created.id()));
    // As a client sends it that does not encode the slash.
    let raw = desk.data("PATCH", "sobjects/Account/Ext__c/a/b", r#"{"Name":"x"}"#);
    assert_eq!(raw.status, 404);
}

#[test]
fn several_matches_are_a_list_of_urls() {
    let mut desk = Desk::new();
    let mut urls = Vec::new();
    for _ in 0..2 {
        let id = desk
            .data("POST", "sobjects/Account/", r#"{"Name":"x","Legacy_Id__c":"L"}"#)
            .id();
        urls.push(format!("/services/data/v62.0/sobjects/Account/{id}"));
    }
    for method in ["PATCH", "GET", "DELETE"] {
        let told = desk.data(method, "sobjects/Account/Legacy_Id__c/l", r#"{"Name":"y"}"#);
        assert_eq!((told.status, told.body), (300, json!(urls)), "{method}");
    }
}

#[test]
fn a_field_that_is_no_external_id_and_an_empty_value_are_refused_as_recorded() {
    let mut desk = Desk::new();
    let told = desk.data("PATCH", "sobjects/Account/Namez/x", "{}");
    let message = "Provided external ID field does not exist or is not accessible: Namez";
    let expected = json!([{ "message": message, "errorCode": "NOT_FOUND" }]);
    assert_eq!((told.status, told.body), (404, expected));
    let told = desk.data("PATCH", "sobjects/Account/Ext__c/", "{}");
    let message = "HTTP Method 'PATCH' not allowed. Allowed are GET,HEAD,POST";
    let expected = json!([{ "message": message, "errorCode": "METHOD_NOT_ALLOWED" }]);
    assert_eq!((told.status, told.body), (405, expected));
    let long = desk.data(
        "PATCH",
        &format!("sobjects/Account/Ext__c/{}", "a".repeat(16_400)),
        "{}",
    );
    assert_eq!(long.status, 414);
}

#[test]
fn a_record_is_created_read_changed_and_deleted_by_its_id() {
    let mut desk = Desk::new();
    let body =
        r#"{"Name":"x","AnnualRevenue":1234567890.123456789,"Since__c":"2026-02-28","Active__c":true}"#;
    let created = desk.data("POST", "sobjects/Account", body);
    assert_eq!(
        created.body,
        json!({ "id": created.id(), "success": true, "errors": [] })
    );
    let row = format!("sobjects/Account/{}", created.id());
    let shown = desk.data("GET", &row, "");
    assert!(
        shown.text.contains(r#""AnnualRevenue":1234567890.123456789"#),
        "{}",
        shown.text
    );
    assert_eq!(shown.body["attributes"]["type"], "Account");
    assert_eq!(shown.body["CreatedDate"], "2026-01-01T00:00:00.000+0000");
    assert_eq!(shown.body["Phone"], Json::Null);
    let short = format!("sobjects/Account/{}", &created.id()[..15]);
    let changed = desk.data("PATCH", &short, r#"{"Since__c":null,"Phone":"1"}"#);
    assert_eq!((changed.status, changed.text.as_str()), (204, ""));
    let some = desk.data("GET", &format!("{row}?fields=Since__c,Phone"), "");
    assert_eq!(
        (&some.body["Since__c"], &some.body["Phone"]),
        (&Json::Null, &json!("1"))
    );
    assert!(some.body.get("Name").is_none());
    assert_eq!(desk.data("DELETE", &row, "").status, 204);
    assert_eq!(desk.data("GET", &row, "").status, 404);
    assert_eq!(
        desk.data("DELETE", &row, "").body[0]["errorCode"],
        "ENTITY_IS_DELETED"
    );
    let never = desk.data("DELETE", "sobjects/Account/001000000000001", "");
    assert_eq!(
        (never.status, &never.body[0]["errorCode"]),
        (404, &json!("INVALID_CROSS_REFERENCE_KEY"))
    );
}

#[test]
fn a_value_of_a_wrong_type_is_refused_as_recorded() {
    let mut desk = Desk::new();
    let told = desk.data("PATCH", ONE, r#"{"Name":"x","AnnualRevenue":"banana"}"#);
    let message = "Cannot deserialize instance of currency from VALUE_STRING value banana or request may be missing \
                   a required field at [line:1, column:2]";
    let expected = json!([{ "message": message, "errorCode": "JSON_PARSER_ERROR" }]);
    assert_eq!((told.status, told.body), (400, expected));
    assert_eq!(
        desk.data("PATCH", ONE, "{\"Name\":").body[0]["errorCode"],
        "JSON_PARSER_ERROR"
    );
}

#[test]
fn each_rule_of_a_field_has_its_code() {
    let mut desk = Desk::new();
    desk.data("PATCH", ONE, r#"{"Name":"x"}"#);
    let long = format!(r#""Phone":"{}""#, "1".repeat(41));
    let cases = [
        (r#""Tier__c":"iron""#, "INVALID_OR_NULL_FOR_RESTRICTED_PICKLIST"),
        (
            r#""Regions__c":"north;up""#,
            "INVALID_OR_NULL_FOR_RESTRICTED_PICKLIST",
        ),
        (r#""Email__c":"nobody""#, "INVALID_EMAIL_ADDRESS"),
        (r#""ParentId":"nobody""#, "MALFORMED_ID"),
        (
            r#""ParentId":"001000000000001AAA""#,
            "INVALID_CROSS_REFERENCE_KEY",
        ),
        (r#""Since__c":"31.12.2026""#, "JSON_PARSER_ERROR"),
        (r#""Seen_At__c":"2026-12-31T10:00:00""#, "JSON_PARSER_ERROR"),
        (r#""NumberOfEmployees":1.5"#, "JSON_PARSER_ERROR"),
        (r#""Name":null"#, "REQUIRED_FIELD_MISSING"),
        (r#""Nmae":"x""#, "INVALID_FIELD"),
        (r#""Ext__c":"a-1""#, "INVALID_FIELD"),
        (long.as_str(), "STRING_TOO_LONG"),
    ];
    for (field, code) in cases {
        let told = desk.data("PATCH", ONE, &format!("{{{field}}}"));
        assert_eq!(
            (told.status, &told.body[0]["errorCode"]),
            (400, &json!(code)),
            "{field}"
        );
    }
    let read_only = desk.data("POST", "sobjects/Invoice__c", r#"{"Name":"I-1"}"#);
    assert_eq!(read_only.body[0]["errorCode"], "INVALID_FIELD_FOR_INSERT_UPDATE");
    let twice = desk.data("POST", "sobjects/Account", r#"{"Name":"x","Ext__c":"A-1"}"#);
    assert_eq!(
        (twice.status, &twice.body[0]["errorCode"]),
        (400, &json!("DUPLICATE_VALUE"))
    );
}

#[test]
fn a_child_finds_its_parent_by_external_id_or_is_refused_until_it_is_there() {
    let mut desk = Desk::new();
    let child = "sobjects/Invoice__c/Ext__c/i-1";
    let body = r#"{"Parent__r":{"Ext__c":"a-1"},"Amount__c":1}"#;
    let told = desk.data("PATCH", child, body);
    let message = "Foreign key external ID: a-1 not found for field Ext__c in entity Account";
    let expected = json!([{ "message": message, "errorCode": "INVALID_FIELD", "fields": [] }]);
    assert_eq!((told.status, told.body), (400, expected));
    let parent = desk.data("PATCH", ONE, r#"{"Name":"x"}"#).id();
    assert_eq!(desk.data("PATCH", child, body).status, 201);
    assert_eq!(desk.data("GET", child, "").body["Parent__c"], json!(parent));
    desk.data("PATCH", child, r#"{"Parent__r":null}"#);
    assert_eq!(desk.data("GET", child, "").body["Parent__c"], Json::Null);
}
