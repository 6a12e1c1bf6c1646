//! `aftercommit pause` and `resume`: a destination that nothing is begun for, or a replay that stands still, and that it
//! goes on.
//!
//! A pause holds and never drops.

use super::act::ReasonArgs;
use super::database::{self, Desk};
use super::exit::Exit;
use super::output::OutputArgs;
use super::settings::Settings;
use super::{replay_text, times};
use crate::store::admin::{Paused, Replay};

#[derive(clap::Args)]
pub(super) struct PauseVerb {
    /// The destination
    #[arg(required_unless_present = "replay")]
    destination: Option<String>,

    /// This replay instead
    #[arg(long, value_name = "NUMBER", conflicts_with = "destination")]
    replay: Option<i64>,
    #[command(flatten)]
    reason: ReasonArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) async fn pause(verb: &PauseVerb, settings: &Settings) -> anyhow::Result<Exit> {
    let Desk {
        store, configured, ..
    } = database::desk(settings).await?;
    let act = verb.reason.act()?;
    match verb.what() {
        What::Destination(name) => verb.print(&store.pause(name, &configured, &act).await?),
        What::Replay(id) => verb.print_replay(&store.pause_replay(id, &act).await?),
    }
}

pub(super) async fn resume(verb: &PauseVerb, settings: &Settings) -> anyhow::Result<Exit> {
    let Desk {
        store, configured, ..
    } = database::desk(settings).await?;
    let act = verb.reason.act()?;
    match verb.what() {
        What::Destination(name) => verb.print(&store.resume(name, &configured, &act).await?),
        What::Replay(id) => verb.print_replay(&store.resume_replay(id, &act).await?),
    }
}

/// What is paused, or goes on.
enum What<'v> {
    Destination(&'v str),
    Replay(i64),
}

impl PauseVerb {
    /// One of the two is given.
    fn what(&self) -> What<'_> {
        match self.replay {
            Some(id) => What::Replay(id),
            None => What::Destination(self.destination.as_deref().unwrap_or_default()),
        }
    }

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
