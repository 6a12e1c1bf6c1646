//! One delivery, whole: its row, its key, and every attempt that was made to pay it.

use std::collections::{BTreeMap, HashMap};

use super::deliveries::Delivery;
use super::filter::{DeliveryFilter, DeliveryId};
use super::{AdminError, AdminStore, walk};
use crate::core::canonical::{NotCanonical, RowHash};
use crate::core::header_rule::gives_access;
use crate::core::key::{IdempotencyKey, KeyFacts, KeyVersion};
use crate::core::row::OutboxRow;
use crate::core::secrets::SECRET;
use crate::core::time::Timestamp;
use crate::store::database::{Args, Database, Row, sql};
use crate::store::fetch::OutboxColumns;
use crate::store::{StoreError, settings};

/// A delivery with all that is known of it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
pub struct DeliveryDetail {
    /// What lists show.
    #[serde(flatten)]
    pub delivery: Delivery,
    /// Counts the admitted changes of the row, from 1.
    pub generation: i64,
    /// The bytes that were written, as text.
    pub payload: String,
    /// How many bytes that is.
    pub payload_bytes: usize,
    /// A JSON object of text values, as text; `(secret)` stands for those that give access, and for all of what is no such object.
    pub headers: Option<String>,
    /// The key that its requests carry now, as a token; none if the payload has no canonical form.
    pub idempotency_key: Option<String>,
    /// Why there is no key.
    pub not_canonical: Option<String>,
    /// When the attempt that is in flight began; none if none is.
    pub in_flight_since: Option<Timestamp>,
    /// Every attempt on record, the first one first.
    pub history: Vec<Attempt>,
}

/// An attempt on record.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
pub struct Attempt {
    /// From 1.
    pub number: u32,
    /// The key epoch that it was made under.
    pub key_epoch: u32,
    /// The epoch of the lease that it was made under.
    pub lease_epoch: i64,
    /// What it met: accepted, throttled, refused, unreachable, unknown.
    pub outcome: String,
    /// The HTTP status, if one arrived.
    pub http_status: Option<u16>,
    /// When its request began.
    pub started_at: Timestamp,
    /// To the last byte of the answer, or to the failure, in microseconds.
    pub duration_us: u64,
    /// The key as it stood in the header; none where a crash took the knowledge.
    pub key: Option<String>,
    /// SHA-256 of the body, in hex digits; none where there was none, or a crash took the knowledge.
    pub body_digest: Option<String>,
    /// What went wrong, in a sentence.
    pub detail: Option<String>,
    /// The start of the response body.
    pub excerpt: Option<String>,
}

impl AdminStore {
    /// The delivery with this id.
    pub async fn delivery(&self, id: &DeliveryId) -> Result<DeliveryDetail, AdminError> {
        let (delivery, row) = self.with_row(id).await?;
        let namespace = settings::namespace(&self.database).await?;
        let key = key(&namespace, &delivery, &row).map(|key| key.to_string());
        let in_flight = in_flight(&self.database, id).await?;
        let args = Args::new().int(id.outbox_id).text(&id.destination);
        let rows = self.database.read(sql!(shared "attempts_of"), args).await?;
        Ok(DeliveryDetail {
            generation: row.generation,
            payload_bytes: row.payload.len(),
            payload: row.payload.as_ref().to_owned(),
            headers: row.headers.as_deref().map(shown_headers),
            idempotency_key: key.as_ref().ok().cloned(),
            not_canonical: key.err().map(|problem| problem.to_string()),
            in_flight_since: in_flight.map(|in_flight| in_flight.since),
            history: rows.iter().map(attempt).collect::<Result<_, _>>()?,
            delivery,
        })
    }

