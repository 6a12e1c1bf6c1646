//! Transactions that were writing to the outbox when a replay of missing rows was asked for.
//!
//! Their rows come into sight late, under ids that the replay may have passed by then. So it notes them, and once all have ended it
//! begins again: what it has made due is no longer missing, and what came into sight is found. Meanwhile it looks at what
//! there is, and holds up no other replay. On SQLite there is nothing to wait for: whoever asks for a replay writes, so nobody else does.

use std::time::Duration;

use super::replay::{Replay, ReplayState};
use crate::core::time::Timestamp;
use crate::store::StoreError;
use crate::store::database::{Args, Database, Row, Transaction, sql};

/// How long a replay that has looked at everything rests between two looks whether they have ended.
pub(super) const REST: Duration = Duration::from_secs(1);

/// A transaction that is still open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Writer {
    /// The server's process that runs it; none for a prepared one.
    pid: Option<i64>,
    /// When it began; unknown to whoever may not look at the sessions of others.
    since: Option<Timestamp>,
}

/// Notes in a new replay who is writing, and how far they can have come.
pub(super) async fn note(transaction: &mut Transaction, replay: i64) -> Result<(), StoreError> {
    if matches!(transaction, Transaction::Postgres(_)) {
        let replay = || Args::new().int(replay);
        // In this order: who has begun to write since the first look sees the routes of today, unless it keeps a snapshot that
        // is older than they are.
        transaction
            .execute(sql!(postgres "await_writers"), replay())
            .await?;
        transaction
            .execute(sql!(postgres "reach_writers"), replay())
            .await?;
    }
    Ok(())
}

/// Of the transactions that a replay noted, those that are still open.
pub(super) async fn still_open(database: &Database, noted: &str) -> Result<Vec<Writer>, StoreError> {
    let rows = database
        .read(sql!(postgres "writers"), Args::new().text(noted))
        .await?;
    rows.iter().map(Writer::read).collect()
}

/// Has a replay begin again: nobody is left to wait for. Nothing happens if another worker was sooner.
pub(super) async fn begin_again(database: &Database, replay: i64, noted: &str) -> Result<(), StoreError> {
    let args = Args::new().int(replay).text(noted);
    let begin = database.run(sql!(postgres "begin_again"), args);
    begin.await.map(drop)
}

/// Says of each replay that has not ended what it waits for.
pub(super) async fn explain(database: &Database, replays: &mut [Replay]) -> Result<(), StoreError> {
    for replay in replays {
        let goes_on = matches!(replay.state, ReplayState::Running | ReplayState::Paused);
        if let Some(noted) = replay.noted_writers.as_deref().filter(|_| goes_on) {
            replay.waits = Some(sentence(&still_open(database, noted).await?));
        }
    }
    Ok(())
}

/// What a person reads.
fn sentence(writers: &[Writer]) -> String {
    if writers.is_empty() {
        return "The transactions that were open when it was asked for have ended: it looks once more."
            .to_owned();
    }
    let who: Vec<String> = writers.iter().map(Writer::to_words).collect();
    format!(
        "It waits for transactions that were open when it was asked for, since their rows can still come into sight: {}. Then it \
         looks once more.",
        who.join("; ")
    )
}

impl Writer {
    fn read(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            pid: row.opt_int("pid")?,
            since: row.opt_time("since")?,
        })
    }

    fn to_words(&self) -> String {
        match (self.pid, self.since) {
            (Some(pid), Some(since)) => format!("process {pid}, open since {since}"),
            (Some(pid), None) => format!("process {pid}"),
            (None, _) => "one that is prepared (see pg_prepared_xacts)".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_replay_waits_for_is_said_with_its_process_and_since_when() {
        let writer = |pid, since| Writer { pid, since };
        let since = Some(Timestamp::from_micros(0));
        assert_eq!(
            sentence(&[writer(Some(7), since), writer(Some(8), None), writer(None, None)]),
            "It waits for transactions that were open when it was asked for, since their rows can still come into sight: \
             process 7, open since 1970-01-01T00:00:00Z; process 8; one that is prepared (see \
             pg_prepared_xacts). Then it looks once more."
        );
        assert!(sentence(&[]).ends_with("have ended: it looks once more."));
    }
}
