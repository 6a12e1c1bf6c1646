//! `aftercommit pause` and `resume`: a destination that nothing is begun for, or a replay that stands still, and that it
//! goes on.
//!
//! A pause holds and never drops.

use super::act::ReasonArgs;
use super::database;
use super::exit::Exit;
use super::output::OutputArgs;
use super::settings::Settings;
use super::{replay_text, times};
use crate::store::admin::{Paused, Replay};

#[derive(clap::Args)]
pub(super) struct PauseVerb {
    /// The destination
    #[arg(
        required_unless_present = "replay",
        default_value = "",
        hide_default_value = true
    )]
    destination: String,

    /// This replay instead
    #[arg(long, value_name = "NUMBER", conflicts_with = "destination")]
    replay: Option<i64>,
    #[command(flatten)]
    reason: ReasonArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) async fn pause(verb: &PauseVerb, settings: &Settings) -> anyhow::Result<Exit> {
    let desk = database::desk(settings).await?;
    let act = verb.reason.act()?;
    if let Some(id) = verb.replay {
        return verb.print_replay(&desk.store.pause_replay(id, &act).await?);
    }
    let paused = desk
        .store
        .pause(&verb.destination, &desk.configured, &act)
        .await?;
    verb.print(&paused)
}

pub(super) async fn resume(verb: &PauseVerb, settings: &Settings) -> anyhow::Result<Exit> {
    let desk = database::desk(settings).await?;
    let act = verb.reason.act()?;
    if let Some(id) = verb.replay {
        return verb.print_replay(&desk.store.resume_replay(id, &act).await?);
    }
    let resumed = desk
        .store
        .resume(&verb.destination, &desk.configured, &act)
        .await?;
    verb.print(&resumed)
}

impl PauseVerb {
    fn print_replay(&self, replay: &Replay) -> anyhow::Result<Exit> {
        self.output.open().print(replay, replay_text::replay)?;
        Ok(Exit::Done)
    }

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
