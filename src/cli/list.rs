//! `aftercommit list`: deliveries that match, the newest row first.

use super::database;
use super::exit::Exit;
use super::output::OutputArgs;
use super::selection::FilterArgs;
use super::settings::Settings;
use super::{table, times};
use crate::core::time::Timestamp;
use crate::store::admin::{AdminError, AdminStore, Cursor, Delivery, DeliveryFilter, Page, PageSize};

#[derive(clap::Args)]
pub(super) struct List {
    #[command(flatten)]
    filter: FilterArgs,

    /// How many deliveries at most
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,

    /// Where an earlier list ended
    #[arg(long, value_name = "CURSOR")]
    after: Option<Cursor>,

    #[command(flatten)]
    output: OutputArgs,
}

pub(super) async fn run(verb: List, settings: &Settings) -> anyhow::Result<Exit> {
    let desk = database::desk(settings).await?;
    let filter = verb.filter.read(&desk).await?;
    let now = desk.store.now().await?;
    let page = page(&desk.store, &filter, verb.after, verb.limit).await?;
    verb.output.open().print(&page, |page| text(page, now))?;
    Ok(Exit::Done)
}

/// A page is bounded by what it looks at, too; a person wants as many as were asked for.
async fn page(
    store: &AdminStore,
    filter: &DeliveryFilter,
    after: Option<Cursor>,
    limit: u32,
) -> Result<Page, AdminError> {
    let mut page = store.deliveries(filter, after, PageSize::new(limit)?).await?;
    while let Some(next) = page.next.clone() {
        let missing = limit.saturating_sub(u32::try_from(page.deliveries.len()).unwrap_or(limit));
        if missing == 0 {
            break;
        }
        let more = store
            .deliveries(filter, Some(next), PageSize::new(missing)?)
            .await?;
        page.deliveries.extend(more.deliveries);
        page.next = more.next;
    }
    Ok(page)
}

fn text(page: &Page, now: Timestamp) -> String {
    if page.deliveries.is_empty() {
        return "no such deliveries".to_owned();
    }
    let table = deliveries(&page.deliveries, now);
    match &page.next {
        Some(next) => format!("{table}\n\nmore with --after {next}"),
        None => table,
    }
}

/// A table of deliveries.
pub(super) fn deliveries(deliveries: &[Delivery], now: Timestamp) -> String {
    let header = [
        "DELIVERY",
        "ROW",
        "VERSION",
        "OP",
        "STATE",
        "ATTEMPTS",
        "WRITTEN",
        "NEXT OR END",
    ];
    let row = |delivery: &Delivery| {
        let end = delivery.settled_at.or(delivery.due_at);
        [
            format!("{}:{}", delivery.id.outbox_id, delivery.id.destination),
            format!("{}/{}", delivery.topic, delivery.row_key),
            delivery
                .row_version
                .map_or_else(|| "-".to_owned(), |version| version.to_string()),
            delivery.op.to_string(),
            state(delivery),
            delivery.attempts.to_string(),
            times::at(delivery.created_at, now),
            end.map_or_else(String::new, |end| times::relative(end, now)),
        ]
    };
    let mut table = table::table(header, deliveries.iter().map(row));
    table::align_right(&mut table, [5]);
    table.trim_fmt()
}

/// The state, and why where that says more.
pub(super) fn state(delivery: &Delivery) -> String {
    match delivery.reason {
        Some(reason) => format!("{} ({reason})", delivery.state),
        None => delivery.state.to_string(),
    }
}
