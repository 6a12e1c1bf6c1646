//! Up to 200 records in a call.

use serde_json::json;

use super::*;

const UPSERT: &str = "composite/sobjects/Account/Ext__c";

fn body(all_or_none: bool, records: &[Json]) -> String {
    let typed = records.iter().map(|record| {
        let mut record = record.clone();
        record["attributes"] = json!({ "type": "Account" });
        record
    });
    json!({ "allOrNone": all_or_none, "records": typed.collect::<Vec<_>>() }).to_string()
}

#[test]
fn a_call_is_accepted_even_where_a_record_is_not() {
    let mut desk = Desk::new();
    let records = [
        json!({ "Ext__c": "1", "Name": "ok" }),
        json!({ "Ext__c": "2" }),
        json!({ "Ext__c": "3", "Name": "c" }),
    ];
    let told = desk.data("PATCH", UPSERT, &body(false, &records));
    assert_eq!(told.status, 200);
    let ok = |index: usize| json!({ "id": told.body[index]["id"], "success": true, "errors": [], "created": true });
    let missing = json!({ "success": false, "errors": [{
        "statusCode": "REQUIRED_FIELD_MISSING",
        "message": "Required fields are missing: [Name]",
        "fields": ["Name"],
    }] });
    assert_eq!(told.body, json!([ok(0), missing, ok(2)]));
    let again = desk.data("PATCH", UPSERT, &body(false, &records[..1]));
    assert_eq!(again.body[0]["created"], false);
}

#[test]
fn all_or_none_takes_everything_back() {
    let mut desk = Desk::new();
    let records = [json!({ "Ext__c": "1", "Name": "ok" }), json!({ "Ext__c": "2" })];
    let told = desk.data("PATCH", UPSERT, &body(true, &records));
    let code = |index: usize| told.body[index]["errors"][0]["statusCode"].clone();
    assert_eq!(
        (told.status, code(0)),
        (200, json!("ALL_OR_NONE_OPERATION_ROLLED_BACK"))
    );
    assert_eq!(code(1), "REQUIRED_FIELD_MISSING");
    assert_eq!(desk.org.store().records("Account").count(), 0);
}

#[test]
fn an_external_id_that_stands_twice_is_refused_on_both_sides() {
    let mut desk = Desk::new();
    let records = ["a", "b", "A"].map(|id| json!({ "Ext__c": id, "Name": "x" }));
    let told = desk.data("PATCH", UPSERT, &body(false, &records));
    let error = |index: usize| told.body[index]["errors"][0]["message"].clone();
    assert_eq!(error(0), "Duplicate external id specified: a");
    assert_eq!(error(2), "Duplicate external id specified: A");
    assert_eq!(told.body[0]["errors"][0]["statusCode"], "DUPLICATE_VALUE");
    assert_eq!(told.body[1]["success"], true);
}

#[test]
fn more_than_200_records_and_old_versions_are_refused_as_a_whole() {
    let mut desk = Desk::new();
    let records = vec![json!({ "Name": "x" }); 201];
    let told = desk.data("PATCH", UPSERT, &body(false, &records));
    assert_eq!(
        (told.status, &told.body[0]["errorCode"]),
        (400, &json!("EXCEEDED_ID_LIMIT"))
    );
    let old = desk.send(
        "PATCH",
        &format!("/services/data/v45.0/{UPSERT}"),
        &body(false, &[]),
    );
    assert_eq!(old.status, 404);
}

#[test]
fn a_value_of_a_wrong_type_refuses_its_record_or_the_call() {
    let records = [
        json!({ "Ext__c": "1", "Name": "a" }),
        json!({ "Ext__c": "2", "Name": "b", "AnnualRevenue": "banana" }),
    ];
    let mut desk = Desk::new();
    let told = desk.data("PATCH", UPSERT, &body(false, &records));
    assert_eq!((told.status, &told.body[0]["success"]), (200, &json!(true)));
    assert_eq!(told.body[1]["errors"][0]["statusCode"], "JSON_PARSER_ERROR");
    let mut options = options();
    options.type_errors = TypeErrors::WholeCall;
    let mut desk = Desk::with(options);
    let told = desk.data("PATCH", UPSERT, &body(false, &records));
    assert_eq!(
        (told.status, &told.body[0]["errorCode"]),
        (400, &json!("JSON_PARSER_ERROR"))
    );
    assert_eq!(desk.org.store().records("Account").count(), 0);
}

#[test]
fn records_are_created_changed_and_deleted_by_id() {
    let mut desk = Desk::new();
    let told = desk.data(
        "POST",
        "composite/sobjects",
        &body(false, &[json!({ "Name": "a" }), json!({ "Name": "b" })]),
    );
    let ids = [0, 1].map(|index| told.body[index]["id"].as_str().unwrap().to_owned());
    assert_eq!(
        told.body[0],
        json!({ "id": ids[0], "success": true, "errors": [] })
    );
    let changes = [json!({ "id": ids[0], "Name": "c" }), json!({ "Name": "d" })];
    let told = desk.data("PATCH", "composite/sobjects", &body(false, &changes));
    assert_eq!(told.body[0]["success"], true);
    assert_eq!(told.body[1]["errors"][0]["statusCode"], "MISSING_ARGUMENT");
    let target = format!(
        "composite/sobjects?ids={},{},001000000000001AAA&allOrNone=false",
        ids[0], ids[1]
    );
    let told = desk.data("DELETE", &target, "");
    assert_eq!(
        told.body[0],
        json!({ "id": ids[0], "success": true, "errors": [] })
    );
    assert_eq!(
        told.body[2]["errors"][0]["statusCode"],
        "INVALID_CROSS_REFERENCE_KEY"
    );
    assert_eq!(desk.org.store().records("Account").count(), 0);
}
