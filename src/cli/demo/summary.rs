//! What the demo shows at its end.

use serde::Serialize;

use super::crm::{self, CrmSummary};
use super::verdict::Verdict;
use crate::cli::table;

/// The numbers of a demo.
#[derive(Debug, Serialize)]
pub(super) struct Summary {
    pub(super) committed: usize,
    pub(super) rolled_back: u64,
    pub(super) skipped: u64,
    pub(super) delivered: usize,
    pub(super) superseded: usize,
    pub(super) dead: usize,
    pub(super) attempts: u64,
    pub(super) requests: u64,
    pub(super) effects: usize,
    pub(super) seconds: f64,
    pub(super) clean: bool,
    #[serde(flatten)]
    pub(super) verdict: Verdict,
    /// Empty without `--crm`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) crms: Vec<CrmSummary>,
}

impl Summary {
    pub(super) fn text(&self) -> String {
        let rows = [
            ("rows committed", self.committed.to_string(), "by the pipeline"),
            (
                "rolled back",
                self.rolled_back.to_string(),
                "in a transaction that failed",
            ),
            (
                "skipped by the ledger",
                self.skipped.to_string(),
                "of a transaction that ran twice",
            ),
            ("delivered", self.delivered.to_string(), "says the database"),
            (
                "superseded",
                self.superseded.to_string(),
                "a newer version of the row took their place",
            ),
            ("dead", self.dead.to_string(), "given up"),
            (
                "attempts",
                self.attempts.to_string(),
                "on record before they were sent",
            ),
            (
                "requests at the receiver",
                self.requests.to_string(),
                "says its journal",
            ),
            (
                "effects at the receiver",
                self.effects.to_string(),
                "one for each key",
            ),
        ];
        let rows = rows.map(|(what, count, note)| [what.to_owned(), count, note.to_owned()]);
        let mut table = table::plain(rows);
        table::align_right(&mut table, [1]);
        let Verdict {
            lost,
            repeated,
            invented,
            out_of_order,
            unknown,
        } = self.verdict;
        let table = table.trim_fmt();
        let crms = if self.crms.is_empty() {
            String::new()
        } else {
            format!("{}\n\n", crm::text(&self.crms))
        };
        format!(
            "{table}\n\n{crms}{lost} lost, {repeated} repeated, {invented} invented, {out_of_order} out of order, {unknown} not on \
             record; {:.1} s",
            self.seconds
        )
    }
}
