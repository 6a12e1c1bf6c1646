//! The report of a verification, for people.

use crate::cli::table::{self, visible};
use crate::cli::words::counted;
use crate::verify::{Finding, Picture, Report};

/// A table of the tests, what each has to say, and what the topic holds.
pub(super) fn of(report: &Report) -> String {
    let row = |finding: &Finding| {
        [
            finding.test.name().to_owned(),
            finding.outcome.name().to_owned(),
            finding.seen.clone(),
        ]
    };
    let table = table::table(["test", "outcome", "what was seen"], report.tests.iter().map(row));
    let notes: String = report.tests.iter().map(note).collect();
    let topic = visible(&report.topic);
    let runs = counted(report.runs, "run", "runs");
    let verdict = if report.passed {
        "the pipeline passes"
    } else {
        "the pipeline does not pass"
    };
    format!(
        "{}\n\n{notes}{topic} holds {}\n{verdict}, after {runs}",
        table.trim_fmt(),
        holds(&report.picture)
    )
}

/// What a test has to say beside its line in the table.
fn note(finding: &Finding) -> String {
    let Some(way_out) = &finding.way_out else {
        return String::new();
    };
    let mut lines = vec![finding.test.name().to_owned()];
    lines.extend(finding.details.iter().map(|line| format!("  {}", visible(line))));
    lines.push(format!("  help: {}", visible(way_out)));
    lines.join("\n") + "\n\n"
}

fn holds(picture: &Picture) -> String {
    let Picture {
        outbox_rows,
        row_keys,
        ledger_entries,
        deliveries,
        nulls,
        ..
    } = picture;
    let rows = counted(outbox_rows, "outbox row", "outbox rows");
    let keys = counted(row_keys, "row key", "row keys");
    let entries = counted(ledger_entries, "ledger entry", "ledger entries");
    let deliveries = counted(deliveries, "delivery", "deliveries");
    let mut found = vec![];
    for (what, count) in [("row versions", nulls.row_versions), ("payloads", nulls.payloads)] {
        if count > 0 {
            found.push(format!("{count} {what}"));
        }
    }
    found.extend(
        nulls
            .fields
            .iter()
            .map(|(field, count)| format!("{count} `{}`", visible(field))),
    );
    let nulls = if found.is_empty() {
        "no nulls".to_owned()
    } else {
        format!("nulls: {}", found.join(", "))
    };
    format!("{rows} of {keys}, {entries}, {deliveries}; {nulls}")
}
