//! The bodies of HubSpot's CRM calls, read and written. No decision is made here.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::refusal::Refusal;

/// The inputs of a batch.
#[derive(Debug, Deserialize)]
pub(super) struct Batch<T> {
    pub(super) inputs: Vec<T>,
}

/// One input of a batch that writes. `id` is absent in creates, the rest as the caller likes.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WriteInput {
    #[serde(default, deserialize_with = "optional_text")]
    pub(super) id: Option<String>,
    #[serde(default)]
    pub(super) id_property: Option<String>,
    #[serde(default)]
    pub(super) properties: Properties,
    #[serde(default)]
    pub(super) object_write_trace_id: Option<String>,
}

/// `batch/read`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct BatchRead {
    #[serde(default)]
    pub(super) id_property: Option<String>,
    #[serde(default)]
    pub(super) properties: Vec<String>,
    pub(super) inputs: Vec<IdInput>,
}

/// A record named by its id.
#[derive(Debug, Deserialize)]
pub(super) struct IdInput {
    #[serde(deserialize_with = "text")]
    pub(super) id: String,
}

/// The body of a single create or update.
#[derive(Debug, Deserialize)]
pub(super) struct Single {
    #[serde(default)]
    pub(super) properties: Properties,
}

/// `POST /crm/v3/objects/{type}/merge`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Merge {
    #[serde(deserialize_with = "text")]
    pub(super) primary_object_id: String,
    #[serde(deserialize_with = "text")]
    pub(super) object_id_to_merge: String,
}

/// Values by property. A `null` is left out, as it changes nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Properties(pub(super) BTreeMap<String, String>);

impl<'de> Deserialize<'de> for Properties {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let given = BTreeMap::<String, Value>::deserialize(deserializer)?;
        let kept = given.into_iter().filter(|(_, value)| !value.is_null());
        let texts = kept.map(|(name, value)| Ok((name, as_text(value)?)));
        Ok(Self(texts.collect::<Result<_, D::Error>>()?))
    }
}

/// Reads a body, or says as HubSpot does where it is wrong.
pub(super) fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Refusal> {
    serde_json::from_slice(body).map_err(|error| {
        let message = format!(
            "Invalid input JSON on line {}, column {}: {error}",
            error.line(),
            error.column()
        );
        Refusal::Malformed { message }
    })
}

/// Strings as they are, numbers and booleans in their spelling: HubSpot's parser is as lenient.
fn as_text<E: serde::de::Error>(value: Value) -> Result<String, E> {
    match value {
        Value::String(text) => Ok(text),
        Value::Number(number) => Ok(number.to_string()),
        Value::Bool(flag) => Ok(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => Err(E::custom(
            "Cannot deserialize value of type `java.lang.String` from Object value",
        )),
    }
}

fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    as_text(Value::deserialize(deserializer)?)
}

fn optional_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::Null => Ok(None),
        value => as_text(value).map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_null_is_left_out_and_an_empty_string_is_kept() {
        let read: Single = read(br#"{"properties":{"a":null,"b":"","c":7,"d":true}}"#).unwrap();
        let kept = [("b", ""), ("c", "7"), ("d", "true")];
        let kept = kept.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(read.properties, Properties(kept.into()));
    }

    #[test]
    fn a_body_that_is_no_json_is_refused_with_its_line_and_column() {
        let refused = read::<Single>(b"{\n \"properties\": {\n  \"a\": }\n}").unwrap_err();
        let message = refused.body("c")["message"].as_str().unwrap().to_owned();
        assert!(
            message.starts_with("Invalid input JSON on line 3, column 8: "),
            "{message}"
        );
    }
}
