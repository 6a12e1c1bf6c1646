//! What is sent of a batch.

use std::sync::Arc;

use url::Url;

use super::super::plan::{Call, LeftOut, Plan};
use super::super::rendering::SalesforceRendering;
use super::super::request::build;
use super::NOW;
use crate::config::{Config, ReceiverConfig, System};
use crate::core::canonical::RowHash;
use crate::core::key::{IdempotencyKey, KeyFacts};
use crate::core::row::{Op, OutboxRow, RowId};
use crate::destination::Outgoing;

/// A rendering with these fields and `more` options.
pub(in crate::destination::salesforce) fn rendering(more: &str) -> SalesforceRendering {
    let text = format!(
        "[destinations.crm]\ntype = \"salesforce\"\ntopics = []\nobject = \"Account\"\nexternal_id = \"Ext__c\"\n\
         client_id = \"id\"\nclient_secret = \"secret\"\n{more}\n"
    );
    let config = Config::parse(&text, &System::beside(std::path::Path::new("."))).unwrap();
    match &config.destinations["crm"].receiver {
        ReceiverConfig::Salesforce(salesforce) => SalesforceRendering::of(salesforce),
        other => panic!("{other:?}"),
    }
}

const FIELDS: &str = "fields = { Name = \"name\", Amount__c = \"amount\", \"Parent__r.Ext__c\" = \"parent.id\", \
                      Since__c = { from = \"since\", type = \"date\" } }";

fn outgoing(row_key: &str, op: Op, payload: &str) -> Outgoing {
    let row = OutboxRow {
        id: 7,
        row: RowId::new("accounts", row_key),
        row_version: None,
        generation: 1,
        op,
        payload: Arc::from(payload),
        headers: None,
        created_at: NOW,
    };
    let key = IdempotencyKey::derive(&KeyFacts {
        namespace: "test",
        destination: "crm",
        topic: &row.row.topic,
        row_key: &row.row.row_key,
        op,
        version: None,
        row_hash: RowHash::of(payload).unwrap(),
        epoch: 0,
    });
    Outgoing {
        row,
        key,
        attempt: 1,
        now: NOW,
        traceparent: None,
    }
}

pub(in crate::destination::salesforce) fn upsert(row_key: &str, payload: &str) -> Outgoing {
    outgoing(row_key, Op::Upsert, payload)
}

pub(in crate::destination::salesforce) fn delete(row_key: &str) -> Outgoing {
    outgoing(row_key, Op::Delete, "null")
}

/// Method, URL and body of what is sent of `batch`.
fn sent(rendering: &SalesforceRendering, batch: &[Outgoing]) -> String {
    let instance: Url = "https://x.my.salesforce.com".parse().unwrap();
    let plan = Plan::of(rendering, batch);
    let keys: Vec<_> = plan.places.iter().map(|place| batch[*place].key).collect();
    let authorization = reqwest::header::HeaderValue::from_static("Bearer t");
    let (request, _) = build(&instance, rendering, plan.call.unwrap(), &keys, authorization).unwrap();
    let body = request
        .body()
        .and_then(|body| body.as_bytes())
        .unwrap_or_default();
    format!(
        "{} {} {}",
        request.method(),
        request.url(),
        String::from_utf8_lossy(body)
    )
}

