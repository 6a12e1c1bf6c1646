//! One transaction of a dispatcher: attempts before they are sent, outcomes once they are known.
//!
//! The guards stand in the SQL. Here the record only becomes arguments, in the order of outbox ids, so that two
//! transactions that meet take their locks in the same order.

use std::time::Duration;

use super::database::{Args, Batch, Database, Row, only, sql};
use super::leases::{id, of_shard};
use super::{
    Begin, DispatchId, EndedAttempt, Entry, Record, Recorded, Settlement, SettlementKind, StoreError,
};
use crate::core::decide::Counts;
use crate::core::delivery::{Reason, State};
use crate::core::time::Timestamp;

pub(super) async fn record(database: &Database, record: &Record) -> Result<Recorded, StoreError> {
    let rows = match database.run(sql!(first "record"), args(record)).await {
        // An attempt is on record as unknown, or this very record is, its answer lost; or a backfill met a settle.
        Err(StoreError::Duplicate(_)) => database.run(sql!("record"), args(record)).await,
        ran => ran,
    };
    recorded(&only(rows?)?)
}

fn args(record: &Record) -> Args {
    let args = of_shard(&record.lease.shard)
        .text(&id(record.lease.owner))
        .int(record.lease.epoch);
    begin(args, record.begin.as_ref())
        .batch(settlements(&record.settle))
        .batch(dispatches(&record.finished))
}

fn begin(args: Args, begin: Option<&Begin>) -> Args {
    let Some(begin) = begin else {
        return args.opt_text(None).int(None).int(None).batch(entries(&[]));
    };
    args.text(&id(begin.dispatch.relay))
        .int(begin.dispatch.sequence)
        .int(begin.rendering)
        .batch(entries(&begin.entries))
}

fn entries(entries: &[Entry]) -> Batch {
    let mut entries: Vec<&Entry> = entries.iter().collect();
    entries.sort_by_key(|entry| entry.outbox_id);
    Batch::new()
        .ints("outbox_id", entries.iter().map(|entry| entry.outbox_id))
        .ints("attempt", entries.iter().map(|entry| i64::from(entry.attempt)))
        .ints(
            "key_epoch",
            entries.iter().map(|entry| i64::from(entry.key_epoch)),
        )
}

fn dispatches(finished: &[DispatchId]) -> Batch {
    let relays: Vec<String> = finished.iter().map(|dispatch| id(dispatch.relay)).collect();
    Batch::new()
        .texts("relay", relays.iter().map(String::as_str))
        .ints("sequence", finished.iter().map(|dispatch| dispatch.sequence))
}

fn settlements(settle: &[Settlement]) -> Batch {
    let mut settle: Vec<&Settlement> = settle.iter().collect();
    settle.sort_by_key(|settlement| settlement.outbox_id);
    let each = || settle.iter().copied();
    let batch = Batch::new()
        .ints("outbox_id", each().map(|it| it.outbox_id))
        .ints("key_epoch", each().map(|it| i64::from(it.key_epoch)))
        .ints("attempts_before", each().map(|it| i64::from(it.attempts_before)))
        .words("kind", each().map(|it| kind(&it.kind)))
        .words(
            "state",
            each().map(|it| reason(it).map(|reason| reason.state().as_str())),
        )
        .words("reason", each().map(|it| reason(it).map(Reason::as_str)))
        .ints("after_us", each().map(after_us))
        .ints("excused", each().map(excused))
        .times("unknown_since", each().map(unknown_since));
    let attempts: Vec<Option<&EndedAttempt>> = each().map(|it| it.attempt.as_ref()).collect();
    ended_attempts(batch, &attempts)
}

/// The columns of the attempts: all null for a settlement without one.
fn ended_attempts(batch: Batch, attempts: &[Option<&EndedAttempt>]) -> Batch {
    let details: Vec<_> = of_each(attempts, |it| it.report.detail.as_deref().map(without_nul)).collect();
    let excerpts: Vec<_> = of_each(attempts, |it| it.report.excerpt.as_deref().map(without_nul)).collect();
    batch
        .ints("number", of_each(attempts, |it| Some(i64::from(it.number))))
        .times("started_at", of_each(attempts, |it| Some(it.started_at)))
        .ints("rendering", of_each(attempts, |it| Some(it.rendering)))
        .texts("key", of_each(attempts, |it| it.key.as_deref()))
        .words(
            "outcome",
            of_each(attempts, |it| Some(it.report.outcome.as_str())),
        )
        .ints(
            "http_status",
            of_each(attempts, |it| it.report.http_status.map(i64::from)),
        )
        .ints(
            "duration_us",
            of_each(attempts, |it| Some(micros(it.report.duration))),
        )
        .bytes(
            "body_digest",
            of_each(attempts, |it| {
                it.report.body_digest.as_ref().map(<[u8; 32]>::as_slice)
            }),
        )
        .texts("detail", details.iter().map(Option::as_deref))
        .texts("excerpt", excerpts.iter().map(Option::as_deref))
}

/// PostgreSQL takes no NUL in a text, and a receiver may answer with one: it must not keep the outcome off the record.
fn without_nul(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

fn of_each<'a, T>(
    attempts: &[Option<&'a EndedAttempt>],
    read: impl Fn(&'a EndedAttempt) -> Option<T>,
) -> impl Iterator<Item = Option<T>> {
    attempts.iter().map(move |attempt| attempt.and_then(&read))
}

/// The word of the statement. A success is told from other ends, since it alone needs no lease.
fn kind(kind: &SettlementKind) -> &'static str {
    match kind {
        SettlementKind::End(reason) if reason.state() == State::Delivered => "success",
        SettlementKind::End(_) => "end",
        SettlementKind::Retry { .. } => "retry",
        SettlementKind::SupersedeUncertain => "supersede",
    }
}

fn reason(settlement: &Settlement) -> Option<Reason> {
    match settlement.kind {
        SettlementKind::End(reason) => Some(reason),
        SettlementKind::Retry { .. } | SettlementKind::SupersedeUncertain => None,
    }
}

fn after_us(settlement: &Settlement) -> Option<i64> {
    match settlement.kind {
        SettlementKind::Retry { after, .. } => Some(micros(after)),
        SettlementKind::End(_) | SettlementKind::SupersedeUncertain => None,
    }
}

/// How many more attempts do not count. Only an attempt that was made can be excused.
fn excused(settlement: &Settlement) -> i64 {
    match settlement.kind {
        SettlementKind::Retry {
            counts: Counts::Excused,
            ..
        } => i64::from(settlement.attempt.is_some()),
        _ => 0,
    }
}

fn unknown_since(settlement: &Settlement) -> Option<Timestamp> {
    match settlement.kind {
        SettlementKind::Retry { unknown_since, .. } => unknown_since,
        SettlementKind::End(_) | SettlementKind::SupersedeUncertain => None,
    }
}

fn micros(span: Duration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX)
}

fn recorded(row: &Row) -> Result<Recorded, StoreError> {
    Ok(Recorded {
        now: row.time("now")?,
        begun: outbox_ids(row, "begun")?,
        overtaken: outbox_ids(row, "overtaken")?,
        leased: row.bool("leased")?,
        paused: row.bool("paused")?,
    })
}

fn outbox_ids(row: &Row, column: &str) -> Result<Vec<i64>, StoreError> {
    serde_json::from_str(row.text(column)?)
        .map_err(|error| StoreError::Unexpected(format!("`{column}` of a record is no list of ids: {error}")))
}
