//! What `fields` of a CRM destination may say: `Email = "email"`, `{ from = "since", type = "date" }`, `{ value = "x" }`.

use std::collections::BTreeMap;

use toml::de::DeValue;

use super::super::fault::way_out;
use super::super::node::{Node, Read, all};
use super::super::value::word;
use crate::core::mapping::{Constant, FieldRule, Source};

const KNOWN: [&str; 4] = ["from", "value", "type", "null_policy"];

/// The rules by the name of the record's field.
pub(super) fn fields(node: &Node<'_>) -> Read<BTreeMap<String, FieldRule>> {
    let rules = all(node.entries()?.iter().map(|(field, node)| {
        let named = target(field, node);
        let rule = rule(node);
        named?;
        Ok(((*field).to_owned(), rule?))
    }))?;
    Ok(BTreeMap::from_iter(rules))
}

/// A path in the payload: keys with dots between them, or an array of keys where a key holds a dot.
pub(super) fn path(node: &Node<'_>) -> Read<Vec<String>> {
    let keys: Vec<String> = match node.value {
        DeValue::String(text) => text.split('.').map(str::to_owned).collect(),
        _ => all(node.elements()?.iter().map(|key| Ok(key.text()?.to_owned())))?,
    };
    if keys.is_empty() || keys.iter().any(String::is_empty) {
        return Err(node.fault("must be a path such as \"email\" or \"parent.id\""));
    }
    Ok(keys)
}

/// A field, or a field of a related record: `Parent__r.Ext__c`.
fn target(field: &str, node: &Node<'_>) -> Read<()> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    let named = |part: &str| (1..=255).contains(&part.len()) && part.bytes().all(allowed);
    let parts: Vec<&str> = field.split('.').collect();
    if parts.len() <= 2 && parts.into_iter().all(named) {
        Ok(())
    } else {
        Err(node.fault("is no name of a field: letters, digits, _ and -, as Email or Parent__r.Ext__c"))
    }
}

fn rule(node: &Node<'_>) -> Read<FieldRule> {
    if !matches!(node.value, DeValue::Table(_)) {
        return Ok(FieldRule {
            source: Source::Path(path(node)?),
            kind: None,
            null_policy: None,
        });
    }
    let entries: BTreeMap<&str, Node<'_>> = node.entries()?.into_iter().collect();
    for (key, value) in &entries {
        if !KNOWN.contains(key) {
            value.fault(format!("unknown key; {}", way_out(key, &KNOWN)));
        }
    }
    let kind = entries.get("type").map(word).transpose();
    let null_policy = entries.get("null_policy").map(word).transpose();
    let source = match (entries.get("from"), entries.get("value")) {
        (Some(from), None) => path(from).map(Source::Path),
        (None, Some(value)) if entries.len() == 1 => constant(value).map(Source::Constant),
        (None, Some(_)) => Err(node.fault("is a constant, which takes neither type nor null_policy")),
        _ => Err(node.fault("must name one of from and value")),
    };
    Ok(FieldRule {
        source: source?,
        kind: kind?,
        null_policy: null_policy?,
    })
}

fn constant(node: &Node<'_>) -> Read<Constant> {
    match node.value {
        DeValue::String(text) => Ok(Constant::Text(text.clone().into_owned())),
        DeValue::Boolean(flag) => Ok(Constant::Boolean(*flag)),
        DeValue::Integer(number) if number.radix() == 10 => {
            Ok(Constant::Number(json_number(number.as_str())))
        }
        DeValue::Float(number) if number.as_str().bytes().any(|byte| byte.is_ascii_digit()) => {
            Ok(Constant::Number(json_number(number.as_str())))
        }
        _ => Err(node.fault("must be a text, a decimal number, true or false")),
    }
}

/// TOML allows a plus in front, which JSON does not.
fn json_number(number: &str) -> String {
    number.trim_start_matches('+').to_owned()
}
