//! Replays in words, for people.

use super::words::counted;
use super::{list, times};
use crate::core::time::Timestamp;
use crate::store::admin::{Candidate, DryRun, Replay, ReplayState};

/// Of one, and of many.
const OVERTAKEN: (&str, &str) = (
    "was overtaken by a newer version",
    "were overtaken by a newer version",
);

/// A replay in a sentence.
pub(super) fn replay(replay: &Replay) -> String {
    let Replay {
        id,
        requeued,
        left_alone,
        in_flight,
        skipped,
        ..
    } = replay;
    let due = counted(*requeued, "is due again", "are due again");
    let others = format!(
        "{}, {}, {}",
        counted(*left_alone, "was owed already", "were owed already"),
        counted(*in_flight, "was on the wire", "were on the wire"),
        counted(*skipped, OVERTAKEN.0, OVERTAKEN.1)
    );
    let waits = replay
        .waits
        .as_ref()
        .map_or_else(String::new, |waits| format!("\n{waits}"));
    match replay.state {
        ReplayState::Running => {
            format!("replay {id} runs: a relay works it off, or `--wait` does; {due}, {others}{waits}")
        }
        ReplayState::Paused => {
            format!(
                "replay {id} is paused, `aftercommit resume --replay {id}` lets it go on; {due}, {others}{waits}"
            )
        }
        ReplayState::Done if *requeued > 0 => format!(
            "replay {id} is done: {due}; the relay sends now what is due, `aftercommit list` shows what became of it\n\
             {others}"
        ),
        ReplayState::Done => format!("replay {id} is done: {due}, {others}"),
        ReplayState::Cancelled => format!("replay {id} was cancelled: {due}, {others}"),
    }
}

/// What a replay would do.
pub(super) fn dry_run(dry_run: &DryRun, now: Timestamp) -> String {
    let DryRun {
        matched,
        requeued,
        left_alone,
        in_flight,
        skipped,
        by_state,
        rate,
        seconds,
        consequence,
        sample,
    } = dry_run;
    let by_state: Vec<String> = by_state
        .iter()
        .map(|(state, count)| format!("{count} {state}"))
        .collect();
    let by_state = if by_state.is_empty() {
        String::new()
    } else {
        format!(" ({})", by_state.join(", "))
    };
    let speed = rate.map_or_else(String::new, |rate| format!(" at {} a second", rate.get()));
    let mut text = format!(
        "{}{by_state}: {requeued} would be due, {}, {}, {}\n\
         to make them due takes about {seconds} s{speed}; they go with {consequence}",
        counted(*matched, "matches", "match"),
        counted(*left_alone, "is owed already", "are owed already"),
        counted(*in_flight, "is on the wire", "are on the wire"),
        counted(*skipped, OVERTAKEN.0, OVERTAKEN.1)
    );
    if !sample.is_empty() {
        text.push_str("\n\n");
        text.push_str(&candidates(sample, now));
    }
    text
}

/// A sample is of deliveries, or of rows that a destination never had.
fn candidates(sample: &[Candidate], now: Timestamp) -> String {
    let (mut known, mut missing) = (Vec::new(), Vec::new());
    for candidate in sample {
        match candidate {
            Candidate::Known(delivery) => known.push(delivery.as_ref().clone()),
            Candidate::Missing(row) => missing.push(row.clone()),
        }
    }
    if missing.is_empty() {
        return list::deliveries(&known, now);
    }
    let row = |row: &crate::store::admin::MissingRow| {
        [
            format!("{}:{}", row.id.outbox_id, row.id.destination),
            format!("{}/{}", row.topic, row.row_key),
            row.op.to_string(),
            times::at(row.created_at, now),
        ]
    };
    let header = ["MISSING", "ROW", "OP", "WRITTEN"];
    super::table::table(header, missing.iter().map(row)).trim_fmt()
}
