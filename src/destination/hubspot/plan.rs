//! From the deliveries of a batch to the rows of the calls that they need. Pure.
//!
//! HubSpot refuses a batch that names one record twice, so of two deliveries for one record the later one waits for the
//! next request.

use std::collections::{BTreeMap, HashSet};

use super::rendering::HubSpotRendering;
use super::request::UpsertRow;
use crate::core::canonical::canonical;
use crate::core::key::KeyForm;
use crate::core::mapping::{BadRow, Value, record_id};
use crate::core::row::Op;
use crate::destination::Outgoing;

/// What is to be called for a batch. Numbers are places in the batch.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) upserts: Part<UpsertRow>,
    /// Values of the id property.
    pub(super) deletes: Part<String>,
    /// For these nothing is sent.
    pub(super) left_out: Vec<(usize, LeftOut)>,
}

/// The rows of one call, and their places in the batch.
#[derive(Debug)]
pub(super) struct Part<T> {
    pub(super) places: Vec<usize>,
    pub(super) rows: Vec<T>,
}

/// Why nothing is sent for a delivery.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LeftOut {
    /// No record can be made of the row.
    NotRenderable(BadRow),
    /// The batch holds the same record already.
    SameRecord,
}

impl<T> Default for Part<T> {
    fn default() -> Self {
        Self {
            places: vec![],
            rows: vec![],
        }
    }
}

impl<T> Part<T> {
    fn push(&mut self, place: usize, row: T) {
        self.places.push(place);
        self.rows.push(row);
    }
}

impl Plan {
    /// Parts `batch` by what must be called.
    pub(super) fn of(rendering: &HubSpotRendering, batch: &[Outgoing]) -> Self {
        let mut plan = Self::default();
        let mut seen = HashSet::with_capacity(batch.len());
        for (place, outgoing) in batch.iter().enumerate() {
            match Step::of(rendering, outgoing) {
                Err(bad) => plan.left_out.push((place, LeftOut::NotRenderable(bad))),
                // HubSpot tells addresses apart without regard to case.
                Ok(step) if !seen.insert(step.id().to_lowercase()) => {
                    plan.left_out.push((place, LeftOut::SameRecord));
                }
                Ok(Step::Upsert(row)) => plan.upserts.push(place, row),
                Ok(Step::Delete(id)) => plan.deletes.push(place, id),
            }
        }
        plan
    }
}

enum Step {
    Upsert(UpsertRow),
    Delete(String),
}

impl Step {
    fn of(rendering: &HubSpotRendering, outgoing: &Outgoing) -> Result<Self, BadRow> {
        let row = &outgoing.row;
        let id = record_id(row, rendering.id_from())?.into_owned();
        if row.op == Op::Delete {
            return Ok(Self::Delete(id));
        }
        let record = rendering.mapping().record(row)?;
        let mut properties: BTreeMap<String, String> = record
            .into_iter()
            .map(|(property, value)| (property.to_owned(), text(value)))
            .collect();
        // HubSpot takes no partial upsert by `email`; repeating any other id property does no harm. It is the id that
        // finds the record, so a property of the same name cannot say something else.
        properties.insert(rendering.id_property().to_owned(), id.clone());
        Ok(Self::Upsert(UpsertRow {
            trace: outgoing.key.wire(KeyForm::Token),
            id,
            properties,
        }))
    }

    fn id(&self) -> &str {
        match self {
            Self::Upsert(row) => &row.id,
            Self::Delete(id) => id,
        }
    }
}

/// Every property is text on the wire, and the empty one clears. HubSpot reads no exponents.
fn text(value: Value<'_>) -> String {
    match value {
        Value::Clear => String::new(),
        Value::Boolean(flag) => flag.to_string(),
        Value::Number(digits) if digits.contains(['e', 'E']) => {
            canonical(&digits).unwrap_or_else(|_| digits.into_owned())
        }
        Value::Number(text) | Value::Text(text) => text.into_owned(),
    }
}
