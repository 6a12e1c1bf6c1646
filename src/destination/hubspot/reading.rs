//! From answers to judgements, one for each row of the request. Pure.
//!
//! No 2xx is a success by itself: HubSpot leaves records out of its answers without a word. A row is accepted if a result
//! names it, refused if an error does, and otherwise [`Met::Omitted`].

use std::collections::HashMap;

use super::classify::{Judgement, Met, refused, row_refused};
use super::request::UpsertRow;
use super::wire::{BatchAnswer, Problem, Record};
use crate::core::outcome::Outcome;
use crate::core::time::Timestamp;
use crate::destination::answer::Answer;

/// What an answer says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// The same of every row.
    Alike(Judgement),
    /// Something of each, in the order of the rows.
    Each(Vec<Judgement>),
}

/// Reads the answer to an upsert of `rows`.
pub(super) fn upsert(answer: &Answer, rows: &[UpsertRow], now: Timestamp) -> Reading {
    let batch = match success(answer, now) {
        Ok(batch) => batch,
        Err(judgement) => return Reading::Alike(judgement),
    };
    // A single result for a single row needs no name.
    if let ([_], [_], []) = (rows, &*batch.results, &*batch.errors) {
        return Reading::Each(vec![accepted()]);
    }
    let of_result = |record: &Record| Judgement {
        words: Some(record.words()),
        ..accepted()
    };
    let results = batch.results.iter();
    let mut judgements: HashMap<&str, Judgement> = results
        .filter_map(|record| Some((trace_of(record)?, of_result(record))))
        .collect();
    for problem in &batch.errors {
        for row in rows.iter().filter(|row| concerns(problem, row, rows.len())) {
            // An error outweighs a result: that row is not delivered for sure.
            judgements.insert(&row.trace, row_refused(problem));
        }
    }
    let each = rows.iter().map(|row| judgements.remove(&*row.trace));
    Reading::Each(each.map(|judgement| judgement.unwrap_or_else(omitted)).collect())
}

/// What a look-up by the id property found, in the order of `ids`.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// A record, by HubSpot's own id.
    Record(String),
    /// HubSpot says that there is none.
    Nothing,
    /// HubSpot says neither.
    Omitted,
}

/// Reads the answer to a look-up of `ids` by `id_property`.
pub(super) fn look_up(
    answer: &Answer,
    ids: &[&str],
    id_property: &str,
    now: Timestamp,
) -> Result<Vec<Found>, Judgement> {
    let batch = success(answer, now)?;
    if let ([_], [record], []) = (ids, &*batch.results, &*batch.errors) {
        // It may stand under another of its addresses.
        return Ok(vec![Found::Record(record.id.clone())]);
    }
    let unknown: Vec<String> = batch
        .errors
        .iter()
        .filter(|problem| problem.category.as_deref() == Some("OBJECT_NOT_FOUND"))
        .flat_map(|problem| problem.listed("ids"))
        .map(str::to_lowercase)
        .collect();
    let named = |record: &Record| {
        let value = record.properties.get(id_property)?.as_str()?.to_lowercase();
        Some((value, record.id.clone()))
    };
    let named: HashMap<String, String> = batch.results.iter().filter_map(named).collect();
    let found = |id: &&str| {
        let id = id.to_lowercase();
        match named.get(&id) {
            Some(record) => Found::Record(record.clone()),
            None if unknown.contains(&id) => Found::Nothing,
            None => Found::Omitted,
        }
    };
    Ok(ids.iter().map(found).collect())
}

/// Reads the answer to an archive of records by HubSpot's own ids: 204 and no word of any of them.
pub(super) fn archive(answer: &Answer, now: Timestamp) -> Judgement {
    match answer.status {
        204 => accepted(),
        _ => match success(answer, now) {
            Err(judgement) => judgement,
            Ok(batch) if batch.errors.is_empty() => accepted(),
            Ok(_) => Judgement {
                met: Met::RefusedTogether,
                detail: Some(format!("HTTP {}: some were not archived", answer.status)),
                words: None,
            },
        },
    }
}

pub(super) fn accepted() -> Judgement {
    Judgement {
        met: Met::Outcome(Outcome::Accepted),
        detail: None,
        words: None,
    }
}

/// A record that is to be deleted and is not there.
pub(super) fn gone_already() -> Judgement {
    Judgement {
        detail: Some("HubSpot has no such record; there is nothing to delete".to_owned()),
        ..accepted()
    }
}

pub(super) fn omitted() -> Judgement {
    Judgement {
        met: Met::Omitted,
        detail: Some("HubSpot's answer says nothing of this row".to_owned()),
        words: None,
    }
}

/// A 2xx that can be read. One that cannot proves nothing: the rows may have been written.
fn success(answer: &Answer, now: Timestamp) -> Result<BatchAnswer, Judgement> {
    let status = answer.status;
    if !(200..300).contains(&status) {
        let problem = Problem::read(answer);
        return Err(refused(status, &answer.headers, problem.as_ref(), now));
    }
    BatchAnswer::read(answer).ok_or_else(|| Judgement {
        met: Met::Outcome(Outcome::Unknown),
        detail: Some(match &answer.trouble {
            Some(trouble) => format!("HTTP {status}, but {trouble}"),
            None => format!("HTTP {status}, but its body cannot be read; the rows may have been written"),
        }),
        words: None,
    })
}

fn trace_of(record: &Record) -> Option<&str> {
    record.object_write_trace_id.as_deref()
}

/// Whether an error is about `row`: by its trace id, else by its id, else because there is no other.
fn concerns(problem: &Problem, row: &UpsertRow, rows: usize) -> bool {
    let traces = problem.listed("objectWriteTraceId");
    if !traces.is_empty() {
        return traces.contains(&&*row.trace);
    }
    let ids = problem.listed("ids");
    if !ids.is_empty() {
        return ids.iter().any(|id| id.eq_ignore_ascii_case(&row.id));
    }
    rows == 1
}
