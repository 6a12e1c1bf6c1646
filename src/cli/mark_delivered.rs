//! `aftercommit mark-delivered`: a person knows that the receiver took what is uncertain or dead.

use super::act::DryReasonArgs;
use super::database;
use super::exit::Exit;
use super::output::OutputArgs;
use super::selection::SelectionArgs;
use super::settings::Settings;
use super::settling::settle;
use crate::store::admin::{Deed, Evidence, How, Marked};

#[derive(clap::Args)]
pub(super) struct MarkDelivered {
    #[command(flatten)]
    selection: SelectionArgs,

    /// Only say how many would be marked
    #[arg(long)]
    dry_run: bool,

    /// How it is known that the receiver took it, for example the id that it gave; goes on record
    #[arg(long, value_name = "TEXT", required_unless_present = "dry_run")]
    evidence: Option<String>,

    #[command(flatten)]
    reason: DryReasonArgs,

    #[command(flatten)]
    output: OutputArgs,
}

pub(super) async fn run(verb: &MarkDelivered, settings: &Settings) -> anyhow::Result<Exit> {
    let desk = database::desk(settings).await?;
    let selection = verb.selection.read(&desk).await?;
    let how = if verb.dry_run {
        How::DryRun
    } else {
        let evidence = Evidence::new(verb.evidence.as_deref().unwrap_or_default())?;
        How::Done(verb.reason.act()?, Some(evidence))
    };
    let marked: Marked = settle(&desk, &selection, Deed::MarkDelivered, how).await?.into();
    verb.output.open().print(&marked, |marked| {
        let would = if verb.dry_run { "would be" } else { "are" };
        format!(
            "{} {would} delivered, {} were neither uncertain nor dead",
            marked.marked, marked.left_alone
        )
    })?;
    Ok(Exit::Done)
}
