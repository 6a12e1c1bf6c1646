//! `aftercommit test`: tries a destination out with a signed ping, or by logging in to a CRM and looking at it.

use std::time::Duration;

use serde::Serialize;
use uuid::Uuid;

use super::act::ReasonArgs;
use super::database::{self, Bench};
use super::exit::Exit;
use super::output::OutputArgs;
use super::settings::Settings;
use super::table;
use crate::relay::receivers::Trial;

#[derive(clap::Args)]
pub(super) struct Test {
    /// The destination
    destination: String,
    #[command(flatten)]
    reason: ReasonArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// What is printed.
#[derive(Serialize)]
struct Told<'a> {
    destination: &'a str,
    #[serde(flatten)]
    trial: Trial,
}

pub(super) async fn run(verb: &Test, settings: &Settings) -> anyhow::Result<Exit> {
    let Bench { store, receivers } = database::bench(settings).await?;
    let (destination, act) = (verb.destination.as_str(), verb.reason.act()?);
    receivers.active(destination)?;
    // On record before anything is sent.
    store.note_test(destination, &act).await?;
    let trial = receivers.try_out(&store, destination, Uuid::new_v4()).await?;
    let exit = if trial.tried.ok { Exit::Done } else { Exit::Failed };
    verb.output.open().print(&Told { destination, trial }, text)?;
    Ok(exit)
}

fn text(Told { destination, trial }: &Told<'_>) -> String {
    let verdict = if trial.tried.ok { "good" } else { "not good" };
    format!(
        "{destination}: {verdict}: {} ({:.1} ms)",
        table::visible(&trial.tried.sentence),
        Duration::from_micros(trial.duration_us).as_secs_f64() * 1e3
    )
}
