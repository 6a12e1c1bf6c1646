//! `aftercommit retry-now`: what waits for a later time is due at once.

use super::act::DryReasonArgs;
use super::database;
use super::exit::Exit;
use super::output::OutputArgs;
use super::selection::SelectionArgs;
use super::settings::Settings;

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
    let hurried = if verb.dry_run {
        desk.store.would_retry_now(&selection).await?
    } else {
        desk.store.retry_now(&selection, &verb.reason.act()?).await?
    };
    verb.output.open().print(&hurried, |hurried| {
        let would = if verb.dry_run { "would be" } else { "are" };
        format!(
            "{} {would} due at once, {} do not wait for a later time",
            hurried.hurried, hurried.left_alone
        )
    })?;
    Ok(Exit::Done)
}
