//! The test *mid-run failure*: kills the pipeline at several moments and looks whether anything partial can be seen.
//!
//! ```text
//!  without --reset:   kill ─ kill ─ … ─ until a run has changed something ─▶ a whole run
//!  with --reset:      reset ─ a whole, clean run ─ reset ─ kill ─ kill ─ … ─▶ a whole run
//! ```
//! Without `--reset` the moments grow, since nobody knows how long a run takes, and the first run that commits ends the
//! series: after it there is nothing new to commit. Kills while it writes are worth most, so those come first wherever the
//! database tells. What is found is judged by [`super::judge`].

use std::time::Duration;

use super::difference;
use super::error::VerifyError;
use super::picture::Picture;
use super::sessions::Seen;
use super::trial::{Cause, Ended, Kill, Trial};

/// The first moment of those that grow.
const FIRST: Duration = Duration::from_millis(20);

/// What was seen around kills.
#[derive(Debug)]
pub(super) struct Observed {
    pub(super) before: Picture,
    /// After a run that followed no kill, if there was one.
    pub(super) clean: Option<Picture>,
    pub(super) kills: Vec<Killed>,
    /// After the whole run at the end.
    pub(super) end: Picture,
}

/// A kill, and what the topic held after it, once nothing of the run was under way any more.
#[derive(Debug, Clone)]
pub(super) struct Killed {
    pub(super) kill: Kill,
    /// What could be seen of it while the server went on with what the run had told it.
    pub(super) meanwhile: Vec<Picture>,
    pub(super) picture: Picture,
}

/// A whole run before any kill.
struct Clean {
    picture: Picture,
    took: Duration,
}

/// What the last run of a series of kills was.
#[derive(PartialEq, Eq)]
enum Last {
    Killed,
    Whole,
}

/// Kills the pipeline at several moments and lets it run to its end.
pub(super) async fn observe(trial: &mut Trial<'_>) -> Result<Observed, VerifyError> {
    trial.reset().await?;
    let before = trial.picture().await?;
    let clean = clean_run(trial, &before).await?;
    let (kills, last) = kill_in_series(trial, &before, clean.as_ref()).await?;
    if last == Last::Killed {
        let took = trial.run().await?;
        trial.say(&format!("a whole run took {}", millis(took)));
    }
    let end = trial.picture().await?;
    if end.outbox_rows == 0 {
        let topic = trial.plan.topic.clone();
        return Err(VerifyError::Nothing { topic });
    }
    Ok(Observed {
        before,
        clean: clean.map(|clean| clean.picture),
        kills,
        end,
    })
}

/// With `--reset`: a whole run before any kill. The state before it is restored.
async fn clean_run(trial: &mut Trial<'_>, before: &Picture) -> Result<Option<Clean>, VerifyError> {
    if trial.plan.reset.is_none() {
        return Ok(None);
    }
    let took = trial.run().await?;
    trial.say(&format!("a clean run took {}", millis(took)));
    let picture = trial.picture().await?;
    trial.reset().await?;
    let restored = trial.picture().await?;
    if restored != *before {
        return Err(VerifyError::NotReset {
            topic: trial.plan.topic.clone(),
            differences: difference::in_one_line(&before.differences(&restored)),
        });
    }
    Ok(Some(Clean { picture, took }))
}

/// Kills one run after the other, as long as there is something left for a run to do.
async fn kill_in_series(
    trial: &mut Trial<'_>,
    before: &Picture,
    clean: Option<&Clean>,
) -> Result<(Vec<Killed>, Last), VerifyError> {
    let mut kills = vec![];
    let mut spent = vec![];
    for number in 0..trial.plan.kills {
        let after = moment(number, trial.plan.kills, clean.map(|clean| clean.took));
        match trial.run_until(after, &spent).await? {
            Ended::Killed { kill, meanwhile } => {
                let picture = trial.picture().await?;
                tell(trial, &kill, before, &picture);
                spent.extend((kill.cause != Cause::Time).then_some(kill.cause));
                let (nothing, whole) = (
                    picture == *before,
                    clean.is_some_and(|clean| clean.picture == picture),
                );
                kills.push(Killed {
                    kill,
                    meanwhile,
                    picture,
                });
                if nothing {
                    continue;
                } else if !whole {
                    break;
                }
            }
            Ended::Whole(took) => {
                trial.say(&format!("a run ended by itself after {}", millis(took)));
                if clean.is_none() {
                    return Ok((kills, Last::Whole));
                }
            }
        }
        trial.reset().await?;
    }
    Ok((kills, Last::Killed))
}

/// When the kill of this number comes, of so many: spread over a run if it is known how long that takes, else each half as
/// late again as the one before.
fn moment(number: u32, of: u32, took: Option<Duration>) -> Duration {
    match took {
        Some(took) => took.mul_f64(f64::from(2 * number + 1) / f64::from(2 * of)),
        None => FIRST.mul_f64(1.5_f64.powi(i32::try_from(number).unwrap_or(i32::MAX).min(60))),
    }
}

fn tell(trial: &Trial<'_>, kill: &Kill, before: &Picture, picture: &Picture) {
    let met = if kill.met == Seen::Writing {
        ", while it wrote"
    } else {
        ""
    };
    let why = if kill.cause == Cause::Visible {
        ", when new rows could be seen"
    } else {
        ""
    };
    let left = if picture == before {
        "nothing".to_owned()
    } else {
        difference::in_one_line(&before.differences(picture))
    };
    trial.say(&format!(
        "killed after {}{met}{why}: it left {left}",
        millis(kill.after)
    ));
}

/// `230 ms`.
pub(super) fn millis(duration: Duration) -> String {
    format!("{} ms", duration.as_millis())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_grow_where_the_length_of_a_run_is_not_known_and_else_spread_over_it() {
        let millis = |took: Option<Duration>| [0, 1, 3].map(|number| moment(number, 4, took).as_millis());
        assert_eq!(millis(None), [20, 30, 67]);
        assert_eq!(millis(Some(Duration::from_secs(8))), [1_000, 3_000, 7_000]);
        assert!(moment(u32::MAX, u32::MAX, None) > Duration::from_hours(1));
    }
}
