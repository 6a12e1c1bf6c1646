//! From rows to what HubSpot is sent.

use serde_json::{Value, json};

use super::super::plan::{LeftOut, Plan};
use super::super::rendering::HubSpotRendering;
use super::super::request;
use super::outgoing;
use crate::core::key::KeyForm;
use crate::core::row::Op;
use crate::destination::Rendering;

fn rendering(id_from: &Value, null_policy: &str) -> HubSpotRendering {
    let recorded = json!({
        "id_from": id_from,
        "id_property": "email",
        "key": { "form": "uuid", "name": "idempotency-key" },
        "mapping": {
            "fields": {
                "amount": { "source": { "path": ["amount"] } },
                "firstname": { "source": { "path": ["name"] } },
                "newsletter": { "source": { "path": ["news"] } },
                "signed_up_on": { "kind": "date", "source": { "path": ["since"] } },
            },
            "null_policy": null_policy,
        },
        "object": "contacts",
        "v": 1,
    });
    HubSpotRendering::parse(&Rendering(recorded.to_string())).unwrap()
}

fn by_row_key() -> HubSpotRendering {
    rendering(&Value::Null, "clear")
}

fn sent(plan: &Plan) -> Value {
    serde_json::from_slice(&request::upsert(&plan.upserts.rows, "email").bytes).unwrap()
}

#[test]
fn an_upsert_names_each_row_by_its_id_and_its_trace_and_repeats_the_address() {
    let payload =
        r#"{"name":"Ann","amount":12345678901234567890.10,"news":true,"since":"2026-05-01T13:45:00Z"}"#;
    let row = outgoing("ann@b.co", Op::Upsert, payload);
    let plan = Plan::of(&by_row_key(), std::slice::from_ref(&row));
    assert_eq!(
        sent(&plan),
        json!({ "inputs": [{
            "id": "ann@b.co",
            "idProperty": "email",
            "objectWriteTraceId": row.key.wire(KeyForm::Token),
            "properties": {
                "amount": "12345678901234567890.10",
                "email": "ann@b.co",
                "firstname": "Ann",
                "newsletter": "true",
                "signed_up_on": "2026-05-01",
            },
        }] }),
        "all values are texts, no digit is lost, a date has no time"
    );
}

#[test]
fn a_null_clears_or_leaves_as_the_policy_says_and_what_is_absent_is_left() {
    let row = [outgoing("ann@b.co", Op::Upsert, r#"{"name":null}"#)];
    let properties =
        |policy| sent(&Plan::of(&rendering(&Value::Null, policy), &row))["inputs"][0]["properties"].clone();
    assert_eq!(
        properties("clear"),
        json!({ "email": "ann@b.co", "firstname": "" })
    );
    assert_eq!(properties("omit"), json!({ "email": "ann@b.co" }));
}

#[test]
fn a_number_with_an_exponent_is_written_out() {
    let row = [outgoing("ann@b.co", Op::Upsert, r#"{"amount":1.25e-3}"#)];
    assert_eq!(
        sent(&Plan::of(&by_row_key(), &row))["inputs"][0]["properties"]["amount"],
        "0.00125"
    );
}

#[test]
fn no_batch_names_one_record_twice() {
    let batch = [
        outgoing("Ann@b.co", Op::Upsert, r#"{"name":"Ann"}"#),
        outgoing("bob@b.co", Op::Delete, "null"),
        outgoing("ann@b.co", Op::Upsert, r#"{"name":"Anna"}"#),
    ];
    let plan = Plan::of(&by_row_key(), &batch);
    assert_eq!((plan.upserts.places, plan.deletes.places), (vec![0], vec![1]));
    assert_eq!(plan.deletes.rows, ["bob@b.co"]);
    assert_eq!(plan.left_out, [(2, LeftOut::SameRecord)]);
}

#[test]
fn a_row_that_makes_no_record_is_left_out_and_its_mates_are_sent() {
    let batch = [
        outgoing("1", Op::Upsert, r#"{"mail":"ann@b.co","since":"yesterday"}"#),
        outgoing("2", Op::Upsert, r#"{"mail":"bob@b.co"}"#),
        outgoing("3", Op::Delete, "null"),
    ];
    let plan = Plan::of(&rendering(&json!(["mail"]), "clear"), &batch);
    assert_eq!(plan.upserts.places, [1]);
    let left: Vec<_> = plan.left_out.iter().map(|(place, _)| *place).collect();
    assert_eq!(
        left,
        [0, 2],
        "no date; and a delete brings no payload to find the id in"
    );
}

#[test]
fn what_was_rendered_once_is_rendered_so_again() {
    let rendering = rendering(&json!(["a", "b"]), "omit");
    assert_eq!(HubSpotRendering::parse(&rendering.to_text()).unwrap(), rendering);
    let newer = rendering.to_text().0.replace(r#""v":1"#, r#""v":2"#);
    assert!(HubSpotRendering::parse(&Rendering(newer)).is_err());
}
