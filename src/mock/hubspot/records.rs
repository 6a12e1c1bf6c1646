//! The records of a portal: which record an id stands for, which values are taken, and what is written.
//!
//! It adds to the shared store what is HubSpot's own: addresses by which a contact is also known, and ids that were
//! merged into another. It knows no HTTP.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::refusal::{InvalidProperty, Refusal};
use super::values::{self, iso};
use super::wire::Properties;
use crate::mock::crm::{Field, Fields, Key, Object, Record, Schema, Store, Value};

/// Ids have as many digits as those of large portals, which also keeps them in order as texts.
const FIRST_ID: u64 = 12_877_907_000;
/// The property that holds further addresses of a contact, joined by `;`.
const FURTHER_ADDRESSES: &str = "hs_additional_emails";
/// The object whose records are also known by further addresses.
const CONTACTS: &str = "contacts";

/// An object type of the schema.
#[derive(Debug, Clone, Copy)]
pub(super) struct ObjectType<'a> {
    /// As paths have it: `contacts`.
    pub(super) name: &'a str,
    pub(super) object: &'a Object,
}

/// What an id stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    /// The record of this id.
    Record(String),
    /// A record that was merged into this one.
    Merged(String),
    Nothing,
}

/// All records of a portal.
#[derive(Debug)]
pub(super) struct Records {
    portal: u64,
    pub(super) store: Store,
    /// From a further address, in lower case, to the contact's id.
    further_addresses: BTreeMap<String, String>,
    /// From object type and id to the id of the record that it was merged into.
    merged: BTreeMap<(String, String), String>,
}

impl<'a> ObjectType<'a> {
    /// The object type that a path names: `contacts`, `contact` or `0-1`.
    pub(super) fn of(schema: &'a Schema, name: &str) -> Result<Self, Refusal> {
        let found = schema
            .objects()
            .map(|(name, object)| Self { name, object })
            .find(|known| known.answers_to(name));
        found.ok_or_else(|| Refusal::Validation {
            message: format!("Unable to infer object type from: {name}"),
        })
    }

    /// `Contact` for `contacts`.
    pub(super) fn noun(&self) -> String {
        let singular = match self.name.strip_suffix("ies") {
            Some(stem) => format!("{stem}y"),
            None => self.name.strip_suffix('s').unwrap_or(self.name).to_owned(),
        };
        let mut letters = singular.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        first.into_iter().chain(letters).collect()
    }

    /// The system's own properties of a record.
    pub(super) fn system_properties(&self) -> [&'static str; 4] {
        let modified = if self.name == CONTACTS {
            "lastmodifieddate"
        } else {
            "hs_lastmodifieddate"
        };
        ["hs_object_id", "createdate", modified, "hs_object_source"]
    }

    /// What the system says of a record in one of its own properties.
    pub(super) fn system_value(&self, name: &str, record: &Record) -> Option<String> {
        let [id, created, modified, source] = self.system_properties();
        match name {
            _ if name == id => Some(record.id.clone()),
            _ if name == created => Some(iso(record.created)),
            _ if name == modified => Some(iso(record.modified)),
            _ if name == source => Some("INTEGRATION".to_owned()),
            _ => None,
        }
    }

    /// Whether a new record has the values that it needs.
    pub(super) fn check_required(&self, fields: &Fields) -> Result<(), Refusal> {
        let given = |name: &str| fields.get(name).is_some_and(|value| *value != Value::Null);
        let properties = self.object.fields.iter();
        let missing = properties.filter(|(name, property)| property.required && !given(name));
        let missing: Vec<&str> = missing.map(|(name, _)| name.as_str()).collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(Refusal::Validation {
            message: format!(
                "Error creating {}. Some required properties were not set: [{}]",
                self.noun().to_uppercase(),
                missing.join(", ")
            ),
        })
    }

    fn answers_to(&self, name: &str) -> bool {
        self.name == name || self.object.prefix == name || self.noun().eq_ignore_ascii_case(name)
    }

    fn property(&self, name: &str) -> Option<&'a Field> {
        self.object.fields.get(name)
    }
}

