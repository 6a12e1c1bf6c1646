//! The request of a delivery as it was sent, for whoever looks: rendered once more, under what it was rendered under.
//!
//! By the code that sends, and nothing is sent or written. A delivery that travelled with others is shown alone.

use std::sync::Arc;

use super::renderings::Renderings;
use crate::destination::preview::Sketch;
use crate::destination::{Destination, Outgoing};
use crate::relay::Active;
use crate::store::admin::{AdminError, DeliveryId, Sent};
use crate::store::{Store, StoreError};

/// The request of the delivery `id`, secrets left out. Where it takes several, the last one: that is the one on record.
pub async fn as_sent(
    store: &dyn Store,
    active: &Active,
    id: &DeliveryId,
    sent: Sent,
) -> Result<Sketch, AdminError> {
    let no_request = |why: String| AdminError::NoRequest { id: id.clone(), why };
    let destination = under(store, active, sent.rendering).await?.map_err(no_request)?;
    let outgoing = Outgoing {
        row: sent.row,
        key: sent.key,
        attempt: sent.attempt,
        now: sent.at,
        traceparent: None,
    };
    let mut preview = destination.preview(&[outgoing]);
    let left_out = preview.left_out.pop();
    preview.requests.pop().ok_or_else(|| {
        let why = left_out.and_then(|(_, report)| report.detail);
        no_request(why.unwrap_or_else(|| "its destination makes none".to_owned()))
    })
}

async fn under(
    store: &dyn Store,
    active: &Active,
    rendering: Option<i64>,
) -> Result<Result<Arc<dyn Destination>, String>, StoreError> {
    let mut renderings = Renderings::look(store, active).await?;
    let found = renderings.of(rendering).map_err(|error| error.to_string());
    Ok(found.map(|(_, destination)| destination))
}
