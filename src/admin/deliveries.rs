//! Deliveries: lists of them, and one of them.

use axum::Json;
use axum::extract::State;
use axum::http::Uri;

use super::query::{FILTER, Query, filter, page_size};
use super::reply::{PathParts, Reply};
use super::state::AdminState;
use crate::core::delivery;
use crate::core::time::Timestamp;
use crate::store::admin::{Cursor, DeliveryDetail, DeliveryId, Next, Options, Page, Selection};

/// Lists deliveries
///
/// The newest outbox id first. A page is bounded by what it may look at, too: it can hold fewer than `limit`, or none, though
/// `next` says that there is more.
#[utoipa::path(
    get, path = "/deliveries", operation_id = "list_deliveries", tag = "deliveries",
    params(
        ("state" = Option<Vec<delivery::State>>, Query, description = "One of these states", example = json!(["dead"])),
        ("destination" = Option<String>, Query, description = "Its destination"),
        ("topic" = Option<String>, Query, description = "Its row's topic"),
        ("row_key" = Option<String>, Query, description = "Its row's key"),
        ("reason" = Option<delivery::Reason>, Query, description = "Why it ended"),
        ("http_status" = Option<u16>, Query, description = "What its last attempt was answered with", minimum = 0, maximum = 65535),
        ("since" = Option<Timestamp>, Query, description = "Its row was written at this time or later"),
        ("until" = Option<Timestamp>, Query, description = "Its row was written before this time"),
        ("first_outbox_id" = Option<i64>, Query, description = "Its row has this outbox id or a higher one"),
        ("last_outbox_id" = Option<i64>, Query, description = "Its row has this outbox id or a lower one"),
        ("after" = Option<Cursor>, Query, description = "Where the page before ended: its `next`"),
        ("limit" = Option<u32>, Query, description = "How many at most; 100 if it is not said", minimum = 1, maximum = 1000),
    ),
    responses(
        (status = 200, description = "A page", body = Page, example = json!({"deliveries": [], "next": "4711:crm"})),
        (status = 404, description = "There is no such destination"),
    )
)]
pub(super) async fn list(State(state): State<AdminState>, uri: Uri) -> Reply<Page> {
    let known: Vec<&str> = FILTER.into_iter().chain(["after", "limit"]).collect();
    let query = Query::read(&uri, &known)?;
    let (filter, after, size) = (filter(&query)?, query.one("after")?, page_size(&query)?);
    state
        .require_destinations(&Selection::Filter(filter.clone()))
        .await?;
    let page = state.store.deliveries(&filter, after, size).await?;
    Ok(Json(page))
}

/// A delivery, what comes next for it, and what can be done with it.
#[derive(Debug, serde::Serialize, utoipa::ToSchema)]
#[schema(as = ShownDelivery)]
pub(super) struct Shown {
    #[serde(flatten)]
    detail: DeliveryDetail,
    next: Next,
    #[serde(flatten)]
    options: Options,
}

/// Shows one delivery
///
/// With its row, its key, every attempt that was made, what comes next, and what can be done with it.
#[utoipa::path(
    get, path = "/deliveries/{outbox_id}/{destination}", operation_id = "show_delivery", tag = "deliveries",
    params(DeliveryId),
    responses((status = 200, description = "The delivery", body = Shown, example = json!({
        "outbox_id": 4711, "destination": "crm", "state": "dead", "reason": "refused", "topic": "orders", "row_key": "10248",
        "row_version": null, "op": "event", "created_at": "2026-11-29T18:05:37Z", "attempts": 1, "key_epoch": 0,
        "due_at": null, "owed_at": null, "unknown_since": null, "cancel_at": null, "settled_at": "2026-11-29T18:05:38Z",
        "generation": 1, "payload": "{\"id\": 10248}", "payload_bytes": 13, "headers": null,
        "idempotency_key": "ac1-0123456789abcdef0123456789abcdef", "not_canonical": null, "in_flight_since": null,
        "history": [{
            "number": 1, "key_epoch": 0, "lease_epoch": 3, "outcome": "refused", "http_status": 422,
            "started_at": "2026-11-29T18:05:37.9Z", "duration_us": 41000, "key": "ac1-0123456789abcdef0123456789abcdef",
            "body_digest": null, "detail": "422 Unprocessable Entity", "excerpt": "{\"error\": \"unknown field\"}"
        }],
        "next": {"sentence": "it has been dead since 2026-11-29 18:05:38 UTC (2m ago): the receiver refused it for good", "due_at": null},
        "actions": ["replay", "mark-delivered"], "head": null
    })))
)]
pub(super) async fn show(
    State(state): State<AdminState>,
    PathParts((outbox_id, destination)): PathParts<(i64, String)>,
) -> Reply<Shown> {
    let id = DeliveryId {
        outbox_id,
        destination,
    };
    let detail = state.store.delivery(&id).await?;
    let settings = state.settings();
    let expected = settings.receivers.expected();
    let next = state.store.next(&id, expected).await?;
    let options = state.store.options(&detail.delivery, expected).await?;
    Ok(Json(Shown {
        detail,
        next,
        options,
    }))
}
