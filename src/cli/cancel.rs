//! `aftercommit cancel`: ends deliveries that are owed or uncertain, or a replay that runs.

use super::act::ReasonArgs;
use super::database;
use super::exit::Exit;
use super::output::OutputArgs;
use super::selection::SelectionArgs;
use super::settings::Settings;

#[derive(clap::Args)]
pub(super) struct Cancel {
    #[command(flatten)]
    selection: SelectionArgs,

    /// End this replay instead; what it has made due stays so
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["ids", "all", "state", "destination", "topic", "row_key", "because", "since", "until"])]
    replay: Option<i64>,

    #[command(flatten)]
    reason: ReasonArgs,

    #[command(flatten)]
    output: OutputArgs,
}

pub(super) async fn run(verb: &Cancel, settings: &Settings) -> anyhow::Result<Exit> {
    let desk = database::desk(settings).await?;
    let act = verb.reason.act()?;
    let mut output = verb.output.open();
    if let Some(id) = verb.replay {
        let replay = desk.store.cancel_replay(id, &act).await?;
        output.print(&replay, super::replay::text)?;
        return Ok(Exit::Done);
    }
    let selection = verb.selection.read(&desk).await?;
    let cancelled = desk.store.cancel(&selection, &act).await?;
    output.print(&cancelled, |cancelled| {
        format!(
            "{} cancelled, {} asked of the relay that holds them, {} had ended before",
            cancelled.cancelled, cancelled.requested, cancelled.left_alone
        )
    })?;
    Ok(Exit::Done)
}
