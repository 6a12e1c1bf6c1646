//! `aftercommit skip-head`: what stands first of a blocked row key ends, so that the next one goes on.
//!
//! It never guesses which that is: the head is named, or shown and asked for.

use super::act::act;
use super::database;
use super::exit::{Exit, Problem};
use super::output::OutputArgs;
use super::selection::Named;
use super::settings::Settings;
use super::{list, times};
use crate::core::time::Timestamp;
use crate::store::admin::{Delivery, DeliveryId, SkippedHead};

#[derive(clap::Args)]
pub(super) struct SkipHead {
    /// The delivery that is blocked: `OUTBOX_ID:DESTINATION`
    #[arg(value_name = "DELIVERY")]
    blocked: Named,

    /// The outbox row that stands before it and is to end: if another one does by now, nothing is done
    #[arg(long, value_name = "OUTBOX_ID", requires = "reason")]
    head: Option<i64>,

    /// Only show what stands before it
    #[arg(long, conflicts_with = "head")]
    dry_run: bool,

    /// Why; goes on record. Needed with --head
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,

    #[command(flatten)]
    output: OutputArgs,
}

pub(super) async fn run(verb: &SkipHead, settings: &Settings) -> anyhow::Result<Exit> {
    let Named::Delivery(blocked) = &verb.blocked else {
        let way_out = "a row key is blocked at one destination; write OUTBOX_ID:DESTINATION";
        return Err(Problem::BadInput(way_out.to_owned()).into());
    };
    let desk = database::desk(settings).await?;
    let mut output = verb.output.open();
    let Some(head) = verb.head else {
        let head = desk.store.head(blocked, &desk.expected).await?;
        let now = desk.store.now().await?;
        if verb.dry_run {
            output.print(&head, |head| standing_first(head, now))?;
            return Ok(Exit::Done);
        }
        return Err(Problem::BadInput(named_too(&head, blocked, now)).into());
    };
    let act = act(verb.reason.as_deref().unwrap_or_default())?;
    let skipped = desk.store.skip_head(blocked, head, &desk.expected, &act).await?;
    output.print(&skipped, |skipped| text(skipped, blocked))?;
    Ok(Exit::Done)
}

/// `4711:crm stands first: uncertain (outcome_unknown) since …`
fn standing_first(head: &Delivery, now: Timestamp) -> String {
    let since = head.settled_at.or(head.owed_at).unwrap_or(head.created_at);
    format!(
        "{}:{} stands first: {} since {}",
        head.id.outbox_id,
        head.id.destination,
        list::state(head),
        times::at(since, now)
    )
}

/// The head has to be named, since whoever does so has seen what ends.
fn named_too(head: &Delivery, blocked: &DeliveryId, now: Timestamp) -> String {
    let (
        outbox_id,
        DeliveryId {
            outbox_id: behind,
            destination,
        },
    ) = (head.id.outbox_id, blocked);
    format!(
        "{}; `aftercommit skip-head {behind}:{destination} --head {outbox_id} --reason …` ends it",
        standing_first(head, now)
    )
}

fn text(SkippedHead { skipped, cancelled }: &SkippedHead, blocked: &DeliveryId) -> String {
    let head = format!("{skipped}:{}", blocked.destination);
    if cancelled.cancelled > 0 {
        format!("{head} stood first, and is cancelled")
    } else if cancelled.requested > 0 {
        format!("{head} stands first; the relay that holds it is asked to end it")
    } else {
        format!("{head} stood first, and has ended meanwhile")
    }
}