    /// The delivery as lists show it, and its row.
    pub(super) async fn with_row(&self, id: &DeliveryId) -> Result<(Delivery, OutboxRow), AdminError> {
        let unknown = || AdminError::UnknownDelivery(id.clone());
        let found = by_id(&self.database, std::slice::from_ref(id)).await?;
        let delivery = found.into_iter().next().ok_or_else(unknown)?;
        let args = Args::new().int(id.outbox_id);
        let rows = self.database.read(sql!(shared "row_of"), args).await?;
        let row = rows.first().ok_or_else(unknown)?;
        let row = OutboxColumns::of(row)?.outbox_row(row, row.int("id")?)?;
        Ok((delivery, row))
    }
}

/// The headers that a row brings, as its request is shown: without what gives access.
fn shown_headers(json: &str) -> String {
    // No request is made of anything else, so nobody misses it.
    let Ok(mut headers) = serde_json::from_str::<BTreeMap<String, String>>(json) else {
        return SECRET.to_owned();
    };
    for (_, value) in headers.iter_mut().filter(|(name, _)| gives_access(name)) {
        SECRET.clone_into(value);
    }
    serde_json::json!(headers).to_string()
}

/// An attempt that is on the wire, or was when its relay died.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InFlight {
    pub(super) since: Timestamp,
    /// The id of the relay that sent it.
    pub(super) relay: String,
    /// The receiver's id of the job that it travels by.
    pub(super) job: Option<String>,
    /// What a delivery without a rendering of its own is rendered under.
    pub(super) rendering: i64,
}

pub(super) async fn in_flight(database: &Database, id: &DeliveryId) -> Result<Option<InFlight>, StoreError> {
    let args = Args::new().int(id.outbox_id).text(&id.destination);
    let rows = database.read(sql!("in_flight"), args).await?;
    let read = |row: &Row| {
        Ok(InFlight {
            since: row.time("at")?,
            relay: row.text("relay")?.to_owned(),
            job: row.opt_text("job")?.map(str::to_owned),
            rendering: row.int("rendering")?,
        })
    };
    rows.first().map(read).transpose()
}

/// The deliveries of these ids that there are.
pub(super) async fn by_id(database: &Database, ids: &[DeliveryId]) -> Result<Vec<Delivery>, StoreError> {
    let args = DeliveryFilter::default().args().batch(walk::batch(ids));
    let rows = database.read(sql!("deliveries_of"), args).await?;
    rows.iter().map(Delivery::read).collect()
}

/// The last attempt of each of these deliveries that has one.
pub(super) async fn last_attempts(
    database: &Database,
    ids: &[DeliveryId],
) -> Result<HashMap<DeliveryId, Attempt>, StoreError> {
    let args = Args::new().batch(walk::batch(ids));
    let rows = database.read(sql!("last_attempts"), args).await?;
    let read = |row: &Row| Ok((walk::id(row)?, attempt(row)?));
    rows.iter().map(read).collect()
}

/// The key that its requests carry now, or why there is none.
pub(super) fn key(
    namespace: &str,
    delivery: &Delivery,
    row: &OutboxRow,
) -> Result<IdempotencyKey, NotCanonical> {
    let row_hash = RowHash::of(&row.payload)?;
    let facts = KeyFacts {
        namespace,
        destination: &delivery.id.destination,
        topic: &delivery.topic,
        row_key: &delivery.row_key,
        op: row.op,
        version: KeyVersion::of(row),
        row_hash,
        epoch: delivery.key_epoch,
    };
    Ok(IdempotencyKey::derive(&facts))
}

fn attempt(row: &Row) -> Result<Attempt, StoreError> {
    Ok(Attempt {
        number: row.int("number")?,
        key_epoch: row.int("key_epoch")?,
        lease_epoch: row.int("lease_epoch")?,
        outcome: row.text("outcome")?.to_owned(),
        http_status: row.opt_int("http_status")?,
        started_at: row.time("started_at")?,
        duration_us: row.int("duration_us")?,
        key: row.opt_text("key")?.map(str::to_owned),
        body_digest: row
            .opt_bytes("body_digest")?
            .map(|bytes| crate::core::hex::Hex(bytes).to_string()),
        detail: row.opt_text("detail")?.map(str::to_owned),
        excerpt: row.opt_text("excerpt")?.map(str::to_owned),
    })
}
