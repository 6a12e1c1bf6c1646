//! A picture of a topic: counts, checksums and nulls of its outbox rows, its ledger and its deliveries.
//!
//! Pure; its size does not grow with the topic. Two pictures are equal where a pipeline left the same: ids, times and where
//! a delivery stands are not in it, since they differ without the pipeline's doing.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::checksum::Checksum;
use super::difference::Difference;
use super::fields;
use crate::store::topic::{Entry, HeldRow};

/// Fields whose nulls are counted at most; payloads with data in their names have no end of them.
const FIELDS: usize = 1_000;

/// What a topic held at a moment.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub(crate) struct Picture {
    pub(crate) outbox_rows: u64,
    /// Distinct ones.
    pub(crate) row_keys: u64,
    pub(crate) ledger_entries: u64,
    pub(crate) deliveries: u64,
    pub(crate) nulls: Nulls,
    pub(super) checksums: Checksums,
}

/// How many nulls there are.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub(crate) struct Nulls {
    /// Ledger entries without a row version.
    pub(crate) row_versions: u64,
    /// Newest rows whose payload is null: deletes, as a rule.
    pub(crate) payloads: u64,
    /// By field, newest rows in whose payload it is null.
    pub(crate) fields: BTreeMap<String, u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub(crate) struct Checksums {
    row_keys: Checksum,
    /// Row key, version, op and payload of each outbox row.
    outbox: Checksum,
    ledger: Checksum,
}

/// Makes a picture of rows and entries that come one by one.
#[derive(Debug, Default)]
pub(crate) struct Painter {
    picture: Picture,
    /// The row that came last: the newest of its row key, unless another follows.
    last: Option<HeldRow>,
}

impl Painter {
    /// Takes in an outbox row. They come in the order of row key and id.
    pub(crate) fn row(&mut self, row: HeldRow) {
        let picture = &mut self.picture;
        picture.outbox_rows += 1;
        picture.deliveries += row.deliveries;
        let version = version_text(row.row_version);
        let parts = [&row.row_key, version.as_str(), row.op.as_str(), &row.payload];
        picture.checksums.outbox.add(&parts);
        match self.last.replace(row) {
            Some(last) if self.last.as_ref().is_some_and(|row| row.row_key == last.row_key) => {}
            Some(newest) => picture.newest(&newest),
            None => {}
        }
    }

    /// Takes in an entry of the ledger.
    pub(crate) fn entry(&mut self, entry: &Entry) {
        let picture = &mut self.picture;
        picture.ledger_entries += 1;
        picture.nulls.row_versions += u64::from(entry.row_version.is_none());
        let version = version_text(entry.row_version);
        let parts = [
            &entry.identity,
            version.as_str(),
            entry.op.as_str(),
            &entry.fingerprint,
        ];
        picture.checksums.ledger.add(&parts);
    }

    pub(crate) fn done(mut self) -> Picture {
        if let Some(newest) = self.last {
            self.picture.newest(&newest);
        }
        self.picture
    }
}

impl Picture {
    /// Takes in the newest row of a row key.
    fn newest(&mut self, row: &HeldRow) {
        self.row_keys += 1;
        self.checksums.row_keys.add(&[&row.row_key]);
        self.nulls.payloads += u64::from(row.payload.trim() == "null");
        let counts = &mut self.nulls.fields;
        for field in fields::nulls(&row.payload) {
            if counts.len() < FIELDS || counts.contains_key(&field) {
                *counts.entry(field).or_default() += 1;
            }
        }
    }

    /// Whether both have the same row keys, whatever the rows hold.
    pub(crate) fn has_row_keys_of(&self, other: &Self) -> bool {
        self.row_keys == other.row_keys && self.checksums.row_keys == other.checksums.row_keys
    }

