//! From the deliveries of a batch to the one request that is made of them. Pure.
//!
//! A request upserts records, or deletes one. What does not fit it is left out, and comes again alone: Salesforce refuses
//! a call that names one record twice, and deletes by an external id one record at a time.

use std::collections::HashSet;

use super::record::Members;
use super::rendering::SalesforceRendering;
use crate::core::mapping::{BadRow, record_id};
use crate::core::row::Op;
use crate::destination::Outgoing;

/// What is to be done about a batch. Numbers are places in the batch.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Plan {
    /// The deliveries that the request is about.
    pub(super) places: Vec<usize>,
    /// The request; none if there is nothing to send.
    pub(super) call: Option<Call>,
    /// For these nothing is sent.
    pub(super) left_out: Vec<(usize, LeftOut)>,
}

/// One request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Call {
    /// Upserts one record, whose id stands in the path.
    UpsertOne {
        /// The record's external id.
        id: String,
        /// Its fields.
        body: String,
    },
    /// Upserts several records of one object.
    UpsertAll {
        /// All of them.
        body: String,
    },
    /// Deletes one record.
    DeleteOne {
        /// The record's external id.
        id: String,
    },
}

/// Why nothing is sent for a delivery.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LeftOut {
    /// No record can be made of the row.
    NotRenderable(BadRow),
    /// No path can hold this external id.
    Unspeakable,
    /// The request is about the same record already.
    SameRecord,
    /// It deletes, and the request is about another record.
    Delete,
}

impl Plan {
    pub(super) fn of(rendering: &SalesforceRendering, batch: &[Outgoing]) -> Self {
        let mut left_out = Vec::new();
        let mut seen = HashSet::with_capacity(batch.len());
        let (mut upserts, mut deletes) = (Vec::new(), Vec::new());
        for (place, outgoing) in batch.iter().enumerate() {
            let row = &outgoing.row;
            let id = match record_id(row, rendering.id_from.as_deref()) {
                Ok(id) => id.into_owned(),
                Err(bad) => {
                    left_out.push((place, LeftOut::NotRenderable(bad)));
                    continue;
                }
            };
            // External ids are matched without regard to case.
            if !seen.insert(id.to_lowercase()) {
                left_out.push((place, LeftOut::SameRecord));
            } else if row.op == Op::Delete {
                deletes.push((place, id));
            } else {
                match rendering.mapping.record(row) {
                    Ok(record) => upserts.push((place, id, record)),
                    Err(bad) => left_out.push((place, LeftOut::NotRenderable(bad))),
                }
            }
        }
        let (places, call) = match upserts.as_slice() {
            [] => Self::delete(&mut deletes, &mut left_out),
            [(place, id, record)] if fits_a_path(id) => {
                let body = Members::of(None, record).object();
                let id = id.clone();
                (vec![*place], Some(Call::UpsertOne { id, body }))
            }
            several => {
                let records: Vec<_> = several
                    .iter()
                    .map(|(_, id, record)| {
                        Members::of(Some((&rendering.external_id, id)), record).typed(&rendering.object)
                    })
                    .collect();
                let body = format!("{{\"allOrNone\":false,\"records\":[{}]}}", records.join(","));
                let places = several.iter().map(|(place, ..)| *place).collect();
                (places, Some(Call::UpsertAll { body }))
            }
        };
        left_out.extend(deletes.into_iter().map(|(place, _)| (place, LeftOut::Delete)));
        Self {
            places,
            call,
            left_out,
        }
    }

    /// The first delete that can be sent.
    fn delete(
        deletes: &mut Vec<(usize, String)>,
        left_out: &mut Vec<(usize, LeftOut)>,
    ) -> (Vec<usize>, Option<Call>) {
        deletes.retain(|(place, id)| {
            let fits = fits_a_path(id);
            if !fits {
                left_out.push((*place, LeftOut::Unspeakable));
            }
            fits
        });
        if deletes.is_empty() {
            return (Vec::new(), None);
        }
        let (place, id) = deletes.remove(0);
        (vec![place], Some(Call::DeleteOne { id }))
    }
}

/// Steps of a path that stand for other steps are taken away by whoever reads a URL, encoded or not.
fn fits_a_path(id: &str) -> bool {
    !matches!(id, "." | "..")
}