#[test]
fn one_row_is_upserted_by_its_path_and_several_in_a_collection() {
    let rendering = rendering(FIELDS);
    let one = upsert(
        "a-1",
        r#"{"name": "Ä", "amount": 12345678901234567890.10, "parent": {"id": "p"}, "since": "2026-05-01T10:00:00Z"}"#,
    );
    assert_eq!(
        sent(&rendering, std::slice::from_ref(&one)),
        "PATCH https://x.my.salesforce.com/services/data/v62.0/sobjects/Account/Ext__c/a-1 \
         {\"Amount__c\":12345678901234567890.10,\"Name\":\"Ä\",\"Parent__r\":{\"Ext__c\":\"p\"},\"Since__c\":\"2026-05-01\"}"
    );
    let cleared = upsert("a-2", r#"{"name": null, "parent": null}"#);
    assert_eq!(
        sent(&rendering, &[one, cleared]),
        "PATCH https://x.my.salesforce.com/services/data/v62.0/composite/sobjects/Account/Ext__c \
         {\"allOrNone\":false,\"records\":[{\"attributes\":{\"type\":\"Account\"},\"Ext__c\":\"a-1\",\
         \"Amount__c\":12345678901234567890.10,\"Name\":\"Ä\",\"Parent__r\":{\"Ext__c\":\"p\"},\"Since__c\":\"2026-05-01\"},\
         {\"attributes\":{\"type\":\"Account\"},\"Ext__c\":\"a-2\",\"Name\":null,\"Parent__r\":null}]}"
    );
}

#[test]
fn an_external_id_is_one_step_of_the_path_whatever_it_holds() {
    let path = |id: &str| {
        let sent = sent(&rendering("fields = {}"), &[upsert(id, "{}")]);
        sent.split(' ')
            .nth(1)
            .unwrap()
            .rsplit_once("Ext__c")
            .unwrap()
            .1
            .to_owned()
    };
    assert_eq!(path("a/b c+é"), "/a%2Fb%20c%2B%C3%A9");
    assert_eq!(path("50%?#;"), "/50%25%3F%23%3B");
    assert_eq!(path(".."), "", "no path can hold it, so it goes in a collection");
}

#[test]
fn a_delete_goes_alone_and_so_does_a_second_row_of_one_record() {
    let rendering = rendering("fields = {}");
    let deletes = [delete("a-1"), delete("a-2")];
    assert_eq!(
        sent(&rendering, &deletes),
        "DELETE https://x.my.salesforce.com/services/data/v62.0/sobjects/Account/Ext__c/a-1 "
    );
    assert_eq!(Plan::of(&rendering, &deletes).left_out, [(1, LeftOut::Delete)]);
    let mixed = [
        upsert("A", "{}"),
        delete("b"),
        upsert("a", "{}"),
        upsert("c", "{}"),
    ];
    let plan = Plan::of(&rendering, &mixed);
    assert_eq!(plan.places, [0, 3]);
    assert_eq!(plan.left_out, [(2, LeftOut::SameRecord), (1, LeftOut::Delete)]);
    let unspeakable = Plan::of(&rendering, &[delete(".")]);
    assert_eq!(
        (unspeakable.call, unspeakable.left_out),
        (None, vec![(0, LeftOut::Unspeakable)])
    );
}

#[test]
fn a_row_that_cannot_be_rendered_keeps_nobody_from_going() {
    let rendering = rendering(FIELDS);
    let batch = [
        upsert("a-1", "{}"),
        upsert("a-2", r#"{"since": "soon"}"#),
        upsert("a-3", "{}"),
    ];
    let plan = Plan::of(&rendering, &batch);
    assert_eq!(plan.places, [0, 2]);
    assert!(matches!(plan.call, Some(Call::UpsertAll { .. })));
    let [(1, LeftOut::NotRenderable(bad))] = plan.left_out.as_slice() else {
        panic!("{plan:?}");
    };
    assert!(
        bad.to_string().starts_with("row accounts/a-2: field `Since__c`"),
        "{bad}"
    );
}

#[test]
fn the_headers_are_those_of_the_rendering() {
    let rendering = rendering(
        "fields = {}\nduplicate_rule = \"allowSave=true\"\ncall_options = \"client=a\"\nupdate_only = true",
    );
    let instance: Url = "https://x.my.salesforce.com".parse().unwrap();
    let one = upsert("a", "{}");
    let request = |rendering: &SalesforceRendering| {
        let call = Plan::of(rendering, std::slice::from_ref(&one)).call.unwrap();
        let authorization = reqwest::header::HeaderValue::from_static("Bearer t");
        build(&instance, rendering, call, &[one.key], authorization)
            .unwrap()
            .0
    };
    let sent = request(&rendering);
    assert_eq!(sent.headers()["sforce-duplicate-rule-header"], "allowSave=true");
    assert_eq!(sent.headers()["sforce-call-options"], "client=a");
    assert_eq!(sent.url().query(), Some("updateOnly=true"));
    let key = sent.headers()["idempotency-key"].to_str().unwrap().to_owned();
    assert_eq!(uuid::Uuid::parse_str(&key).unwrap().get_version_num(), 8);
    let silent = self::rendering("fields = {}\nsend_idempotency_key = false");
    assert!(!request(&silent).headers().contains_key("idempotency-key"));
    let recorded = SalesforceRendering::parse(&rendering.to_text()).unwrap();
    assert_eq!(recorded, rendering);
}
