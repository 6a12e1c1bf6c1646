//! From an answer to what each of its rows met. Pure.

use super::classify::{Company, Judgement, Met, judged, of_record, of_request};
use super::plan::Call;
use super::rendering::SalesforceRendering;
use super::wire::{Written, problem};
use crate::core::outcome::{Outcome, Refusal};
use crate::core::secrets::Secrets;
use crate::core::time::Timestamp;
use crate::destination::answer::Answer;

/// What the rows of a request met.
pub(super) enum Reading {
    /// All the same.
    Alike(Judgement),
    /// Each its own, in their order.
    Each(Vec<Judgement>),
}

/// What a call is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum About {
    /// One record, in the path.
    One,
    /// The same, which must be there already.
    Known,
    /// So many records, in the body.
    Several(usize),
    /// One record that is deleted.
    Deleted,
}

impl About {
    /// What `call` with so many rows is about.
    pub(super) fn of(call: &Call, rows: usize, rendering: &SalesforceRendering) -> Self {
        match call {
            Call::UpsertOne { .. } if rendering.update_only => Self::Known,
            Call::UpsertOne { .. } => Self::One,
            Call::UpsertAll { .. } => Self::Several(rows),
            Call::DeleteOne { .. } => Self::Deleted,
        }
    }

    fn company(self) -> Company {
        match self {
            Self::One | Self::Several(1) => Company::Alone,
            Self::Several(_) => Company::Others,
            Self::Known => Company::Known,
            Self::Deleted => Company::Deleted,
        }
    }
}

/// Reads `answer`. `now` is what waits count from.
pub(super) fn read(answer: &Answer, about: About, now: Timestamp) -> Reading {
    let company = about.company();
    match (answer.status, about) {
        (200..=299, About::Several(rows)) => collection(answer, rows, company),
        // An update is answered without a body up to version 45, a delete always.
        (204, _) => Reading::Alike(accepted(None)),
        (200..=299, _) => Reading::Alike(match serde_json::from_slice::<Written>(&answer.body) {
            Ok(written) => of_one(&written, company, &answer.secrets),
            Err(_) => unreadable(answer),
        }),
        (status, _) => {
            let problem = problem(answer);
            Reading::Alike(of_request(
                status,
                &answer.headers,
                problem.as_ref(),
                company,
                now,
            ))
        }
    }
}

/// The answers stand in the order of the records. Where there are more or fewer, nobody can say which is whose.
fn collection(answer: &Answer, rows: usize, company: Company) -> Reading {
    let Ok(written) = serde_json::from_slice::<Vec<Written>>(&answer.body) else {
        return Reading::Alike(unreadable(answer));
    };
    if written.len() == rows {
        let of_one = |one| of_one(one, company, &answer.secrets);
        return Reading::Each(written.iter().map(of_one).collect());
    }
    let detail = format!(
        "the answer is about {} records, and {rows} were sent",
        written.len()
    );
    Reading::Alike(match company {
        Company::Others => judged(Outcome::Refused(Refusal::Alone), detail),
        Company::Alone | Company::Known | Company::Deleted => judged(Outcome::Unknown, detail),
    })
}

fn of_one(written: &Written<'_>, company: Company, secrets: &Secrets) -> Judgement {
    if written.success {
        return accepted((company == Company::Others).then(|| written.success_words()));
    }
    of_record(&written.problem(secrets), company)
}

fn accepted(words: Option<String>) -> Judgement {
    Judgement {
        met: Met::Outcome(Outcome::Accepted),
        detail: None,
        words,
    }
}

/// A success that says of no row what became of it is none.
fn unreadable(answer: &Answer) -> Judgement {
    let status = answer.status;
    let why = answer
        .trouble
        .as_deref()
        .unwrap_or("it is not what the API documents");
    judged(
        Outcome::Unknown,
        format!("HTTP {status}, but the answer cannot be read: {why}"),
    )
}
