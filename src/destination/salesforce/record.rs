//! A record as Salesforce's JSON has it. Pure.
//!
//! Written as text: a number keeps the digits that it came with.

use crate::core::mapping::{Record, Value};

/// The members of a JSON object, in their order, without the braces.
#[derive(Default)]
pub(super) struct Members(String);

impl Members {
    /// The id in `external_id`, where the call does not carry it elsewhere, and the fields of `record`.
    /// `Parent__r.Ext__c` becomes an object of its own; fields of one relation share it.
    pub(super) fn of(external_id: Option<(&str, &str)>, record: &Record<'_>) -> Self {
        let mut members = Self::default();
        if let Some((field, id)) = external_id {
            members.push(field, &quoted(id));
        }
        let mut rest = record.as_slice();
        while let Some(((field, value), others)) = rest.split_first() {
            let Some((relation, _)) = field.split_once('.') else {
                members.push(field, &json(value));
                rest = others;
                continue;
            };
            // They stand side by side, since fields are sorted by their names.
            let same = |(field, _): &&(&str, Value<'_>)| {
                field.split_once('.').is_some_and(|(other, _)| other == relation)
            };
            let (related, others) = rest.split_at(rest.iter().take_while(same).count());
            members.push(relation, &parent(related));
            rest = others;
        }
        members
    }

    /// The object that they make.
    pub(super) fn object(&self) -> String {
        format!("{{{}}}", self.0)
    }

    /// The object that they make in a call of several records, each of which names its type.
    pub(super) fn typed(&self, object: &str) -> String {
        let separator = if self.0.is_empty() { "" } else { "," };
        format!(
            "{{\"attributes\":{{\"type\":{}}}{separator}{}}}",
            quoted(object),
            self.0
        )
    }

    fn push(&mut self, name: &str, json: &str) {
        if !self.0.is_empty() {
            self.0.push(',');
        }
        self.0.push_str(&quoted(name));
        self.0.push(':');
        self.0.push_str(json);
    }
}

/// A reference to a record by fields of its own; none to any, if all of them are cleared.
fn parent(related: &[(&str, Value<'_>)]) -> String {
    if related.iter().all(|(_, value)| *value == Value::Clear) {
        return "null".to_owned();
    }
    let mut members = Members::default();
    for (field, value) in related {
        let name = field.split_once('.').map_or(*field, |(_, name)| name);
        members.push(name, &json(value));
    }
    members.object()
}

fn json(value: &Value<'_>) -> String {
    match value {
        Value::Clear => "null".to_owned(),
        Value::Boolean(flag) => flag.to_string(),
        Value::Number(digits) => digits.clone().into_owned(),
        Value::Text(text) => quoted(text),
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
