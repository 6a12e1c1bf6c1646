//! The test *out of order*: rows with older versions come beside newer ones, and overwrite nothing.
//!
//! In the database itself they are put in and rolled back. What a receiver would hear is tried in a scratch place
//! ([`super::receiver`]), so that no real destination hears of it.

use super::error::VerifyError;
use super::picture::Picture;
use super::receiver;
use super::report::{Finding, Test};
use super::trial::Trial;
use crate::core::row::{NewRow, Op};
use crate::store::topic::{HeldRow, Newest};

/// Row keys that are tried at most.
const SAMPLE: u32 = 100;
/// What an older row holds, so that it would be noticed.
pub(super) const OLDER: &str = r#"{"aftercommit":"an older version, put in by verify"}"#;

const NO_VERSION: &str = "give the rows a version, such as the time at which the row changed (--version, or row_version); \
                          without one the last transaction wins, however old what it brings";

/// Puts older rows beside those of the topic.
pub(super) async fn test(trial: &Trial<'_>, end: &Picture) -> Result<Finding, VerifyError> {
    let test = Test::OutOfOrder;
    let rows = trial.topic.first_rows(SAMPLE).await?;
    if rows.first().is_some_and(|row| row.op == Op::Event) {
        return events(trial, &rows).await;
    }
    let (without, all) = (end.nulls.row_versions, end.ledger_entries);
    if without == all {
        let seen = format!("none of {all} row keys has a version: a late run overwrites what is newer");
        return Ok(test.failed(seen, NO_VERSION));
    }
    let newest = trial.topic.newest(SAMPLE).await?;
    let older = newest.iter().map(|row| older(&trial.plan.topic, row));
    let tried = trial.topic.try_out(older.collect(), SAMPLE).await?;
    if tried.admitted > 0 || tried.newest != newest {
        let seen = format!("{} of {} older rows were let in", tried.admitted, newest.len());
        return Ok(test.failed(
            seen,
            "this is a fault of Aftercommit: report it, with the schema of the ledger",
        ));
    }
    if without > 0 {
        let seen =
            format!("{without} of {all} row keys have no version: a late run overwrites what is newer there");
        return Ok(test.failed(seen, NO_VERSION));
    }
    let overwritten = receiver::overwritten(&newest, trial.around.clock).await?;
    if let Some(row_key) = overwritten.first() {
        let seen = format!(
            "a receiver's last word was not the newest for {} row keys",
            overwritten.len()
        );
        let way_out = format!("this is a fault of Aftercommit: report it, with the row {row_key}");
        return Ok(test.failed(seen, &way_out));
    }
    Ok(test.passed(format!(
        "of {} row keys no older version was let in, and a receiver's last word was the newest of each",
        newest.len()
    )))
}

/// Each event is a fact of its own: none takes another's place, and one that is known is none.
async fn events(trial: &Trial<'_>, rows: &[HeldRow]) -> Result<Finding, VerifyError> {
    let again = rows.iter().map(|row| NewRow {
        topic: trial.plan.topic.clone(),
        row_key: row.row_key.clone(),
        row_version: row.row_version,
        op: row.op,
        payload: row.payload.clone(),
        headers: None,
    });
    let tried = trial.topic.try_out(again.collect(), SAMPLE).await?;
    let test = Test::OutOfOrder;
    if tried.admitted > 0 {
        let seen = format!(
            "{} of {} events that are known were let in again",
            tried.admitted,
            rows.len()
        );
        return Ok(test.failed(
            seen,
            "this is a fault of Aftercommit: report it, with the schema of the ledger",
        ));
    }
    Ok(test.passed(format!(
        "events are facts of their own; {} of them came again late, and none was let in",
        rows.len()
    )))
}

/// An older version of `row`.
fn older(topic: &str, row: &Newest) -> NewRow {
    NewRow {
        topic: topic.to_owned(),
        row_key: row.row_key.clone(),
        row_version: Some(row.row_version.saturating_sub(1)),
        op: Op::Upsert,
        payload: OLDER.to_owned(),
        headers: None,
    }
}
