//! Field mapping: from a row's payload to the fields of a record in a CRM.
//!
//! Pure, and neutral between receivers: what comes out are typed values, which each destination writes in its own way
//! (`null` or an empty string, a number or its digits in quotes). No number passes through a float; what stands in the
//! payload is what is sent, digit by digit.

mod moment;
mod source;
mod value;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::row::OutboxRow;
use source::{Found, Members};

/// Which field of a record comes from where. Part of a rendering: what was sent once is sent again alike.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mapping {
    /// The rules by the name of the record's field.
    pub fields: BTreeMap<String, FieldRule>,
    /// What a null becomes where the field's rule does not say.
    pub null_policy: NullPolicy,
}

/// Where one field comes from, and as what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FieldRule {
    /// What it is made of.
    pub source: Source,
    /// What it is written as; none: as it stands in the payload.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub kind: Option<FieldKind>,
    /// Goes before the mapping's own.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub null_policy: Option<NullPolicy>,
}

/// What a field is made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The value at this path in the payload: the keys of nested objects, at least one.
    Path(Vec<String>),
    /// The same for every row.
    Constant(Constant),
}

/// A value from the configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Constant {
    /// A text.
    Text(String),
    /// A number, as JSON writes it.
    Number(String),
    /// True or false.
    Boolean(bool),
}

/// What a value is written as, whatever it is in the payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FieldKind {
    /// A text; numbers with every digit.
    Text,
    /// A number; from a text too.
    Number,
    /// True or false; also from 0 and 1 and from the words `true`, `false`, `t`, `f`, `yes`, `no`, `y`, `n`.
    Boolean,
    /// `YYYY-MM-DD`: the day that is written in a date or a time, or the UTC day of epoch milliseconds.
    Date,
    /// A time in UTC with milliseconds. A time without a zone is taken as UTC; a whole number as epoch milliseconds.
    Datetime,
    /// An array of texts, numbers and booleans as one text, `a;b;c`.
    List,
}

/// What becomes of a field whose value is null.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NullPolicy {
    /// The record's field is emptied.
    Clear,
    /// The record's field stays as it is.
    Omit,
}

/// The fields of one record, in the order of their names.
pub type Record<'a> = Vec<(&'a str, Value<'a>)>;

/// The value of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value<'a> {
    /// The field is to be emptied.
    Clear,
    /// True or false.
    Boolean(bool),
    /// A number as JSON writes it, with the digits that it came with.
    Number(Cow<'a, str>),
    /// A text. Dates and times are texts.
    Text(Cow<'a, str>),
}

/// A row of which no record can be made. It says where, and never what stands there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("row {row}: {problem}")]
pub struct BadRow {
    /// Topic and row key.
    pub row: String,
    /// What is wrong with it.
    pub problem: BadPayload,
}

/// Why no record can be made of a payload.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadPayload {
    /// Fields come from the keys of an object.
    #[error("the payload is not a JSON object, so no field can be taken from it")]
    NotAnObject,
    /// A field cannot be made.
    #[error("field `{field}` (from `{from}`) {problem}")]
    Field {
        /// The record's field.
        field: String,
        /// Its path in the payload.
        from: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The record's id is to come from the payload, and is not there.
    #[error("`{from}` has no value, and the record's id comes from there")]
    NoId {
        /// Its path in the payload.
        from: String,
    },
    /// A delete has no payload for the record's id to come from.
    #[error(
        "a delete has no payload, and the record's id comes from `{from}` there; let it come from the row key"
    )]
    DeleteWithoutId {
        /// Its path in the payload.
        from: String,
    },
}

impl Mapping {
    /// The record of `row`. A key that is absent leaves its field out; a null follows the null policy.
    pub fn record<'a>(&'a self, row: &'a OutboxRow) -> Result<Record<'a>, BadRow> {
        self.read(&row.payload).map_err(|problem| bad(row, problem))
    }

    fn read<'a>(&'a self, payload: &'a str) -> Result<Record<'a>, BadPayload> {
        let members = Members::of(payload).ok_or(BadPayload::NotAnObject)?;
        let mut record = Record::with_capacity(self.fields.len());
        for (field, rule) in &self.fields {
            let value = match &rule.source {
                Source::Constant(constant) => Ok(Some(constant.value())),
                Source::Path(path) => self.at(&members, path, rule),
            };
            let value = value.map_err(|problem| BadPayload::Field {
                field: field.clone(),
                from: rule.source.to_string(),
                problem,
            })?;
            record.extend(value.map(|value| (field.as_str(), value)));
        }
        Ok(record)
    }

    fn at<'a>(
        &self,
        members: &Members<'a>,
        path: &[String],
        rule: &FieldRule,
    ) -> Result<Option<Value<'a>>, &'static str> {
        match members.at(path)? {
            Found::Nothing => Ok(None),
            Found::Null => Ok(match rule.null_policy.unwrap_or(self.null_policy) {
                NullPolicy::Clear => Some(Value::Clear),
                NullPolicy::Omit => None,
            }),
            Found::Json(json) => value::read(json, rule.kind).map(Some),
        }
    }
}

/// The id of the record that `row` is about: its row key, or what stands at `from` in its payload.
pub fn record_id<'a>(row: &'a OutboxRow, from: Option<&[String]>) -> Result<Cow<'a, str>, BadRow> {
    let Some(path) = from else {
        return Ok(Cow::Borrowed(&row.row.row_key));
    };
    let from = path.join(".");
    if row.op == super::row::Op::Delete {
        return Err(bad(row, BadPayload::DeleteWithoutId { from }));
    }
    let members = Members::of(&row.payload).ok_or_else(|| bad(row, BadPayload::NotAnObject))?;
    let found = members.at(path).and_then(|found| match found {
        Found::Json(json) => value::read(json, Some(FieldKind::Text)).map(Some),
        Found::Nothing | Found::Null => Ok(None),
    });
    match found {
        Ok(Some(Value::Text(id))) if !id.is_empty() => Ok(id),
        _ => Err(bad(row, BadPayload::NoId { from })),
    }
}

fn bad(row: &OutboxRow, problem: BadPayload) -> BadRow {
    BadRow {
        row: row.row.to_string(),
        problem,
    }
}

impl Constant {
    fn value(&self) -> Value<'_> {
        match self {
            Self::Text(text) => Value::Text(Cow::Borrowed(text)),
            Self::Number(digits) => Value::Number(Cow::Borrowed(digits)),
            Self::Boolean(flag) => Value::Boolean(*flag),
        }
    }
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Path(path) => f.write_str(&path.join(".")),
            Self::Constant(_) => f.write_str("a constant"),
        }
    }
}
