//! Why a row does not move, and the request of a delivery as it was sent.

use axum::Json;
use axum::extract::State;

use super::reply::{PathParts, Reply};
use super::state::AdminState;
use crate::destination::preview::Sketch;
use crate::store::admin::{DeliveryId, Diagnosis};

/// Says why a row does not move
///
/// What is known of each of its deliveries, in words, each with its way out; what matters most comes first.
#[utoipa::path(
    get, path = "/doctor/{outbox_id}", operation_id = "examine_row", tag = "deliveries",
    params(("outbox_id" = i64, Path, description = "The outbox row", example = 4711)),
    responses((status = 200, description = "What is known of it", body = Diagnosis, example = json!({
        "outbox_id": 4711, "topic": "orders", "row_key": "10248",
        "deliveries": [{
            "destination": "crm", "state": "pending",
            "findings": [{
                "sentence": "crm is paused since 2026-11-29 18:05:37 UTC (2m ago) by ada: maintenance until noon",
                "way_out": "once that is mended, `aftercommit resume crm --reason …`"
            }]
        }]
    })))
)]
pub(super) async fn show(
    State(state): State<AdminState>,
    PathParts(outbox_id): PathParts<i64>,
) -> Reply<Diagnosis> {
    let settings = state.settings();
    let expected = settings.receivers.expected();
    Ok(Json(state.store.doctor(outbox_id, expected).await?))
}

/// Shows the request of a delivery
///
/// As it was sent, or would be if it never was: rendered once more by the code that sends, under what it was rendered under
/// then. A delivery that travelled with others is shown alone. Secrets are left out, and the signature with them.
#[utoipa::path(
    get, path = "/deliveries/{outbox_id}/{destination}/request", operation_id = "show_request", tag = "deliveries",
    params(DeliveryId),
    responses(
        (status = 200, description = "The request", body = Sketch, example = json!({
            "method": "POST", "url": "https://example.com/(path not shown)",
            "headers": [["content-type", "application/json"], ["webhook-signature", "(secret)"]],
            "body": "{\"id\": 10248}", "note": null
        })),
        (status = 409, description = "It cannot be made: the configuration does not have the destination, or it cannot be rendered"),
    )
)]
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
