//! Records and properties as HubSpot's answers show them.

use serde_json::{Map, Value, json};

use super::records::ObjectType;
use super::values::iso;
use crate::mock::crm::{self, Field, FieldType, Key, Record};

/// The properties that an answer shows if none were asked for, where the object has them.
const SHOWN_BY_DEFAULT: [&str; 10] = [
    "firstname",
    "lastname",
    "email",
    "name",
    "domain",
    "dealname",
    "amount",
    "closedate",
    "dealstage",
    "price",
];

/// A record as an answer to a write shows it: what was written, and what the system says of it.
pub(super) fn written<'a>(
    of: ObjectType<'_>,
    record: &Record,
    written: impl Iterator<Item = &'a str>,
    portal: u64,
) -> Value {
    let names = written.chain(of.system_properties());
    object(of, record, names, portal)
}

/// A record as a read shows it: what was asked for, and what the system says of it.
pub(super) fn read(of: ObjectType<'_>, record: &Record, asked: &[String], portal: u64) -> Value {
    let [id, created, modified, _] = of.system_properties();
    let system = [id, created, modified].into_iter();
    if asked.is_empty() {
        let shown = SHOWN_BY_DEFAULT.into_iter();
        let shown = shown.filter(|name| of.object.fields.contains_key(*name));
        return object(of, record, shown.chain(system), portal);
    }
    let known = asked
        .iter()
        .map(String::as_str)
        .filter(|name| of.object.fields.contains_key(*name) || of.system_properties().contains(name));
    object(of, record, known.chain(system), portal)
}

/// The definition of a property of the schema.
pub(super) fn property(of: ObjectType<'_>, name: &str, field: &Field) -> Value {
    let (kind, form) = match field.kind {
        FieldType::Text | FieldType::Email | FieldType::Reference => ("string", "text"),
        FieldType::Number | FieldType::Currency | FieldType::Integer => ("number", "number"),
        FieldType::Boolean => ("bool", "booleancheckbox"),
        FieldType::Date => ("date", "date"),
        FieldType::Datetime => ("datetime", "date"),
        FieldType::Choice => ("enumeration", "select"),
        FieldType::Choices => ("enumeration", "checkbox"),
    };
    let mut options: Vec<&str> = field.values.iter().map(String::as_str).collect();
    if field.kind == FieldType::Boolean {
        options = vec!["true", "false"];
    }
    let option = |(order, value): (usize, &&str)| json!({ "label": value, "value": value, "displayOrder": order, "hidden": false });
    let mut definition = definition(of, name, kind, form);
    definition["options"] = options.iter().enumerate().map(option).collect();
    definition["hasUniqueValue"] = (field.key == Key::Unique).into();
    definition["modificationMetadata"]["readOnlyValue"] = field.read_only.into();
    definition
}

/// The definition of one of the system's own properties.
pub(super) fn system_property(of: ObjectType<'_>, name: &str) -> Value {
    let (kind, form) = match name {
        "hs_object_id" => ("number", "number"),
        "hs_object_source" => ("string", "text"),
        _ => ("datetime", "date"),
    };
    definition(of, name, kind, form)
}

/// A definition as those of the system's own properties are: without options, never unique, not to be written.
fn definition(of: ObjectType<'_>, name: &str, kind: &str, form: &str) -> Value {
    json!({
        "name": name,
        "label": name,
        "description": "",
        "groupName": format!("{}information", of.noun().to_lowercase()),
        "type": kind,
        "fieldType": form,
        "options": [],
        "displayOrder": -1,
        "calculated": false,
        "externalOptions": false,
        "hasUniqueValue": false,
        "hidden": false,
        "hubspotDefined": true,
        "formField": false,
        "archived": false,
        "modificationMetadata": {
            "archivable": false,
            "readOnlyDefinition": true,
            "readOnlyValue": true,
        },
    })
}

fn object<'a>(
    of: ObjectType<'_>,
    record: &Record,
    names: impl Iterator<Item = &'a str>,
    portal: u64,
) -> Value {
    let kept = |name: &str| record.fields.get(name).and_then(crm::Value::as_text);
    let shown = |name: &'a str| {
        let value = of.system_value(name, record);
        (
            name.to_owned(),
            value.or_else(|| kept(name).map(str::to_owned)).into(),
        )
    };
    json!({
        "id": record.id,
        "properties": names.map(shown).collect::<Map<_, _>>(),
        "createdAt": iso(record.created),
        "updatedAt": iso(record.modified),
        "archived": false,
        "url": format!("https://app.hubspot.com/contacts/{portal}/record/{}/{}", of.object.prefix, record.id),
    })
}