    /// What `after` has otherwise, what weighs most first; empty if the two are equal.
    pub(crate) fn differences(&self, after: &Self) -> Vec<Difference> {
        let counts = [
            ("outbox rows", self.outbox_rows, after.outbox_rows),
            ("row keys", self.row_keys, after.row_keys),
            ("deliveries", self.deliveries, after.deliveries),
            ("ledger entries", self.ledger_entries, after.ledger_entries),
            (
                "null row versions",
                self.nulls.row_versions,
                after.nulls.row_versions,
            ),
            ("null payloads", self.nulls.payloads, after.nulls.payloads),
        ];
        let counts = counts.map(|(what, before, after)| Difference::new(what.to_owned(), before, after));
        let nulls = |picture: &Self, field: &str| picture.nulls.fields.get(field).copied().unwrap_or(0);
        let fields: BTreeSet<&String> = self
            .nulls
            .fields
            .keys()
            .chain(after.nulls.fields.keys())
            .collect();
        let fields = fields.into_iter().map(|field| {
            Difference::new(
                format!("nulls in `{field}`"),
                nulls(self, field),
                nulls(after, field),
            )
        });
        let differ = counts.into_iter().chain(fields);
        differ
            .filter(|difference| difference.before != difference.after)
            .collect()
    }
}

fn version_text(version: Option<i64>) -> String {
    version.map_or_else(|| "-".to_owned(), |version| version.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::row::Op;

    fn row(id: i64, row_key: &str, row_version: Option<i64>, payload: &str) -> HeldRow {
        HeldRow {
            id,
            row_key: row_key.to_owned(),
            row_version,
            op: Op::Upsert,
            payload: payload.to_owned(),
            deliveries: 2,
        }
    }

    fn picture(rows: &[HeldRow]) -> Picture {
        let mut painter = Painter::default();
        for row in rows {
            painter.row(row.clone());
            painter.entry(&Entry {
                identity: row.row_key.clone(),
                row_version: row.row_version,
                op: row.op,
                fingerprint: row.payload.clone(),
            });
        }
        painter.done()
    }

    #[test]
    fn ids_make_no_difference_and_versions_payloads_and_repetitions_do() {
        let rows = [
            row(1, "a", Some(1), r#"{"x":1}"#),
            row(2, "b", None, r#"{"x":null}"#),
        ];
        let whole = picture(&rows);
        let moved = [
            row(7, "a", Some(1), r#"{"x":1}"#),
            row(9, "b", None, r#"{"x":null}"#),
        ];
        assert_eq!(whole, picture(&moved));
        for other in [
            vec![rows[0].clone()],
            vec![row(1, "a", Some(2), r#"{"x":1}"#), rows[1].clone()],
            vec![row(1, "a", Some(1), r#"{"x":2}"#), rows[1].clone()],
            vec![rows[0].clone(), rows[1].clone(), rows[1].clone()],
        ] {
            assert_ne!(whole, picture(&other), "{other:?}");
        }
    }

    #[test]
    fn nulls_are_those_of_the_newest_row_of_each_row_key() {
        let rows = [
            row(1, "a", Some(1), r#"{"x":null,"y":null}"#),
            row(2, "a", Some(2), r#"{"x":null,"y":1}"#),
            row(3, "b", None, "null"),
            row(4, "c", Some(1), r#"{"x":null,"y":{"x":null}}"#),
        ];
        let Picture { nulls, row_keys, .. } = picture(&rows);
        assert_eq!(row_keys, 3);
        assert_eq!((nulls.row_versions, nulls.payloads), (1, 1));
        assert_eq!(nulls.fields, BTreeMap::from([("x".to_owned(), 2)]));
    }

    #[test]
    fn what_differs_is_said_with_both_numbers() {
        let before = picture(&[row(1, "a", Some(1), r#"{"x":1}"#)]);
        let after = picture(&[
            row(1, "a", Some(1), r#"{"x":1}"#),
            row(2, "a", Some(1), r#"{"x":null}"#),
        ]);
        let said = before.differences(&after);
        let said: Vec<_> = said
            .iter()
            .map(|one| (one.what.as_str(), one.before, one.after))
            .collect();
        assert_eq!(
            said,
            [
                ("outbox rows", 1, 2),
                ("deliveries", 2, 4),
                ("ledger entries", 1, 2),
                ("nulls in `x`", 0, 1)
            ]
        );
        assert!(before.has_row_keys_of(&after));
        assert_eq!(before.differences(&before), []);
    }
}
