//! What the org says of its objects, as far as rows depend on it, and which of them must be looked at. Pure.

use std::collections::HashMap;

use serde::Deserialize;

use crate::destination::answer::Answer;
use crate::destination::salesforce::classify::described;
use crate::destination::salesforce::rendering::SalesforceRendering;
use crate::destination::salesforce::wire::problem;

/// A reference can be to dozens of objects, each of which would cost a call: of one, no more are looked at.
const MOST_TARGETS: usize = 8;

/// The description of an object.
#[derive(Debug, Deserialize)]
pub(super) struct Described {
    pub(super) createable: bool,
    pub(super) updateable: bool,
    fields: Vec<Field>,
}

/// The description of a field.
#[expect(clippy::struct_excessive_bools, reason = "as Salesforce describes a field")]
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Field {
    name: String,
    #[serde(default)]
    relationship_name: Option<String>,
    /// The objects that a reference can be to.
    #[serde(default)]
    pub(super) reference_to: Vec<String>,
    #[serde(default)]
    pub(super) external_id: bool,
    /// Whether a reference may name its record by this field, as by an External ID.
    #[serde(default)]
    id_lookup: bool,
    #[serde(default)]
    pub(super) unique: bool,
    pub(super) createable: bool,
    pub(super) updateable: bool,
}

impl Field {
    /// Those of the objects it can be to that are looked at.
    pub(super) fn targets(&self) -> &[String] {
        &self.reference_to[..self.reference_to.len().min(MOST_TARGETS)]
    }

    /// Whether a reference may name its record by this field.
    pub(super) fn finds_records(&self) -> bool {
        self.external_id || self.id_lookup
    }
}

impl Described {
    /// The field of this name. Salesforce tells names apart without regard to case.
    pub(super) fn field(&self, name: &str) -> Option<&Field> {
        self.fields
            .iter()
            .find(|field| field.name.eq_ignore_ascii_case(name))
    }

    /// The reference that takes a record under this name.
    pub(super) fn related(&self, relationship: &str) -> Option<&Field> {
        let is_it = |field: &&Field| {
            let name = field.relationship_name.as_deref();
            name.is_some_and(|name| name.eq_ignore_ascii_case(relationship))
        };
        self.fields.iter().find(is_it)
    }
}

/// What a look at an object came to.
#[derive(Debug)]
pub(super) enum Seen {
    Described(Described),
    /// It is not there, or not for this user.
    Hidden,
    /// It could not be seen; why.
    Unclear(String),
}

impl Seen {
    /// Reads the answer to a describe.
    pub(super) fn of(answer: &Answer) -> Self {
        if answer.status == 404 {
            return Self::Hidden;
        }
        let read = (answer.status == 200).then(|| serde_json::from_slice(&answer.body).ok());
        match read.flatten() {
            Some(description) => Self::Described(description),
            None => Self::Unclear(described(answer.status, problem(answer).as_ref())),
        }
    }
}

/// The objects that were looked at, by their names in lower case.
#[derive(Debug, Default)]
pub(super) struct Objects(HashMap<String, Seen>);

impl Objects {
    pub(super) fn insert(&mut self, name: &str, seen: Seen) {
        self.0.insert(name.to_ascii_lowercase(), seen);
    }

    pub(super) fn get(&self, name: &str) -> Option<&Seen> {
        self.0.get(&name.to_ascii_lowercase())
    }

    /// The object to look at next for rows of `rendering`: the one that they go to, then those that they refer to. None if all is
    /// known that matters.
    pub(super) fn wanted<'a>(&'a self, rendering: &'a SalesforceRendering) -> Option<&'a str> {
        let own = match self.get(&rendering.object) {
            None => return Some(&rendering.object),
            Some(Seen::Described(own)) => own,
            Some(Seen::Hidden | Seen::Unclear(_)) => return None,
        };
        let mut references = rendering
            .mapping
            .fields
            .keys()
            .filter_map(|name| name.split_once('.'));
        references.find_map(|(relationship, id)| {
            let targets = own.related(relationship)?.targets();
            if self.found_in(targets, id).is_some() {
                return None;
            }
            targets
                .iter()
                .find(|name| self.get(name).is_none())
                .map(String::as_str)
        })
    }

    /// The first of `targets` whose records are found by the field `id`.
    pub(super) fn found_in<'a>(&self, targets: &'a [String], id: &str) -> Option<&'a str> {
        let finds = |name: &&String| match self.get(name) {
            Some(Seen::Described(target)) => target.field(id).is_some_and(Field::finds_records),
            _ => false,
        };
        targets.iter().find(finds).map(String::as_str)
    }
}
