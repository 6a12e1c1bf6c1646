//! The checklist of a pipeline: runs a user's own pipeline through the tests that every idempotent pipeline should pass.
//!
//! ```text
//!  mid-run failure   kill it at several moments: nothing partial may ever be seen      mid_run, judge
//!  re-run            run it again: the picture of the topic must be the same           re_run
//!  out of order      older rows beside newer ones: nothing newer may be overwritten    out_of_order, receiver
//! ```
//! It looks only at what reaches the outbox, so every way in will do. It commits nothing of its own to the database, and
//! takes for granted that nobody else writes to the topic meanwhile; relays may run.

mod checksum;
mod difference;
mod error;
mod fields;
mod judge;
mod locks;
mod look;
mod mid_run;
mod out_of_order;
mod picture;
mod process;
mod re_run;
mod receiver;
mod report;
mod sessions;
mod trial;

pub(crate) use error::VerifyError;
pub(crate) use picture::Picture;
use report::Outcome;
pub(crate) use report::{Finding, Report};
pub(crate) use trial::{Plan, Surroundings};

use re_run::Origin;
use trial::Trial;

/// Changes of a re-run that are looked at.
const CHANGES: u32 = 1_000;

/// Runs the pipeline through the three tests.
pub(crate) async fn verify(plan: &Plan, around: Surroundings<'_>) -> Result<Report, VerifyError> {
    let mut trial = Trial::begin(plan, around).await?;
    let observed = mid_run::observe(&mut trial).await?;

    let mark = trial.topic.mark().await?;
    let took = trial.run().await?;
    trial.say(&format!("the re-run took {}", mid_run::millis(took)));
    let again = trial.picture().await?;
    let changes = trial.topic.changes(mark, CHANGES).await?;
    let origin = if trial.topic.has_source().await? {
        Origin::Source
    } else {
        Origin::Pipeline
    };
    let re_run = re_run::judge(&observed.end, &again, &changes, origin);

    trial.say("older rows are put beside newer ones");
    let stop = trial.around.stop.clone();
    let out_of_order = tokio::select! {
        finding = out_of_order::test(&trial, &again) => finding?,
        () = stop.cancelled() => return Err(VerifyError::Interrupted),
    };
    trial.topic.database.close().await;
    let tests = vec![judge::mid_run(&observed, re_run.outcome), re_run, out_of_order];
    Ok(Report {
        topic: plan.topic.clone(),
        passed: tests.iter().all(|finding| finding.outcome == Outcome::Passed),
        tests,
        runs: trial.runs,
        picture: again,
    })
}
