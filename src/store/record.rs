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
    let args = of_shard(&record.lease.shard)
        .text(&id(record.lease.owner))
        .int(record.lease.epoch);
    let args = begin(args, record.begin.as_ref());
    let args = args
        .batch(settlements(&record.settle))
        .batch(dispatches(&record.finished));
    recorded(&only(database.run(sql!("record"), args).await?)?)
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
    let attempts = || settle.iter().map(|settlement| settlement.attempt.as_ref());
    let batch = Batch::new()
        .ints("outbox_id", each().map(|settlement| settlement.outbox_id))
        .ints(
            "key_epoch",
            each().map(|settlement| i64::from(settlement.key_epoch)),
        )
        .ints(
            "attempts_before",
            each().map(|settlement| i64::from(settlement.attempts_before)),
        )
        .texts("kind", each().map(|settlement| kind(&settlement.kind)))
        .texts(
            "state",
            each().map(|settlement| reason(settlement).map(|reason| reason.state().as_str())),
        )
        .texts(
            "reason",
            each().map(|settlement| reason(settlement).map(Reason::as_str)),
        )
        .ints("after_us", each().map(after_us))
        .ints("excused", each().map(excused))
        .times("unknown_since", each().map(unknown_since));
    ended_attempts(batch, attempts)
}

fn ended_attempts<'a, I>(batch: Batch, attempts: impl Fn() -> I) -> Batch
where
    I: Iterator<Item = Option<&'a EndedAttempt>>,
{
    let reports = || attempts().map(|attempt| attempt.map(|attempt| &attempt.report));
    batch
        .ints(
            "number",
            attempts().map(|attempt| attempt.map(|attempt| i64::from(attempt.number))),
        )
        .times(
            "started_at",
            attempts().map(|attempt| attempt.map(|attempt| attempt.started_at)),
        )
        .ints(
            "rendering",
            attempts().map(|attempt| attempt.map(|attempt| attempt.rendering)),
        )
        .texts(
            "key",
            attempts().map(|attempt| attempt.and_then(|attempt| attempt.key.as_deref())),
        )
        .texts(
            "outcome",
            reports().map(|report| report.map(|report| report.outcome.as_str())),
        )
        .ints(
            "http_status",
            reports().map(|report| report.and_then(|report| report.http_status).map(i64::from)),
        )
        .ints(
            "duration_us",
            reports().map(|report| report.map(|report| micros(report.duration))),
        )
        .bytes(
            "body_digest",
            reports().map(|report| {
                report
                    .and_then(|report| report.body_digest.as_ref())
                    .map(<[u8; 32]>::as_slice)
            }),
        )
        .texts(
            "detail",
            reports().map(|report| report.and_then(|report| report.detail.as_deref())),
        )
        .texts(
            "excerpt",
            reports().map(|report| report.and_then(|report| report.excerpt.as_deref())),
        )
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
    let begun = serde_json::from_str(row.text("begun")?);
    Ok(Recorded {
        now: row.time("now")?,
        begun: begun
            .map_err(|error| StoreError::Unexpected(format!("what was begun is no list: {error}")))?,
        leased: row.bool("leased")?,
        paused: row.bool("paused")?,
    })
}
