//! `aftercommit audit`: who did what, from where and why, the newest first.

use super::database;
use super::exit::Exit;
use super::output::OutputArgs;
use super::settings::Settings;
use super::{table, times};
use crate::core::time::Timestamp;
use crate::store::admin::{AdminError, AdminStore, AuditEntry, AuditFilter, AuditPage, PageSize};

#[derive(clap::Args)]
pub(super) struct AuditVerb {
    /// Who: the name of a token, 'cli USER', or relay
    #[arg(long, value_name = "NAME", help_heading = "Filters")]
    actor: Option<String>,

    /// What was done, such as cancel, pause, replay or create
    #[arg(long, value_name = "WORD", help_heading = "Filters")]
    action: Option<String>,

    /// A part of what it was done to, such as the name of a destination
    #[arg(long, value_name = "TEXT", help_heading = "Filters")]
    subject: Option<String>,

    /// How many entries at most
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,

    /// Where an earlier list ended
    #[arg(long, value_name = "NUMBER")]
    after: Option<i64>,

    #[command(flatten)]
    output: OutputArgs,
}

pub(super) async fn run(verb: AuditVerb, settings: &Settings) -> anyhow::Result<Exit> {
    let desk = database::desk(settings).await?;
    let filter = AuditFilter {
        actor: verb.actor,
        action: verb.action,
        subject: verb.subject,
    };
    let page = page(&desk.store, &filter, verb.after, verb.limit).await?;
    let now = desk.store.now().await?;
    verb.output.open().print(&page, |page| text(page, now))?;
    Ok(Exit::Done)
}

/// A page is bounded by what it looks at, too; a person wants as many as were asked for.
async fn page(
    store: &AdminStore,
    filter: &AuditFilter,
    after: Option<i64>,
    limit: u32,
) -> Result<AuditPage, AdminError> {
    let mut page = store.audit(filter, after, PageSize::new(limit)?).await?;
    while let Some(next) = page.next {
        let missing = limit.saturating_sub(u32::try_from(page.entries.len()).unwrap_or(limit));
        if missing == 0 {
            break;
        }
        let more = store.audit(filter, Some(next), PageSize::new(missing)?).await?;
        page.entries.extend(more.entries);
        page.next = more.next;
    }
    Ok(page)
}

fn text(page: &AuditPage, now: Timestamp) -> String {
    if page.entries.is_empty() {
        return "nothing of this is on record".to_owned();
    }
    let header = ["WHEN", "WHO", "FROM", "DID", "TO", "WHY"];
    let row = |entry: &AuditEntry| {
        let why = [entry.reason.as_deref(), entry.detail.as_deref()];
        [
            times::at(entry.at, now),
            entry.actor.clone(),
            entry.origin.clone(),
            entry.action.clone(),
            entry.subject.clone(),
            why.into_iter().flatten().collect::<Vec<_>>().join("; "),
        ]
    };
    let table = table::table(header, page.entries.iter().map(row)).trim_fmt();
    match page.next {
        Some(next) => format!("{table}\n\nmore with --after {next}"),
        None => table,
    }
}
