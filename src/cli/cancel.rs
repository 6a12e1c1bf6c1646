//! `aftercommit cancel`: ends deliveries that are owed or uncertain, or a replay that runs.

use super::act::DryReasonArgs;
use super::database;
use super::exit::Exit;
use super::output::OutputArgs;
use super::selection::{FILTERS, SelectionArgs};
use super::settings::Settings;
use super::settling::settle;
use crate::store::admin::{Cancelled, Deed, How};

#[derive(clap::Args)]
pub(super) struct Cancel {
    #[command(flatten)]
    selection: SelectionArgs,

    /// End this replay instead; what it has made due stays so
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["ids", "all", "dry_run"], conflicts_with_all = FILTERS)]
    replay: Option<i64>,

    /// Only say how many would end
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    reason: DryReasonArgs,

    #[command(flatten)]
    output: OutputArgs,
}

pub(super) async fn run(verb: &Cancel, settings: &Settings) -> anyhow::Result<Exit> {
    let desk = database::desk(settings).await?;
    let mut output = verb.output.open();
    if let Some(id) = verb.replay {
        let replay = desk.store.cancel_replay(id, &verb.reason.act()?).await?;
        output.print(&replay, super::replay_text::replay)?;
        return Ok(Exit::Done);
    }
    let selection = verb.selection.read(&desk).await?;
    let how = if verb.dry_run {
        How::DryRun
    } else {
        How::Done(verb.reason.act()?, None)
    };
    let cancelled: Cancelled = settle(&desk, &selection, Deed::Cancel, how).await?.into();
    output.print(&cancelled, |cancelled| {
        let would = if verb.dry_run { "would be " } else { "" };
        format!(
            "{} {would}cancelled, {} {would}asked of the relay that holds them, {} had ended before",
            cancelled.cancelled, cancelled.requested, cancelled.left_alone
        )
    })?;
    Ok(Exit::Done)
}
