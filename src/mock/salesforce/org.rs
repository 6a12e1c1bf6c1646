//! The org: its records, and the rules by which each is created, changed or deleted, one at a time.
//!
//! Every interface (single records, collections, bulk) writes through here, so they cannot come to differ.

use std::collections::HashSet;
use std::sync::Arc;

use jiff::Timestamp;

use super::check::{self, Source};
use super::error::{Detail, RecordError};
use super::id;
use crate::mock::crm::{Field, Fields, Key, Object, Record, Schema, Store, Value};

#[derive(Debug)]
pub(super) struct Org {
    pub(super) schema: Arc<Schema>,
    pub(super) store: Store,
    deleted: HashSet<String>,
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) id: String,
    pub(super) did: Did,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Did {
    Create,
    Change,
}

/// What an upsert does where no record matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    Create,
    Refuse,
}

/// The external id that an upsert goes by.
#[derive(Debug, Clone, Copy)]
pub(super) struct ExternalId<'a> {
    pub(super) field: &'a str,
    pub(super) value: &'a str,
}

/// How and when a record's values came.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrival {
    pub(super) source: Source,
    pub(super) now: Timestamp,
}

impl Org {
    pub(super) fn new(schema: Arc<Schema>) -> Self {
        Self {
            store: Store::new(Arc::clone(&schema)),
            schema,
            deleted: HashSet::new(),
        }
    }

    pub(super) fn clear(&mut self) {
        self.store.clear();
        self.deleted.clear();
    }

