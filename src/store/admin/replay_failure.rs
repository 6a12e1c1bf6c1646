//! What becomes of a replay whose step failed: a smaller step, the same one later, or a pause until a person has seen to it.
//!
//! Whichever it is, it is written down, so that another replay has its turn.

use std::time::Duration;

use super::Actor;
use crate::store::database::{Args, Database, only, sql};
use crate::store::{StoreError, pauses};

/// How long a replay whose step failed lets others go first.
const REST: Duration = Duration::from_secs(1);

/// What helps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Remedy {
    /// A step that looks at so many deliveries.
    Smaller(u32),
    /// The same step, later.
    Later,
    /// Nothing that a relay could do.
    SetAside,
}

impl Remedy {
    /// For a step that looked at so many deliveries.
    fn of(error: &StoreError, rows: u32) -> Self {
        match error {
            StoreError::TimedOut(_) if rows > 1 => Self::Smaller(rows / 2),
            StoreError::TimedOut(_) => Self::SetAside,
            error if error.is_transient() => Self::Later,
            _ => Self::SetAside,
        }
    }
}

/// How many deliveries a step looks at after one of `rows` went well, where a relay takes `limit`; none: as many as that. It grows
/// slowly, since each step that is too large costs a time-out.
pub(super) fn grown(rows: u32, limit: u32) -> Option<u32> {
    let grown = rows.saturating_add(rows / 8).saturating_add(1);
    (grown < limit).then_some(grown)
}

/// Does what helps a replay whose step over so many deliveries failed. An error comes back if not even that can be written.
pub(super) async fn relieve(
    database: &Database,
    replay: i64,
    error: StoreError,
    rows: u32,
) -> Result<(), StoreError> {
    match Remedy::of(&error, rows) {
        Remedy::Smaller(fewer) => {
            tracing::warn!(replay, %error, rows, fewer, "a step of a replay took too long; the next one looks at fewer deliveries");
            postpone(database, replay, Some(fewer)).await
        }
        Remedy::Later => {
            // Mostly the database is away, and this cannot be written either: then that is what the caller waits for.
            postpone(database, replay, None).await?;
            tracing::warn!(replay, %error, "a step of a replay failed; others go first");
            Ok(())
        }
        Remedy::SetAside => {
            tracing::error!(replay, %error, "a replay cannot go on, and is paused");
            set_aside(database, replay, error.to_string()).await
        }
    }
}

async fn postpone(database: &Database, replay: i64, rows: Option<u32>) -> Result<(), StoreError> {
    let now = only(database.read(sql!(shared "now"), Args::new()).await?)?.time("now")?;
    let args = Args::new()
        .int(replay)
        .int(rows.map(i64::from))
        .time(now.plus(REST));
    let postponed = database.run(sql!(shared "postpone_replay"), args);
    postponed.await.map(drop)
}

/// Pauses a replay that cannot go on; the audit says why.
async fn set_aside(database: &Database, replay: i64, why: String) -> Result<(), StoreError> {
    database
        .write(move |transaction| {
            Box::pin(async move {
                if transaction
                    .execute(sql!(shared "pause_replay"), Args::new().int(replay))
                    .await?
                    > 0
                {
                    let (actor, subject) = (Actor::new("relay", "relay"), format!("replay {replay}"));
                    let reason = format!("it cannot go on: {why}");
                    pauses::audit(transaction, &actor, "pause", &subject, Some(&reason)).await?;
                }
                Ok(())
            })
        })
        .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_times_out_is_halved_down_to_one_and_only_then_set_aside() {
        let timed_out = StoreError::TimedOut("too long".to_owned());
        let (mut rows, mut tried) = (2_000, vec![]);
        while let Remedy::Smaller(fewer) = Remedy::of(&timed_out, rows) {
            tried.push(fewer);
            rows = fewer;
        }
        assert_eq!(tried, [1_000, 500, 250, 125, 62, 31, 15, 7, 3, 1]);
        assert_eq!(Remedy::of(&timed_out, 1), Remedy::SetAside);
    }

    #[test]
    fn what_may_go_well_later_is_tried_later_and_nothing_else_is() {
        let away = StoreError::Unavailable("away".to_owned());
        assert_eq!(Remedy::of(&away, 2_000), Remedy::Later);
        assert_eq!(Remedy::of(&away, 1), Remedy::Later);
        let bug = StoreError::Unexpected("a bug".to_owned());
        assert_eq!(Remedy::of(&bug, 2_000), Remedy::SetAside);
    }

    #[test]
    fn a_step_that_goes_well_grows_by_an_eighth_until_it_is_whole_again() {
        assert_eq!(grown(1, 2_000), Some(2));
        assert_eq!(grown(800, 2_000), Some(901));
        assert_eq!(grown(1_777, 2_000), None);
        assert_eq!(grown(u32::MAX, 2_000), None);
    }
}
