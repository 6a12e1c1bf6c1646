//! Why a row does not move, and the request of a delivery as it was sent.

use axum::Json;
use axum::extract::State;

use super::reply::{PathParts, Reply};
use super::state::AdminState;
use crate::destination::preview::Sketch;
use crate::store::admin::{DeliveryId, Diagnosis};

pub(super) async fn show(
    State(state): State<AdminState>,
    PathParts(outbox_id): PathParts<i64>,
) -> Reply<Diagnosis> {
    let settings = state.settings();
    let expected = settings.receivers.expected();
    Ok(Json(state.store.doctor(outbox_id, expected).await?))
}

pub(super) async fn request(
    State(state): State<AdminState>,
    PathParts((outbox_id, destination)): PathParts<(i64, String)>,
) -> Reply<Sketch> {
    let id = DeliveryId {
        outbox_id,
        destination,
    };
    let settings = state.settings();
    Ok(Json(settings.receivers.as_sent(&state.store, &id).await?))
}
