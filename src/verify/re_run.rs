//! Judges a re-run by the pictures around it and by what it put into the outbox. Pure.

use std::collections::BTreeSet;

use super::difference;
use super::fields::{self, Field};
use super::picture::Picture;
use super::report::{Finding, Test};
use crate::store::topic::Change;

/// Row keys that are named at most, and fields of each.
const NAMED: usize = 5;
/// Characters of a value that are shown.
const SHOWN: usize = 60;

/// Who makes the outbox rows: what is to be done about them is said to him.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// A source that is attached to the topic.
    Source,
    /// The pipeline itself.
    Pipeline,
}

/// Judges a re-run; `changes` are the outbox rows that came of it, or the first of them.
pub(super) fn judge(before: &Picture, after: &Picture, changes: &[Change], origin: Origin) -> Finding {
    let test = Test::ReRun;
    if before == after {
        let (rows, deliveries) = (after.outbox_rows, after.deliveries);
        return test.passed(format!(
            "as before: {rows} outbox rows, {deliveries} deliveries, the same checksums and nulls"
        ));
    }
    let differences = before.differences(after);
    if changes.is_empty() {
        let seen = "it changed what the ledger knows of rows, and no row".to_owned();
        let way_out = "where the version is the time of the run, take the time at which the row changed: else a late run passes \
                       for newer";
        return test
            .failed(seen, way_out)
            .with(difference::lines(&differences, "then"));
    }
    let seen = difference::in_one_line(&differences);
    test.failed(seen, &way_out(changes, origin)).with(named(changes))
}

fn way_out(changes: &[Change], origin: Origin) -> String {
    let known: Vec<Versions<'_>> = changes.iter().filter_map(Versions::of).collect();
    if known.is_empty() {
        return "its rows have row keys that were not there before: make a row key of what identifies the row, not of the run"
            .to_owned();
    }
    if known.iter().any(|versions| versions.after.trim() == "null") {
        let way_out = match origin {
            Origin::Source => {
                "capture the table, or on PostgreSQL attach it, so that only what differs is sent"
            }
            Origin::Pipeline => "send the delete of a row only where it does not come again",
        };
        return format!("it deletes rows and puts them in again: {way_out}");
    }
    match culprits(&known) {
        Some(names) => {
            let option = match origin {
                Origin::Source => format!(" (attach: --exclude {})", names.join(",")),
                Origin::Pipeline => String::new(),
            };
            let names = quoted(&names);
            format!("only {names} differs, in every row: leave it out of the payload{option}")
        }
        None => "make rows depend on the input alone: no clock, no chance, no order of reading".to_owned(),
    }
}

/// The payloads of a row that was there before.
struct Versions<'c> {
    before: &'c str,
    after: &'c str,
}

impl<'c> Versions<'c> {
    fn of(change: &'c Change) -> Option<Self> {
        Some(Self {
            before: change.before.as_deref()?,
            after: &change.payload,
        })
    }

    /// The names of the fields that differ.
    fn differing(&self) -> BTreeSet<String> {
        let fields = fields::differing(self.before, self.after);
        fields.into_iter().map(|field| field.name).collect()
    }
}

/// The fields that differ, if they are the same in every row.
fn culprits(known: &[Versions<'_>]) -> Option<Vec<String>> {
    let first = known.first()?.differing();
    let nameable = !first.is_empty() && !first.contains("");
    let same = known.iter().all(|versions| versions.differing() == first);
    (nameable && same).then(|| first.into_iter().collect())
}

/// A line for each of the first row keys.
fn named(changes: &[Change]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let first = changes.iter().filter(|change| seen.insert(&change.row_key));
    first.take(NAMED).map(line).collect()
}

fn line(change: &Change) -> String {
    let Some(Versions { before, after }) = Versions::of(change) else {
        return format!("{}: was not there before", change.row_key);
    };
    let fields = fields::differing(before, after);
    let mut texts: Vec<String> = fields.iter().take(NAMED).map(field_text).collect();
    if texts.is_empty() {
        texts.push("the same content was sent again".to_owned());
    }
    if fields.len() > NAMED {
        texts.push(format!("and {} more", fields.len() - NAMED));
    }
    format!("{}: {}", change.row_key, texts.join("; "))
}

fn field_text(field: &Field<'_>) -> String {
    let name = if field.name.is_empty() {
        "the payload"
    } else {
        &field.name
    };
    let [before, after] = [field.before, field.after].map(|value| value.map_or("nothing".to_owned(), short));
    format!("{name} was {before}, is {after}")
}

fn short(value: &str) -> String {
    match value.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &value[..end]),
        None => value.to_owned(),
    }
}

fn quoted(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(" and ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(row_key: &str, before: Option<&str>, payload: &str) -> Change {
        Change {
            row_key: row_key.to_owned(),
            payload: payload.to_owned(),
            before: before.map(str::to_owned),
        }
    }

    #[test]
    fn a_field_is_to_blame_only_if_it_is_the_same_in_every_row() {
        let one = change("a", Some(r#"{"x":1,"at":1}"#), r#"{"x":1,"at":2}"#);
        let two = change("b", Some(r#"{"x":2,"at":1}"#), r#"{"x":2,"at":2}"#);
        let other = change("c", Some(r#"{"x":2,"at":1}"#), r#"{"x":3,"at":2}"#);
        let new = change("d", None, "{}");
        let said = way_out(&[one.clone(), two, new.clone()], Origin::Source);
        assert!(
            said.contains("only `at` differs") && said.contains("--exclude at"),
            "{said}"
        );
        assert!(way_out(&[one, other], Origin::Source).contains("the input alone"));
        assert!(way_out(&[new], Origin::Source).contains("row key"));
    }

    #[test]
    fn deleting_and_putting_in_again_is_told_apart() {
        let changes = [change("a", Some("{}"), "null"), change("a", Some("null"), "{}")];
        assert!(way_out(&changes, Origin::Source).contains("only what differs is sent"));
    }

    #[test]
    fn who_writes_to_the_outbox_himself_is_told_nothing_of_attaching() {
        let stamped = change("a", Some(r#"{"at":1}"#), r#"{"at":2}"#);
        let again = [change("a", Some("{}"), "null"), change("a", Some("null"), "{}")];
        for changes in [&[stamped][..], &again] {
            let said = way_out(changes, Origin::Pipeline);
            assert!(!said.contains("attach") && !said.contains("capture"), "{said}");
        }
    }

    #[test]
    fn each_row_key_has_one_line_and_a_long_one_is_cut() {
        let long = format!("\"{}\"", "ä".repeat(100));
        let changes = [
            change("a", Some("{}"), &format!("{{\"name\":{long}}}")),
            change("a", None, "{}"),
            change("b", Some("[1]"), "[2]"),
        ];
        let lines = named(&changes);
        assert_eq!(
            lines[0],
            format!("a: name was nothing, is \"{}…", "ä".repeat(SHOWN - 1))
        );
        assert_eq!(lines[1..], ["b: the payload was [1], is [2]"]);
    }
}