    /// The external id field of this name, as the schema has it.
    pub(super) fn external_id<'s>(object: &'s Object, field: &str) -> Option<&'s str> {
        object
            .field(field)
            .filter(|(_, field)| field.key != Key::No)
            .map(|(name, _)| name)
    }

    pub(super) fn create(
        &mut self,
        object: &str,
        fields: &Fields,
        at: Arrival,
    ) -> Result<Written, RecordError> {
        let (kind, schema) = (object, Arc::clone(&self.schema));
        let object = known(&schema, kind)?;
        let values = self.resolve(kind, object, fields, at.source)?;
        require(object, |name| {
            values.get(name).is_some_and(|value| *value != Value::Null)
        })?;
        self.check_unique(kind, object, &values, None)?;
        let id = id::make(&object.prefix, self.store.next_number());
        self.store.insert(kind, id.clone(), values, at.now);
        Ok(Written { id, did: Did::Create })
    }

    pub(super) fn update(
        &mut self,
        object: &str,
        id: &str,
        fields: &Fields,
        at: Arrival,
    ) -> Result<Written, RecordError> {
        let (kind, schema) = (object, Arc::clone(&self.schema));
        let object = known(&schema, kind)?;
        let id = self.record(kind, id)?.id.clone();
        let values = self.resolve(kind, object, fields, at.source)?;
        require(object, |name| values.get(name) != Some(&Value::Null))?;
        self.check_unique(kind, object, &values, Some(&id))?;
        self.store.update(kind, &id, values, at.now);
        Ok(Written { id, did: Did::Change })
    }

    pub(super) fn upsert(
        &mut self,
        object: &str,
        by: ExternalId<'_>,
        fields: &Fields,
        missing: Missing,
        at: Arrival,
    ) -> Result<Written, RecordError> {
        let found = self.store.find(object, by.field, by.value);
        match (found.as_slice(), missing) {
            ([one], _) => {
                let id = one.id.clone();
                self.update(object, &id, fields, at)
            }
            ([], Missing::Create) => {
                let mut fields = fields.clone();
                fields.insert(by.field.to_owned(), Value::text(by.value));
                self.create(object, &fields, at)
            }
            ([], Missing::Refuse) => Err(RecordError::unparsed(
                "NOT_FOUND",
                "The requested resource does not exist",
            )),
            (several, _) => Err(ambiguous(by.field, several)),
        }
    }

    pub(super) fn delete(&mut self, object: &str, id: &str) -> Result<String, RecordError> {
        let id = self.record(object, id)?.id.clone();
        self.store.delete(object, &id);
        self.deleted.insert(id.clone());
        Ok(id)
    }

    /// The record with this id, or why there is none.
    pub(super) fn record(&self, object: &str, id: &str) -> Result<&Record, RecordError> {
        let Some(id) = id::normal(id) else {
            let message = format!("{object} ID: id value of incorrect type: {id}");
            return Err(RecordError::of("MALFORMED_ID", message, &["Id"]));
        };
        self.store.get(object, &id).ok_or_else(|| {
            if self.deleted.contains(&id) {
                RecordError::of("ENTITY_IS_DELETED", "entity is deleted", &[])
            } else {
                RecordError {
                    detail: Detail::NoRecord,
                    ..RecordError::of("INVALID_CROSS_REFERENCE_KEY", "invalid cross reference id", &[])
                }
            }
        })
    }

    /// The object that an id belongs to.
    pub(super) fn object_of(&self, id: &str) -> Option<String> {
        let prefix = id.get(..3)?;
        let mut objects = self.schema.objects();
        objects
            .find(|(_, object)| object.prefix == prefix)
            .map(|(name, _)| name.to_owned())
    }

    /// The values as the fields keep them, names as the schema has them, parents as their ids.
    fn resolve(
        &self,
        kind: &str,
        object: &Object,
        fields: &Fields,
        source: Source,
    ) -> Result<Fields, RecordError> {
        let mut values = Fields::new();
        for (name, value) in fields.iter().filter(|(name, _)| *name != "attributes") {
            if let Some((name, field)) = object.field(name) {
                if field.read_only {
                    return Err(not_writable(name));
                }
                let value = check::fit(name, field, value, source)?;
                self.check_parent(name, field, &value)?;
                values.insert(name.to_owned(), value);
            } else if let Some((reference, field)) = object.relationship(name) {
                values.insert(reference.to_owned(), self.parent(field, value)?);
            } else {
                let message = format!("No such column '{name}' on sobject of type {kind}");
                return Err(RecordError::unparsed("INVALID_FIELD", message));
            }
        }
        Ok(values)
    }

    /// The id of the parent that `{"Ext__c": "value"}` names.
    fn parent(&self, field: &Field, value: &Value) -> Result<Value, RecordError> {
        let (Some(to), Some(reference)) = (&field.to, value.as_object()) else {
            return Ok(Value::Null);
        };
        let mut keys = reference.iter().filter(|(name, _)| *name != "attributes");
        let Some((key, value)) = keys.next() else {
            return Ok(Value::Null);
        };
        let external_id = self
            .schema
            .object(to)
            .and_then(|(_, object)| Self::external_id(object, key));
        let Some(external_id) = external_id else {
            let message = format!("{key} is not a valid External ID field for entity {to}");
            return Err(RecordError::unparsed("INVALID_FIELD", message));
        };
        let value = value.as_text().unwrap_or_default();
        match self.store.find(to, external_id, value).as_slice() {
            [parent] => Ok(Value::text(&parent.id)),
            [] => Err(RecordError::of(
                "INVALID_FIELD",
                format!("Foreign key external ID: {value} not found for field {external_id} in entity {to}"),
                &[],
            )),
            several => Err(ambiguous(external_id, several)),
        }
    }

    fn check_parent(&self, name: &str, field: &Field, value: &Value) -> Result<(), RecordError> {
        match (&field.to, value) {
            (Some(to), Value::Text(id)) if self.store.get(to, id).is_none() => Err(RecordError::of(
                "INVALID_CROSS_REFERENCE_KEY",
                "invalid cross reference id",
                &[name],
            )),
            _ => Ok(()),
        }
    }

    fn check_unique(
        &self,
        kind: &str,
        object: &Object,
        values: &Fields,
        own: Option<&str>,
    ) -> Result<(), RecordError> {
        for (name, value) in values {
            let unique = object
                .fields
                .get(name)
                .is_some_and(|field| field.key == Key::Unique);
            let Some(value) = value.as_text().filter(|_| unique) else {
                continue;
            };
            let holders = self.store.find(kind, name, value);
            if let Some(other) = holders.iter().find(|record| Some(record.id.as_str()) != own) {
                let message = format!(
                    "duplicate value found: {name} duplicates value on record with id: {}",
                    other.id
                );
                return Err(RecordError::of("DUPLICATE_VALUE", message, &[]));
            }
        }
        Ok(())
    }
}

fn known<'s>(schema: &'s Schema, name: &str) -> Result<&'s Object, RecordError> {
    let missing = || RecordError::unparsed("NOT_FOUND", "The requested resource does not exist");
    schema.object(name).map(|(_, object)| object).ok_or_else(missing)
}

fn require(object: &Object, has: impl Fn(&str) -> bool) -> Result<(), RecordError> {
    let required = object.fields.iter().filter(|(_, field)| field.required);
    let missing: Vec<&str> = required
        .map(|(name, _)| name.as_str())
        .filter(|name| !has(name))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let message = format!("Required fields are missing: [{}]", missing.join(", "));
    Err(RecordError::of("REQUIRED_FIELD_MISSING", message, &missing))
}

fn not_writable(name: &str) -> RecordError {
    let message = format!(
        "Unable to create/update fields: {name}. Please check the security settings of this field and verify that \
         it is read/write for your profile or permission set."
    );
    RecordError::of("INVALID_FIELD_FOR_INSERT_UPDATE", message, &[name])
}

fn ambiguous(field: &str, records: &[&Record]) -> RecordError {
    let ids: Vec<String> = records.iter().map(|record| record.id.clone()).collect();
    let message = format!(
        "{field}: more than one record found for external id field: [{}]",
        ids.join(", ")
    );
    RecordError {
        detail: Detail::Matches(ids),
        ..RecordError::of("DUPLICATE_EXTERNAL_ID", message, &[field])
    }
}
