//! Which deliveries a verb means: ids, filters, or all of them.

use std::str::FromStr;

use super::database::Desk;
use super::exit::Problem;
use super::times::When;
use crate::core::delivery::{Reason, State};
use crate::store::Backfill;
use crate::store::admin::{
    AdminError, AdminStore, DeliveryFilter, DeliveryId, MissingRows, PageSize, Selection,
};

/// Every option of [`FilterArgs`]: beside ids, or beside everything, none has a meaning.
pub(super) const FILTERS: [&str; 10] = [
    "state",
    "destination",
    "topic",
    "row_key",
    "because",
    "http_status",
    "since",
    "until",
    "first_outbox_id",
    "last_outbox_id",
];

/// What a delivery must be. What is left out does not matter.
#[derive(clap::Args)]
#[command(next_help_heading = "Filters")]
pub(super) struct FilterArgs {
    /// Its state: pending, delivered, dead, uncertain, superseded or cancelled; several separated by commas
    #[arg(long, value_delimiter = ',')]
    state: Vec<State>,

    /// Its destination
    #[arg(long)]
    destination: Option<String>,

    /// Its row's topic
    #[arg(long)]
    topic: Option<String>,

    /// Its row's key
    #[arg(long)]
    row_key: Option<String>,

    /// Why it ended, for example refused or `attempts_exhausted`
    #[arg(long, value_name = "REASON")]
    because: Option<Reason>,

    /// The HTTP status of its last attempt, for example 422
    #[arg(long, value_name = "STATUS")]
    http_status: Option<u16>,

    /// Its row was written at this time or later: 2026-11-29T18:05:37Z, or 2h for two hours ago
    #[arg(long, value_name = "TIME")]
    since: Option<When>,

    /// Its row was written before this time
    #[arg(long, value_name = "TIME")]
    until: Option<When>,

    /// Its row has this outbox id or a higher one
    #[arg(long, value_name = "ID")]
    first_outbox_id: Option<i64>,

    /// Its row has this outbox id or a lower one
    #[arg(long, value_name = "ID")]
    last_outbox_id: Option<i64>,
}

/// Which deliveries a verb changes.
#[derive(clap::Args)]
pub(super) struct SelectionArgs {
    /// Deliveries: the outbox id, for all its destinations, or `OUTBOX_ID:DESTINATION`
    #[arg(
        value_name = "DELIVERY",
        conflicts_with_all = FILTERS
    )]
    ids: Vec<Named>,

    #[command(flatten)]
    filter: FilterArgs,

    /// Every delivery there is
    #[arg(long, conflicts_with = "ids", conflicts_with_all = FILTERS)]
    all: bool,
}

/// A delivery, or all of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Named {
    Row(i64),
    Delivery(DeliveryId),
}

impl FromStr for Named {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (outbox_id, destination) = match text.split_once(':') {
            Some((outbox_id, destination)) => (outbox_id, Some(destination)),
            None => (text, None),
        };
        let outbox_id = outbox_id
            .parse()
            .map_err(|_| "write an outbox id, or OUTBOX_ID:DESTINATION".to_owned())?;
        Ok(match destination {
            None => Self::Row(outbox_id),
            Some(destination) => Self::Delivery(DeliveryId {
                outbox_id,
                destination: destination.to_owned(),
            }),
        })
    }
}

impl FilterArgs {
    /// Fails where the destination that is named does not exist.
    pub(super) async fn read(&self, desk: &Desk) -> Result<DeliveryFilter, AdminError> {
        let now = desk.store.now().await?;
        let filter = DeliveryFilter {
            states: self.state.clone(),
            destination: self.destination.clone(),
            topic: self.topic.clone(),
            row_key: self.row_key.clone(),
            reason: self.because,
            since: self.since.map(|when| when.time(now)),
            http_status: self.http_status,
            until: self.until.map(|when| when.time(now)),
            first_outbox_id: self.first_outbox_id,
            last_outbox_id: self.last_outbox_id,
        };
        desk.store
            .require_destinations(&Selection::Filter(filter.clone()), &desk.configured)
            .await?;
        Ok(filter)
    }
}

impl SelectionArgs {
    /// The rows that a destination never had. Fails where no destination is named, or where there is no such one.
    pub(super) async fn missing(&self, desk: &Desk, versions: Backfill) -> anyhow::Result<MissingRows> {
        let filter = self.filter.read(desk).await?;
        let destination = filter.destination.ok_or_else(|| {
            Problem::BadInput("name the destination that lacks rows: --destination".to_owned())
        })?;
        Ok(MissingRows {
            destination,
            topic: filter.topic,
            row_key: filter.row_key,
            since: filter.since,
            until: filter.until,
            first_outbox_id: filter.first_outbox_id,
            last_outbox_id: filter.last_outbox_id,
            versions,
        })
    }

    /// Fails where a delivery or a destination that is named does not exist.
    pub(super) async fn read(&self, desk: &Desk) -> anyhow::Result<Selection> {
        if self.all {
            return Ok(Selection::All);
        }
        if self.ids.is_empty() {
            return Ok(Selection::Filter(self.filter.read(desk).await?));
        }
        let mut ids = Vec::new();
        for named in &self.ids {
            match named {
                Named::Delivery(id) => ids.push(desk.store.delivery(id).await?.delivery.id),
                Named::Row(outbox_id) => ids.extend(deliveries_of(&desk.store, *outbox_id).await?),
            }
        }
        Ok(Selection::Ids(ids))
    }
}

/// The deliveries of a row, of which there is at least one.
pub(super) async fn deliveries_of(store: &AdminStore, outbox_id: i64) -> anyhow::Result<Vec<DeliveryId>> {
    let filter = DeliveryFilter {
        first_outbox_id: Some(outbox_id),
        last_outbox_id: Some(outbox_id),
        ..DeliveryFilter::default()
    };
    let page = store.deliveries(&filter, None, PageSize::new(1_000)?).await?;
    if page.deliveries.is_empty() {
        return Err(Problem::NotFound(format!(
            "no delivery belongs to outbox row {outbox_id}; `aftercommit list` shows which there are"
        ))
        .into());
    }
    Ok(page.deliveries.into_iter().map(|delivery| delivery.id).collect())
}
