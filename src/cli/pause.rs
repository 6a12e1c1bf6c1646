//! `aftercommit pause` and `resume`: a destination that nothing is begun for, and that it goes on.
//!
//! A pause holds and never drops.

use super::act::ReasonArgs;
use super::database;
use super::exit::Exit;
use super::output::OutputArgs;
use super::settings::Settings;
use super::times;
use crate::store::admin::Paused;

#[derive(clap::Args)]
pub(super) struct PauseVerb {
    /// The destination
    destination: String,
    #[command(flatten)]
    reason: ReasonArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) async fn pause(verb: &PauseVerb, settings: &Settings) -> anyhow::Result<Exit> {
    let desk = database::desk(settings).await?;
    let act = verb.reason.act()?;
    let paused = desk
        .store
        .pause(&verb.destination, &desk.configured, &act)
        .await?;
    verb.print(&paused)
}

pub(super) async fn resume(verb: &PauseVerb, settings: &Settings) -> anyhow::Result<Exit> {
    let desk = database::desk(settings).await?;
    let act = verb.reason.act()?;
    let resumed = desk
        .store
        .resume(&verb.destination, &desk.configured, &act)
        .await?;
    verb.print(&resumed)
}

impl PauseVerb {
    fn print(&self, paused: &Paused) -> anyhow::Result<Exit> {
        self.output
            .open()
            .print(paused, |Paused { destination, pause }| match pause {
                Some(pause) => format!(
                    "{destination} is paused since {} by {}: {}",
                    times::utc(pause.at),
                    pause.by,
                    pause.reason
                ),
                None => format!("{destination} goes on"),
            })?;
        Ok(Exit::Done)
    }
}
