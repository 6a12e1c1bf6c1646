//! Judges what was seen around kills, and what a re-run changed. Pure.

use std::collections::BTreeSet;

use super::fields::{self, Field};
use super::mid_run::{Killed, Observed, millis};
use super::picture::Picture;
use super::report::{Finding, Outcome, Test};
use super::sessions::Seen;
use super::trial::Cause;
use crate::store::topic::Change;

/// Row keys that are named at most, and fields of each.
const NAMED: usize = 5;
/// Characters of a value that are shown.
const SHOWN: usize = 60;

/// Judges kills. A re-run that changes rows leaves open whether a state is partial or only another run's.
pub(super) fn mid_run(observed: &Observed, re_run: Outcome) -> Finding {
    let test = Test::MidRunFailure;
    let Observed {
        before,
        clean,
        kills,
        end,
    } = observed;
    let whole = clean.as_ref().unwrap_or(end);
    let is_whole = |picture: &Picture| [before, whole, end].contains(&picture);
    let partial = kills.iter().find(|killed| !is_whole(&killed.picture));
    let other_end = (end != whole).then_some(end);
    if let Some(left) = partial.map(|killed| &killed.picture).or(other_end) {
        if re_run == Outcome::Failed && left.has_row_keys_of(end) {
            return test.not_proven(
                "every run leaves something else, so a partial state cannot be told from a whole one"
                    .to_owned(),
                "see to the re-run first, then verify again",
            );
        }
        let seen = match partial {
            Some(Killed { kill, .. }) => format!(
                "killed after {}, it left something partial: {}",
                millis(kill.after),
                differences_text(left, whole)
            ),
            None => format!(
                "after kills, a run ended otherwise than a clean one: {}",
                differences_text(left, whole)
            ),
        };
        return test.failed(
            seen,
            "commit once: what the pipeline writes and its outbox rows in one transaction",
        );
    }
    if before == whole {
        return test.not_proven(
            "the topic held all of it before, so nothing partial could have been seen".to_owned(),
            "verify with a topic that is empty, or give --reset with a command that restores the state before",
        );
    }
    let met = |killed: &&Killed| killed.kill.met != Seen::Nothing || killed.kill.cause == Cause::Visible;
    if !kills.iter().any(|killed| met(&killed)) {
        let seen = match kills.len() {
            0 => "it ended by itself before it could be killed".to_owned(),
            kills => format!("of {kills} kills none met it at work in the database"),
        };
        return test.not_proven(
            seen,
            "give it more rows to write, or --reset so that it can be killed more often",
        );
    }
    test.passed(format!(
        "{}; nothing partial was ever to be seen",
        kills_text(kills)
    ))
}

/// `killed 9 times after 20 ms to 340 ms, 2 times while it wrote`.
fn kills_text(kills: &[Killed]) -> String {
    let times = |count: usize| {
        if count == 1 {
            "once".to_owned()
        } else {
            format!("{count} times")
        }
    };
    let after = || kills.iter().map(|killed| killed.kill.after);
    let (first, last) = (
        after().min().unwrap_or_default(),
        after().max().unwrap_or_default(),
    );
    let span = if first == last {
        millis(first)
    } else {
        format!("{} to {}", millis(first), millis(last))
    };
    let writing = kills
        .iter()
        .filter(|killed| killed.kill.met == Seen::Writing)
        .count();
    let writing = if writing == 0 {
        String::new()
    } else {
        format!(", {} while it wrote", times(writing))
    };
    format!("killed {} after {span}{writing}", times(kills.len()))
}

/// Judges a re-run: the pictures around it, and what it put into the outbox.
pub(super) fn re_run(before: &Picture, after: &Picture, changes: &[Change]) -> Finding {
    let test = Test::ReRun;
    if before == after {
        let Picture {
            outbox_rows,
            deliveries,
            ..
        } = after;
        return test.passed(format!(
            "as before: {outbox_rows} outbox rows, {deliveries} deliveries, the same checksums and nulls"
        ));
    }
    if changes.is_empty() {
        return test.failed(
            format!("it changed what is known of rows without a change of the rows: {}", differences_text(before, after)),
            "if the version is the time of the run, take the time at which the row changed: a late run would pass for newer",
        );
    }
    let seen = differences_text(before, after);
    let known: Vec<&Change> = changes.iter().filter(|change| change.before.is_some()).collect();
    let finding = match culprits(&known) {
        _ if known.is_empty() => test.failed(
            seen,
            "the new rows have row keys that were not there: make a row key of what identifies the row, not of the run",
        ),
        Some(names) => test.failed(
            seen,
            &format!(
                "only {} differs, in every row: leave it out of the payload (attach: --exclude {})",
                quoted(&names),
                names.join(",")
            ),
        ),
        None => test.failed(seen, "make the rows depend on the input alone: no clock, no chance, no order of reading"),
    };
    finding.with(named(changes))
}

/// The fields that differ, if they are the same in every change.
fn culprits(changes: &[&Change]) -> Option<Vec<String>> {
    let names = |change: &&Change| -> BTreeSet<String> {
        let before = change.before.as_deref().unwrap_or_default();
        fields::differing(before, &change.payload)
            .into_iter()
            .map(|field| field.name)
            .collect()
    };
    let first = changes.first().map(names)?;
    let same =
        !first.is_empty() && !first.contains("") && changes.iter().all(|change| names(change) == first);
    same.then(|| first.into_iter().collect())
}

/// A line for each of the first row keys.
fn named(changes: &[Change]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let first = changes
        .iter()
        .filter(|change| seen.insert(&change.row_key))
        .take(NAMED);
    first.map(line).collect()
}

fn line(change: &Change) -> String {
    let Some(before) = &change.before else {
        return format!("{}: was not there before", change.row_key);
    };
    let fields = fields::differing(before, &change.payload);
    let text = |field: &Field<'_>| {
        let [before, after] =
            [field.before, field.after].map(|value| value.map_or("nothing".to_owned(), short));
        let name = if field.name.is_empty() {
            "the payload"
        } else {
            &field.name
        };
        format!("{name} was {before}, is {after}")
    };
    let texts: Vec<String> = fields.iter().take(NAMED).map(text).collect();
    let more = fields.len().saturating_sub(NAMED);
    let more = if more == 0 {
        String::new()
    } else {
        format!("; and {more} more")
    };
    let texts = if texts.is_empty() {
        "the same content was sent again".to_owned()
    } else {
        texts.join("; ")
    };
    format!("{}: {texts}{more}", change.row_key)
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

/// `outbox rows 500, then 1000; deliveries 500, then 1000`.
pub(super) fn differences_text(before: &Picture, after: &Picture) -> String {
    let differences = before.differences(after);
    if differences.is_empty() {
        return "as many of everything, with other content or versions".to_owned();
    }
    let text = differences
        .iter()
        .take(NAMED)
        .map(|one| format!("{} {}, then {}", one.what, one.before, one.after));
    text.collect::<Vec<_>>().join("; ")
}
