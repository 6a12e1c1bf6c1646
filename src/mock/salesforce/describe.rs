//! What there is: versions, resources, objects, fields. Clients look here before they send.

use jiff::Timestamp;
use serde_json::{Value as Json, json};

use super::Call;
use super::check::type_name;
use super::error::not_found;
use super::route::VERSIONS;
use crate::mock::crm::{Answer, Field, FieldType, Key, Object, Schema};

/// `GET /services/data`, without a token. Anything behind it that is no version is not there.
pub(super) fn versions(parts: &[&str]) -> Answer {
    if !parts.iter().all(|part| part.is_empty()) {
        return not_found();
    }
    let version = |version: u32| {
        json!({
            "label": format!("Release {version}"),
            "url": format!("/services/data/v{version}.0"),
            "version": format!("{version}.0"),
        })
    };
    Answer::json(200, &VERSIONS.map(version).collect::<Vec<_>>())
}

pub(super) fn resources(call: Call<'_>) -> Answer {
    let mut found = serde_json::Map::new();
    for name in ["composite", "jobs", "limits", "sobjects"] {
        found.insert(name.into(), json!(call.path_of(name)));
    }
    Answer::json(200, &found)
}

pub(super) fn objects(schema: &Schema, call: Call<'_>) -> Answer {
    let objects: Vec<Json> = schema
        .objects()
        .map(|(name, object)| about(name, object, call))
        .collect();
    Answer::json(
        200,
        &json!({ "encoding": "UTF-8", "maxBatchSize": 200, "sobjects": objects }),
    )
}

/// `GET /sobjects/{Object}`.
pub(super) fn summary(schema: &Schema, object: &str, call: Call<'_>) -> Answer {
    match schema.object(object) {
        Some((name, object)) => {
            let body = json!({ "objectDescribe": about(name, object, call), "recentItems": [] });
            Answer::json(200, &body)
        }
        None => not_found(),
    }
}

/// `GET /sobjects/{Object}/describe`.
pub(super) fn object(schema: &Schema, object: &str, call: Call<'_>) -> Answer {
    let Some((name, object)) = schema.object(object) else {
        return not_found();
    };
    let own = object.fields.iter().map(|(name, field)| own_field(name, field));
    let system = [
        ("Id", "id"),
        ("CreatedDate", "datetime"),
        ("LastModifiedDate", "datetime"),
    ];
    let fields = system
        .map(|(name, kind)| system_field(name, kind))
        .into_iter()
        .chain(own);
    let mut body = about(name, object, call);
    body["fields"] = fields.collect();
    Answer::json(200, &body)
}

/// A moment as Salesforce writes it.
pub(super) fn moment(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S.%3f+0000").to_string()
}

fn about(name: &str, object: &Object, call: Call<'_>) -> Json {
    let url = call.path_of(&format!("sobjects/{name}"));
    json!({
        "name": name,
        "label": name,
        "labelPlural": name,
        "keyPrefix": object.prefix,
        "custom": name.ends_with("__c"),
        "createable": true,
        "updateable": true,
        "deletable": true,
        "queryable": false,
        "retrieveable": true,
        "urls": { "sobject": url, "describe": format!("{url}/describe"), "rowTemplate": format!("{url}/{{ID}}") },
    })
}

fn own_field(name: &str, field: &Field) -> Json {
    let is_key = field.key != Key::No;
    let values: Vec<Json> = field
        .values
        .iter()
        .map(|value| json!({ "active": true, "defaultValue": false, "label": value, "value": value }))
        .collect();
    json!({
        "name": name,
        "label": name,
        "type": type_name(field.kind),
        "length": field.length.unwrap_or_default(),
        "custom": name.ends_with("__c"),
        "externalId": is_key,
        "idLookup": is_key,
        "unique": field.key == Key::Unique,
        "caseSensitive": false,
        "nillable": !field.required && field.kind != FieldType::Boolean,
        "defaultedOnCreate": field.kind == FieldType::Boolean,
        "createable": !field.read_only,
        "updateable": !field.read_only,
        "restrictedPicklist": !values.is_empty(),
        "picklistValues": values,
        "referenceTo": field.to.iter().collect::<Vec<_>>(),
        "relationshipName": field.relationship,
    })
}

fn system_field(name: &str, kind: &str) -> Json {
    json!({
        "name": name,
        "label": name,
        "type": kind,
        "length": if kind == "id" { 18 } else { 0 },
        "custom": false,
        "externalId": false,
        "idLookup": kind == "id",
        "unique": false,
        "caseSensitive": false,
        "nillable": false,
        "defaultedOnCreate": true,
        "createable": false,
        "updateable": false,
        "restrictedPicklist": false,
        "picklistValues": [],
        "referenceTo": [],
        "relationshipName": null,
    })
}
