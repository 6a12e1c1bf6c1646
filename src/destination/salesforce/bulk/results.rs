//! From the three files of a job's results to what each of its rows met. Pure.
//!
//! A row is delivered only if the first file names it. One that no file names is unknown.

use std::collections::HashMap;
use std::time::Duration;

use super::file::folded;
use crate::core::outcome::{Outcome, Refusal, Report};
use crate::core::secrets::{Excerpt, Secrets};
use crate::destination::bulk::Awaited;
use crate::destination::salesforce::classify::{Company, Judgement, Met, judged, of_record};
use crate::destination::salesforce::wire::Problem;

/// The status of the answers in which results come.
const STATUS: u16 = 200;

/// The files of results, each empty if the job has none.
#[derive(Default)]
pub(super) struct Files {
    pub(super) successful: Vec<u8>,
    pub(super) failed: Vec<u8>,
    pub(super) unprocessed: Vec<u8>,
    /// What they may repeat and nobody may read.
    pub(super) secrets: Secrets,
}

/// One report for each awaited name. `id_field` is the column that holds it; of an error `keep` bytes are kept.
pub(super) fn read(files: &Files, awaited: &Awaited, id_field: &str, keep: usize) -> Vec<Report> {
    let mut met = HashMap::new();
    // A later file says more of a row that two of them name: a success is the strongest word.
    for id in names(&files.unprocessed, id_field) {
        met.insert(id, unprocessed());
    }
    for (id, error) in failures(&files.failed, id_field) {
        met.insert(id, failed(&error, &files.secrets, keep));
    }
    for id in names(&files.successful, id_field) {
        met.insert(id, (judgement(Outcome::Accepted, None), None));
    }
    let report = |name: &String| {
        let (judgement, excerpt) = met.get(name).cloned().unwrap_or_else(unnamed);
        let outcome = match judgement.met {
            Met::Outcome(outcome) => outcome,
            Met::TokenRefused => Outcome::Unknown,
        };
        Report {
            outcome,
            http_status: Some(STATUS),
            detail: judgement.detail,
            excerpt,
            body_digest: awaited.digest,
            duration: Duration::ZERO,
        }
    };
    awaited.names.iter().map(report).collect()
}

/// `CODE:message:Field, Other --`. A message may hold colons itself.
pub(super) fn problem(error: &str) -> Problem {
    let (code, rest) = error.split_once(':').unwrap_or((error, ""));
    let told = rest
        .rsplit_once(':')
        .and_then(|(message, fields)| Some((message, fields.trim_end().strip_suffix("--")?)));
    let (message, fields) = told.unwrap_or((rest, ""));
    let fields = fields.split(',').map(str::trim).filter(|field| !field.is_empty());
    Problem {
        code: code.trim().to_owned(),
        message: message.to_owned(),
        fields: fields.map(str::to_owned).collect(),
    }
}

type Told = (Judgement, Option<Excerpt>);

fn judgement(outcome: Outcome, detail: Option<String>) -> Judgement {
    Judgement {
        met: Met::Outcome(outcome),
        detail,
        words: None,
    }
}

fn failed(error: &str, secrets: &Secrets, keep: usize) -> Told {
    let excerpt = secrets.excerpt(error.as_bytes(), keep);
    let problem = problem(error).without(secrets);
    (of_record(&problem, Company::Others), Some(excerpt))
}

/// Whatever kept the job from this row, requests can tell.
fn unprocessed() -> Told {
    let detail = "the job ended before this row, which goes by a request next";
    (
        judged(Outcome::Refused(Refusal::Together), detail.to_owned()),
        None,
    )
}

fn unnamed() -> Told {
    let detail = "the results of the job say nothing of this row";
    (judged(Outcome::Unknown, detail.to_owned()), None)
}

fn names(file: &[u8], id_field: &str) -> Vec<String> {
    columns(file, [id_field]).map(|[id]| folded(&id)).collect()
}

fn failures(file: &[u8], id_field: &str) -> Vec<(String, String)> {
    columns(file, [id_field, "sf__Error"])
        .map(|[id, error]| (folded(&id), error))
        .collect()
}

/// These columns of each line that has them all, up to the first that is no CSV.
fn columns<const N: usize>(file: &[u8], wanted: [&str; N]) -> impl Iterator<Item = [String; N]> {
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(file);
    let header = reader.headers().cloned().unwrap_or_default();
    let place = |name: &str| header.iter().position(|column| column.eq_ignore_ascii_case(name));
    let places = wanted.map(place);
    let lines = reader.into_records().map_while(Result::ok);
    lines.filter_map(move |line| {
        let values = places.map(|place| line.get(place?).map(str::to_owned));
        values
            .iter()
            .all(Option::is_some)
            .then(|| values.map(Option::unwrap_or_default))
    })
}
