//! What there is, as clients look at it before they send.

use serde_json::json;

use super::*;

#[test]
fn a_describe_tells_which_fields_are_unique_external_ids() {
    let mut desk = Desk::new();
    let told = desk.data("GET", "sobjects/account/describe", "");
    assert_eq!(
        (&told.body["name"], &told.body["keyPrefix"]),
        (&json!("Account"), &json!("001"))
    );
    let field = |name: &str| {
        let mut fields = told.body["fields"].as_array().unwrap().iter();
        fields.find(|field| field["name"] == name).unwrap().clone()
    };
    let traits = |name: &str| {
        let field = field(name);
        (
            field["type"].clone(),
            field["externalId"].clone(),
            field["unique"].clone(),
            field["nillable"].clone(),
        )
    };
    let expected = |kind: &str, external: bool, unique: bool, nillable: bool| {
        (json!(kind), json!(external), json!(unique), json!(nillable))
    };
    assert_eq!(traits("Ext__c"), expected("string", true, true, true));
    assert_eq!(traits("Legacy_Id__c"), expected("string", true, false, true));
    assert_eq!(traits("Name"), expected("string", false, false, false));
    assert_eq!(traits("AnnualRevenue"), expected("currency", false, false, true));
    assert_eq!(field("ParentId")["relationshipName"], "Parent");
    assert_eq!(field("ParentId")["referenceTo"], json!(["Account"]));
    assert_eq!(field("Id")["type"], "id");
    assert_eq!(desk.data("GET", "sobjects/Nothing/describe", "").status, 404);
    assert_eq!(
        desk.data("GET", "sobjects", "").body["sobjects"]
            .as_array()
            .unwrap()
            .len(),
        5
    );
}

#[test]
fn versions_need_no_token_and_an_unknown_one_is_not_found() {
    let mut desk = Desk::logged_out(options());
    let versions = desk.send("GET", "/services/data/", "");
    assert_eq!(versions.body[0]["url"], "/services/data/v31.0");
    assert_eq!(desk.send("GET", "/services/data/v9.0/limits", "").status, 404);
    assert_eq!(desk.send("GET", "/services/data/v62.0/limits", "").status, 401);
}

#[test]
fn the_day_has_its_limit_and_begins_again() {
    let mut options = options();
    options.daily_limit = 2;
    options.access.session = std::time::Duration::from_hours(48);
    let mut desk = Desk::with(options);
    assert_eq!(
        desk.data("GET", "limits", "").body["DailyApiRequests"],
        json!({ "Max": 2, "Remaining": 1 })
    );
    assert_eq!(
        desk.data("GET", "limits", "").header("sforce-limit-info"),
        Some("api-usage=2/2")
    );
    let told = desk.data("GET", "limits", "");
    let expected =
        json!([{ "message": "TotalRequests Limit exceeded.", "errorCode": "REQUEST_LIMIT_EXCEEDED" }]);
    assert_eq!((told.status, told.body), (403, expected));
    desk.now += std::time::Duration::from_hours(24);
    assert_eq!(desk.data("GET", "limits", "").status, 200);
}
