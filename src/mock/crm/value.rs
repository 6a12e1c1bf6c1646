//! A field's value as a CRM keeps it. Numbers stay the digits that were sent, so that none is lost on the way.

use std::collections::BTreeMap;

use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Error as _, Serialize, Serializer};
use serde_json::value::RawValue;

/// The fields of a record, by name.
pub type Fields = BTreeMap<String, Value>;

/// A JSON value whose numbers are text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, exactly as it was written.
    Number(String),
    /// A string.
    Text(String),
    /// An array.
    List(Vec<Value>),
    /// An object, such as the reference to a parent.
    Object(Fields),
}

impl Value {
    /// A text, from whatever can be one.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// The text of a string, a number or a boolean; none of anything else.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) | Self::Number(text) => Some(text),
            Self::Bool(true) => Some("true"),
            Self::Bool(false) => Some("false"),
            Self::Null | Self::List(_) | Self::Object(_) => None,
        }
    }

    /// The fields, if it is an object.
    pub fn as_object(&self) -> Option<&Fields> {
        match self {
            Self::Object(fields) => Some(fields),
            _ => None,
        }
    }

    /// The items, if it is an array.
    pub fn as_list(&self) -> Option<&[Value]> {
        match self {
            Self::List(items) => Some(items),
            _ => None,
        }
    }

    /// What a message calls this kind of value, as the JSON reader of Salesforce does.
    pub fn token(&self) -> &'static str {
        match self {
            Self::Null => "VALUE_NULL",
            Self::Bool(true) => "VALUE_TRUE",
            Self::Bool(false) => "VALUE_FALSE",
            Self::Number(_) => "VALUE_NUMBER",
            Self::Text(_) => "VALUE_STRING",
            Self::List(_) => "START_ARRAY",
            Self::Object(_) => "START_OBJECT",
        }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Number(digits) => RawValue::from_string(digits.clone())
                .map_err(S::Error::custom)?
                .serialize(serializer),
            Self::Text(text) => serializer.serialize_str(text),
            Self::List(items) => items.serialize(serializer),
            Self::Object(fields) => fields.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        read(raw.get()).map_err(D::Error::custom)
    }
}

fn read(json: &str) -> serde_json::Result<Value> {
    Ok(match json.as_bytes().first() {
        Some(b'n') => Value::Null,
        Some(b't' | b'f') => Value::Bool(serde_json::from_str(json)?),
        Some(b'"') => Value::Text(serde_json::from_str(json)?),
        Some(b'[') => Value::List(serde_json::from_str(json)?),
        Some(b'{') => Value::Object(serde_json::from_str(json)?),
        _ => Value::Number(json.to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_digit_of_a_number_survives() {
        let json = r#"{"a":0.10000000000000000555,"b":[12345678901234567890123,null,true],"c":{"d":"e"}}"#;
        let value: Value = serde_json::from_str(json).unwrap();
        assert_eq!(serde_json::to_string(&value).unwrap(), json);
    }
}