impl Records {
    pub(super) fn new(portal: u64, schema: Arc<Schema>) -> Self {
        Self {
            portal,
            store: Store::new(schema),
            further_addresses: BTreeMap::new(),
            merged: BTreeMap::new(),
        }
    }

    pub(super) fn portal(&self) -> u64 {
        self.portal
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.store.clear();
        self.further_addresses.clear();
        self.merged.clear();
    }

    /// Whether records can be named by this property. Without one they are named by their own id, which as an
    /// `idProperty` is refused.
    pub(super) fn check_id_property(&self, of: ObjectType<'_>, property: &str) -> Result<(), Refusal> {
        match of.property(property) {
            Some(Field { key: Key::Unique, .. }) => Ok(()),
            _ => Err(Refusal::NonUniqueIdProperty {
                object_type: of.object.prefix.clone(),
                property: property.to_owned(),
                portal: self.portal,
            }),
        }
    }

    /// What this id stands for, by the unique property that was checked or by the records' own ids.
    pub(super) fn find(&self, of: ObjectType<'_>, id_property: Option<&str>, id: &str) -> Found {
        let Some(property) = id_property else {
            if self.store.get(of.name, id).is_some() {
                return Found::Record(id.to_owned());
            }
            let merged = self.merged.get(&(of.name.to_owned(), id.to_owned()));
            return merged.map_or(Found::Nothing, |into| Found::Merged(into.clone()));
        };
        let primary = self
            .store
            .find(of.name, property, id)
            .first()
            .map(|record| &record.id);
        let further = || {
            let addressed = of.name == CONTACTS && property == "email";
            addressed
                .then(|| self.further_addresses.get(&id.to_lowercase()))
                .flatten()
        };
        let found = primary.or_else(further).cloned();
        found.map_or(Found::Nothing, Found::Record)
    }

    /// The values as they would be kept, or all that are refused.
    pub(super) fn check(of: ObjectType<'_>, properties: &Properties) -> Result<Fields, Refusal> {
        let mut fields = Fields::new();
        let mut invalid = Vec::new();
        for (name, value) in &properties.0 {
            match Self::check_value(of, name, value) {
                Ok(value) if value.is_empty() => drop(fields.insert(name.clone(), Value::Null)),
                Ok(value) => drop(fields.insert(name.clone(), Value::Text(value))),
                Err(refused) => invalid.push(refused),
            }
        }
        if invalid.is_empty() {
            Ok(fields)
        } else {
            Err(Refusal::Properties(invalid))
        }
    }

    fn check_value(of: ObjectType<'_>, name: &str, value: &str) -> Result<String, InvalidProperty> {
        let property = of.property(name);
        if of.system_properties().contains(&name) || property.is_some_and(|property| property.read_only) {
            let message = format!("\"{name}\" is a read only property; its value cannot be set.");
            return Err(InvalidProperty::new(name, "READ_ONLY_VALUE", message));
        }
        let Some(property) = property else {
            let message = format!("Property \"{name}\" does not exist");
            return Err(InvalidProperty::new(name, "PROPERTY_DOESNT_EXIST", message));
        };
        if name == FURTHER_ADDRESSES {
            return Ok(value.to_lowercase());
        }
        values::take(name, property, value)
    }

    /// Stores a new record and returns its id, unless a unique value belongs to another record.
    pub(super) fn create(
        &mut self,
        of: ObjectType<'_>,
        fields: Fields,
        now: Timestamp,
    ) -> Result<String, Refusal> {
        self.check_unique(of, None, &fields)?;
        let id = (FIRST_ID + self.store.next_number()).to_string();
        self.keep_addresses(of, &id, &fields);
        self.store.insert(of.name, id.clone(), fields, now);
        Ok(id)
    }

