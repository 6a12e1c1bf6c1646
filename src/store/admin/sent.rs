//! What the request of a delivery followed from, so that the code that rendered it can render it once more.

use super::filter::DeliveryId;
use super::{AdminError, AdminStore, delivery};
use crate::core::key::IdempotencyKey;
use crate::core::row::OutboxRow;
use crate::core::time::Timestamp;
use crate::store::database::{Args, sql};
use crate::store::settings;

/// What the request of a delivery followed from, or would follow from if it was never sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// The row.
    pub row: OutboxRow,
    /// The key that its requests carry.
    pub key: IdempotencyKey,
    /// The attempt, from 1: the one in flight, else the last one on record, else the first.
    pub attempt: u32,
    /// When that was made; now, if none was.
    pub at: Timestamp,
    /// What it was rendered under, by the id of the rendering; none: it was never attempted.
    pub rendering: Option<i64>,
}

impl AdminStore {
    /// What the request of this delivery followed from. `namespace` is that of the configuration, if it names one.
    pub async fn sent(&self, id: &DeliveryId, namespace: Option<&str>) -> Result<Sent, AdminError> {
        let (owed_or_settled, row) = self.with_row(id).await?;
        let namespace = match namespace {
            Some(namespace) => namespace.to_owned(),
            None => settings::namespace(&self.database).await?,
        };
        let no_key = |problem| AdminError::NoRequest {
            id: id.clone(),
            why: format!("its payload has no canonical form: {problem}"),
        };
        let key = delivery::key(&namespace, &owed_or_settled, &row).map_err(no_key)?;
        let in_flight = delivery::in_flight(&self.database, id).await?;
        let last = delivery::last_attempts(&self.database, std::slice::from_ref(id)).await?;
        let (attempt, at) = match (&in_flight, last.get(id)) {
            (Some(in_flight), _) => (owed_or_settled.attempts + 1, in_flight.since),
            (None, Some(last)) => (last.number, last.started_at),
            (None, None) => (1, self.now().await?),
        };
        let args = Args::new().int(id.outbox_id).text(&id.destination);
        let rows = self.database.read(sql!(shared "rendering_of"), args).await?;
        let recorded = rows.first().map(|row| row.opt_int("rendering")).transpose()?;
        Ok(Sent {
            row,
            key,
            attempt,
            at,
            rendering: recorded
                .flatten()
                .or(in_flight.map(|in_flight| in_flight.rendering)),
        })
    }
}
