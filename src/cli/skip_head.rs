//! `aftercommit skip-head`: what stands first of a blocked row key ends, so that the next one goes on.

use super::act::ReasonArgs;
use super::database;
use super::exit::{Exit, Problem};
use super::output::OutputArgs;
use super::selection::Named;
use super::settings::Settings;

#[derive(clap::Args)]
pub(super) struct SkipHead {
    /// The delivery that is blocked: `OUTBOX_ID:DESTINATION`
    #[arg(value_name = "DELIVERY")]
    blocked: Named,

    #[command(flatten)]
    reason: ReasonArgs,

    #[command(flatten)]
    output: OutputArgs,
}

pub(super) async fn run(verb: &SkipHead, settings: &Settings) -> anyhow::Result<Exit> {
    let Named::Delivery(blocked) = &verb.blocked else {
        let way_out = "a row key is blocked at one destination; write OUTBOX_ID:DESTINATION";
        return Err(Problem::BadInput(way_out.to_owned()).into());
    };
    let desk = database::desk(settings).await?;
    let head = desk.store.skip_head(blocked, &verb.reason.act()?).await?;
    verb.output.open().print(&head, |head| {
        let skipped = format!("{}:{}", head.skipped, blocked.destination);
        let met = head.cancelled;
        if met.cancelled > 0 {
            format!("{skipped} stood first, and is cancelled")
        } else if met.requested > 0 {
            format!("{skipped} stands first; the relay that holds it is asked to end it")
        } else {
            format!("{skipped} stood first, and has ended meanwhile")
        }
    })?;
    Ok(Exit::Done)
}
