//! What the log says of attempts that did not deliver: one line for all rows of a request that met the same.

use crate::core::decide::{Decision, Transition};
use crate::core::delivery::State;
use crate::core::outcome::{Outcome, Refusal, Report};

/// With so many that were met last, each further row is compared.
const COMPARED: usize = 8;

/// The rows of a request that were not delivered by it, by what they met.
#[derive(Default)]
pub(super) struct Unmet(Vec<Group>);

/// Rows that met the same.
struct Group {
    first: i64,
    rows: usize,
    attempt: u32,
    outcome: Outcome,
    http_status: Option<u16>,
    detail: Option<String>,
    becomes: State,
    /// Of the first.
    retry_in_ms: Option<u64>,
}

impl Unmet {
    /// Takes note of one row, by its outbox id, and of its attempt.
    pub(super) fn note(&mut self, outbox_id: i64, attempt: u32, report: &Report, decision: Decision) {
        if report.outcome == Outcome::Accepted {
            return;
        }
        let (becomes, retry_in_ms) = match decision.transition {
            Transition::Retry { after, .. } => (
                State::Pending,
                Some(u64::try_from(after.as_millis()).unwrap_or(u64::MAX)),
            ),
            Transition::End(reason) => (reason.state(), None),
        };
        let met_the_same = |group: &&mut Group| {
            group.outcome == report.outcome
                && group.http_status == report.http_status
                && group.detail == report.detail
                && group.becomes == becomes
        };
        match self.0.iter_mut().rev().take(COMPARED).find(met_the_same) {
            Some(group) => group.rows += 1,
            None => self.0.push(Group {
                first: outbox_id,
                rows: 1,
                attempt,
                outcome: report.outcome.clone(),
                http_status: report.http_status,
                detail: report.detail.clone(),
                becomes,
                retry_in_ms,
            }),
        }
    }

    /// Says it. What only comes again in another request is no trouble.
    pub(super) fn log(&self, destination: &str) {
        for group in &self.0 {
            let Group {
                first,
                rows,
                attempt,
                http_status,
                detail,
                becomes,
                retry_in_ms,
                outcome,
            } = group;
            let met = outcome.as_str();
            if matches!(outcome, Outcome::Refused(Refusal::Together | Refusal::Alone)) {
                tracing::info!(
                    destination,
                    delivery.id = first,
                    rows,
                    attempt,
                    http_status,
                    detail,
                    "comes again in another request"
                );
            } else {
                tracing::warn!(
                    destination,
                    delivery.id = first,
                    rows,
                    attempt,
                    outcome = met,
                    http_status,
                    detail,
                    retry_in_ms,
                    %becomes,
                    "not delivered by this attempt",
                );
            }
        }
    }
}