    /// Changes a record, unless a unique value belongs to another one. An address by which the contact is also known
    /// does not become its primary one.
    pub(super) fn update(
        &mut self,
        of: ObjectType<'_>,
        id: &str,
        mut fields: Fields,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        self.check_unique(of, Some(id), &fields)?;
        let address = fields.get("email").and_then(Value::as_text);
        if address.is_some_and(|address| self.further_addresses.get(address).is_some_and(|of| of == id)) {
            fields.remove("email");
        }
        self.keep_addresses(of, id, &fields);
        self.store.update(of.name, id, fields, now);
        Ok(())
    }

    /// Archives a record. Says whether it was there.
    pub(super) fn archive(&mut self, of: ObjectType<'_>, id: &str) -> bool {
        if of.name == CONTACTS {
            self.further_addresses.retain(|_, contact| contact != id);
        }
        self.store.delete(of.name, id).is_some()
    }

    /// Merges one record into another: what the other lacks it gets, and the id of the one stands for the other.
    pub(super) fn merge(
        &mut self,
        of: ObjectType<'_>,
        from: &str,
        into: &str,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        let missing = || Refusal::UnknownIds {
            noun: of.noun(),
            ids: vec![from.to_owned(), into.to_owned()],
        };
        let kept = self.store.get(of.name, into).ok_or_else(missing)?.fields.clone();
        let gone = self.store.get(of.name, from).filter(|_| from != into);
        let gone = gone.ok_or_else(missing)?.fields.clone();
        self.archive(of, from);

        let text = |fields: &Fields, name: &str| fields.get(name).and_then(Value::as_text).map(str::to_owned);
        let mut gained: Fields = gone.clone();
        gained.retain(|name, _| !kept.contains_key(name));
        let addresses = [
            text(&kept, FURTHER_ADDRESSES),
            text(&gone, "email").filter(|_| kept.contains_key("email")),
            text(&gone, FURTHER_ADDRESSES),
        ];
        let addresses: Vec<String> = addresses.into_iter().flatten().collect();
        if of.name == CONTACTS && !addresses.is_empty() {
            gained.insert(FURTHER_ADDRESSES.to_owned(), Value::Text(addresses.join(";")));
        }
        self.keep_addresses(of, into, &gained);
        self.store.update(of.name, into, gained, now);

        for ((object, _), target) in &mut self.merged {
            if object == of.name && target == from {
                into.clone_into(target);
            }
        }
        self.merged
            .insert((of.name.to_owned(), from.to_owned()), into.to_owned());
        Ok(())
    }

    /// Does all of it or, after an error, nothing.
    pub(super) fn atomically<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let addresses = self.further_addresses.clone();
        self.store.begin();
        let done = work(self);
        if done.is_ok() {
            self.store.commit();
        } else {
            self.store.roll_back();
            self.further_addresses = addresses;
        }
        done
    }

    fn check_unique(&self, of: ObjectType<'_>, own: Option<&str>, fields: &Fields) -> Result<(), Refusal> {
        for (name, value) in fields {
            let unique = of
                .property(name)
                .is_some_and(|property| property.key == Key::Unique);
            let Some(value) = value.as_text().filter(|_| unique) else {
                continue;
            };
            match self.find(of, Some(name), value) {
                Found::Record(id) if own != Some(id.as_str()) => return Err(taken(of, name, value, id)),
                _ => {}
            }
        }
        Ok(())
    }

    fn keep_addresses(&mut self, of: ObjectType<'_>, id: &str, fields: &Fields) {
        let Some(value) = fields.get(FURTHER_ADDRESSES).filter(|_| of.name == CONTACTS) else {
            return;
        };
        self.further_addresses.retain(|_, contact| contact != id);
        let addresses = value.as_text().unwrap_or_default().split(';');
        let addresses = addresses.filter(|address| !address.is_empty());
        self.further_addresses
            .extend(addresses.map(|address| (address.to_owned(), id.to_owned())));
    }
}

/// HubSpot has a sentence of its own for a contact's address.
fn taken(of: ObjectType<'_>, property: &str, value: &str, id: String) -> Refusal {
    if property == "email" {
        return Refusal::Exists { noun: of.noun(), id };
    }
    Refusal::ValueTaken {
        property: property.to_owned(),
        value: value.to_owned(),
        id,
    }
}
