//! The objects of a CRM and their fields, from a small TOML. Pure: it holds no record.
//!
//! ```toml
//! [Account]
//! prefix = "001"                                   # of record ids
//! fields.Name = { type = "text", required = true, length = 255 }
//! fields.Ext__c = { type = "text", key = "unique" }
//! fields.ParentId = { type = "reference", to = "Account", relationship = "Parent" }
//! ```

use std::collections::BTreeMap;

use serde::Deserialize;

/// All objects, by name.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Schema {
    objects: BTreeMap<String, Object>,
}

/// A kind of record.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Object {
    /// What the ids of its records begin with: the key prefix of Salesforce, the object type id of HubSpot.
    pub prefix: String,
    /// Its fields, by name. Those that the system itself keeps are not among them.
    pub fields: BTreeMap<String, Field>,
}

/// A field (Salesforce) or property (HubSpot).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Field {
    /// What values it takes.
    #[serde(rename = "type")]
    pub kind: FieldType,
    /// Whether a record needs it.
    #[serde(default)]
    pub required: bool,
    /// Whether records are found by it.
    #[serde(default)]
    pub key: Key,
    /// Whether only the system may write it.
    #[serde(default)]
    pub read_only: bool,
    /// The most characters that a text may have.
    pub length: Option<usize>,
    /// The values that a choice takes.
    #[serde(default)]
    pub values: Vec<String>,
    /// The object that a reference points to.
    pub to: Option<String>,
    /// The name under which a reference takes the parent by its external id, such as `Parent__r`.
    pub relationship: Option<String>,
}

/// What values a field takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FieldType {
    /// Any text.
    Text,
    /// An e-mail address.
    Email,
    /// A decimal number.
    Number,
    /// An amount of money.
    Currency,
    /// A whole number.
    Integer,
    /// True or false.
    Boolean,
    /// A day.
    Date,
    /// A moment.
    Datetime,
    /// One of `values`.
    Choice,
    /// Any of `values`, separated by semicolons.
    Choices,
    /// The id of another record.
    Reference,
}

/// Whether records are found by a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Key {
    /// They are not.
    #[default]
    No,
    /// They are, but several may hold the same value: an external id of Salesforce that is not unique.
    ExternalId,
    /// They are, and no two hold the same value.
    Unique,
}

/// Why a text is no schema.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    /// It cannot be read.
    #[error("the schema cannot be read: {0}")]
    Unreadable(#[from] toml::de::Error),
    /// A reference to nowhere.
    #[error(
        "the field {object}.{field} is a reference; give it `to` with the name of an object of the schema"
    )]
    Reference {
        /// The object.
        object: String,
        /// The field.
        field: String,
    },
    /// A choice without values.
    #[error("the field {object}.{field} is a choice; give it `values`")]
    Choice {
        /// The object.
        object: String,
        /// The field.
        field: String,
    },
}

impl Schema {
    /// Reads a schema; the module's page shows one.
    pub fn parse(text: &str) -> Result<Self, SchemaError> {
        let schema: Self = toml::from_str(text)?;
        for (object, field, found) in schema.all_fields() {
            let (object, field) = (object.to_owned(), field.to_owned());
            let points = found
                .to
                .as_ref()
                .is_some_and(|to| schema.objects.contains_key(to));
            match found.kind {
                FieldType::Reference if !points => return Err(SchemaError::Reference { object, field }),
                FieldType::Choice | FieldType::Choices if found.values.is_empty() => {
                    return Err(SchemaError::Choice { object, field });
                }
                _ => {}
            }
        }
        Ok(schema)
    }

    /// The object of this name, compared without regard to case, with the name as the schema has it.
    pub fn object(&self, name: &str) -> Option<(&str, &Object)> {
        self.objects
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(known, object)| (known.as_str(), object))
    }

    /// The objects with their names.
    pub fn objects(&self) -> impl Iterator<Item = (&str, &Object)> {
        self.objects.iter().map(|(name, object)| (name.as_str(), object))
    }

    fn all_fields(&self) -> impl Iterator<Item = (&str, &str, &Field)> {
        self.objects().flat_map(|(object, found)| {
            let fields = found.fields.iter();
            fields.map(move |(name, field)| (object, name.as_str(), field))
        })
    }
}

impl Object {
    /// The field of this name, compared without regard to case, with the name as the schema has it.
    pub fn field(&self, name: &str) -> Option<(&str, &Field)> {
        // The usual spelling first: it is asked for each value of each record.
        if let Some((known, field)) = self.fields.get_key_value(name) {
            return Some((known, field));
        }
        self.fields
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(known, field)| (known.as_str(), field))
    }

    /// The reference that takes its parent under this relationship name, with its field name.
    pub fn relationship(&self, name: &str) -> Option<(&str, &Field)> {
        let named = |field: &Field| {
            let known = field.relationship.as_deref();
            known.is_some_and(|known| known.eq_ignore_ascii_case(name))
        };
        self.fields
            .iter()
            .find(|(_, field)| named(field))
            .map(|(known, field)| (known.as_str(), field))
    }

    /// The names of the fields that records are found by.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.fields
            .iter()
            .filter(|(_, field)| field.key != Key::No)
            .map(|(name, _)| name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_in_a_schema_is_named_with_the_way_out() {
        let message = |field: &str| {
            let text = format!("[Account]\nprefix = \"001\"\nfields.X = {{ {field} }}");
            Schema::parse(&text).unwrap_err().to_string()
        };
        assert!(
            message(r#"type = "reference""#).contains("the field Account.X is a reference; give it `to`")
        );
        assert!(message(r#"type = "choice""#).contains("give it `values`"));
        assert!(message(r#"type = "txt""#).contains("unknown variant `txt`"));
        assert!(message(r#"type = "text", unique = true"#).contains("unknown field `unique`"));
    }
}
