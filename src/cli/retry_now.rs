//! `aftercommit retry-now`: what waits for a later time is due at once.

use super::act::DryReasonArgs;
use super::database;
use super::exit::Exit;
use super::output::OutputArgs;
use super::selection::SelectionArgs;
use super::settings::Settings;
use super::settling::settle;
use crate::store::admin::{Deed, How, Hurried};

#[derive(clap::Args)]
pub(super) struct RetryNow {
    #[command(flatten)]
    selection: SelectionArgs,

    /// Only say how many would be sent at once
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    reason: DryReasonArgs,

    #[command(flatten)]
    output: OutputArgs,
}

pub(super) async fn run(verb: &RetryNow, settings: &Settings) -> anyhow::Result<Exit> {
    let desk = database::desk(settings).await?;
    let selection = verb.selection.read(&desk).await?;
    let how = if verb.dry_run {
        How::DryRun
    } else {
        How::Done(verb.reason.act()?, None)
    };
    let hurried: Hurried = settle(&desk, &selection, Deed::RetryNow, how).await?.into();
    verb.output.open().print(&hurried, |hurried| {
        let would = if verb.dry_run { "would be" } else { "are" };
        format!(
            "{} {would} due at once, {} do not wait for a later time",
            hurried.hurried, hurried.left_alone
        )
    })?;
    Ok(Exit::Done)
}
