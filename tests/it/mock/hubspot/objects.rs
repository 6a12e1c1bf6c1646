//! Single records, lists and properties.

use serde_json::json;

use super::world::Portal;

const CONTACTS: &str = "/crm/v3/objects/contacts";

#[test]
fn a_record_is_created_found_by_a_unique_property_changed_and_archived() {
    let mut portal = Portal::new();
    let body = json!({ "properties": { "email": "a@b.co", "signed_up_on": "1782259200000" } });
    let created = portal.post(CONTACTS, &body);
    assert_eq!(created.status, 201);
    let id = created.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(
        created.header("location"),
        Some(format!("{CONTACTS}/{id}").as_str())
    );

    portal.pass(1);
    let by_email = format!("{CONTACTS}/A%40b.co?idProperty=email");
    let change = json!({ "properties": { "city": "Ulm" } }).to_string();
    let changed = portal.send("PATCH", &by_email, change).json();
    assert_eq!(changed["createdAt"], "2026-06-24T18:05:37.123Z");
    assert_eq!(changed["updatedAt"], "2026-06-24T18:05:38.123Z");

    let shown = portal.get(&format!("{by_email}&properties=signed_up_on,city,phone,naem"));
    assert_eq!(
        shown.json()["properties"],
        json!({
            "signed_up_on": "2026-06-24",
            "city": "Ulm",
            "phone": null,
            "hs_object_id": id,
            "createdate": "2026-06-24T18:05:37.123Z",
            "lastmodifieddate": "2026-06-24T18:05:38.123Z",
        })
    );
    assert_eq!(portal.send("DELETE", &format!("{CONTACTS}/{id}"), "").status, 204);
    assert_eq!(portal.get(&by_email).status, 404);
}

#[test]
fn a_list_goes_on_where_the_page_before_it_ended() {
    let mut portal = Portal::new();
    for number in 0..5 {
        portal.contact(&json!({ "external_id": number.to_string() }));
    }
    let (mut target, mut found) = (format!("{CONTACTS}?limit=2&properties=external_id"), Vec::new());
    loop {
        let page = portal.get(&target).json();
        let results = page["results"].as_array().unwrap();
        assert!(!results.is_empty() && results.len() <= 2);
        found.extend(
            results
                .iter()
                .map(|record| record["properties"]["external_id"].clone()),
        );
        let Some(after) = page["paging"]["next"]["after"].as_str() else {
            break;
        };
        target = format!("{CONTACTS}?limit=2&properties=external_id&after={after}");
    }
    assert_eq!(found, ["0", "1", "2", "3", "4"]);
}

#[test]
fn properties_say_what_they_take_and_whether_records_can_be_named_by_them() {
    let mut portal = Portal::new();
    let property = |portal: &mut Portal, name: &str| portal.get(&format!("/crm/v3/properties/{name}")).json();
    let email = property(&mut portal, "contacts/email");
    assert_eq!(
        (&email["type"], &email["hasUniqueValue"]),
        (&json!("string"), &json!(true))
    );
    assert_eq!(property(&mut portal, "companies/domain")["hasUniqueValue"], false);
    let checkbox = property(&mut portal, "contacts/newsletter");
    assert_eq!(checkbox["fieldType"], "booleancheckbox");
    assert_eq!(checkbox["options"][1]["value"], "false");
    let system = property(&mut portal, "contacts/hs_object_id");
    assert_eq!(system["modificationMetadata"]["readOnlyValue"], true);
    assert_eq!(portal.get("/crm/v3/properties/contacts/naem").status, 404);
    let all = property(&mut portal, "products")["results"]
        .as_array()
        .unwrap()
        .clone();
    assert!(all.iter().any(|property| property["name"] == "hs_sku"), "{all:?}");
}
