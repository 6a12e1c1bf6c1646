//! Settling one delivery by hand: cancel, retry now, mark as delivered; and skipping the head of a row key.

use axum::extract::State;
use axum::{Extension, Json};

use super::access::Caller;
use super::reply::{Because, Body, PathParts, Reply};
use super::state::AdminState;
use crate::store::admin::{
    AdminError, Cancelled, DeliveryId, Evidence, Hurried, Marked, Selection, SkippedHead,
};

/// The body of a request that marks a delivery as delivered.
#[derive(Debug, serde::Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MarkOne {
    /// Why.
    #[schema(max_length = 1000)]
    reason: String,
    /// How it is known that the receiver took it, for example the id that it gave.
    #[schema(max_length = 4000)]
    evidence: String,
}

/// The body of a request that skips a head.
#[derive(Debug, serde::Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Skip {
    /// The outbox row whose delivery was seen to stand first: the `head` that the delivery shows.
    head: i64,
    /// Why.
    #[schema(max_length = 1000)]
    reason: String,
}

/// Cancels one delivery
///
/// One that is owed, or waits as uncertain. What a relay holds ends at its next look, unless it succeeds before.
#[utoipa::path(
    post, path = "/deliveries/{outbox_id}/{destination}/cancel", operation_id = "cancel_delivery", tag = "deliveries",
    params(DeliveryId), request_body(content = Because, example = json!({"reason": "a test row"})),
    responses(
        (status = 200, description = "What became of it", body = Cancelled,
            example = json!({"cancelled": 1, "requested": 0, "left_alone": 0})),
    )
)]
pub(super) async fn cancel(
    State(state): State<AdminState>,
    Extension(caller): Extension<Caller>,
    PathParts(path): PathParts<(i64, String)>,
    Body(because): Body<Because>,
) -> Reply<Cancelled> {
    let (id, act) = (id(path), caller.act(&because.reason)?);
    let done = state.store.cancel(&only(&id), &act).await?;
    known(done, id)
}

/// Sends one delivery at once
///
/// One that waits for a later time is due now, even if its receiver asked this row to wait. A destination that is paused, or
/// was asked to wait as a whole, still waits.
#[utoipa::path(
    post, path = "/deliveries/{outbox_id}/{destination}/retry-now", operation_id = "retry_delivery_now", tag = "deliveries",
    params(DeliveryId), request_body(content = Because, example = json!({"reason": "the field is there now"})),
    responses(
        (status = 200, description = "What became of it", body = Hurried,
            example = json!({"hurried": 1, "left_alone": 0})),
    )
)]
pub(super) async fn retry_now(
    State(state): State<AdminState>,
    Extension(caller): Extension<Caller>,
    PathParts(path): PathParts<(i64, String)>,
    Body(because): Body<Because>,
) -> Reply<Hurried> {
    let (id, act) = (id(path), caller.act(&because.reason)?);
    let done = state.store.retry_now(&only(&id), &act).await?;
    known(done, id)
}

/// Marks one delivery as delivered
///
/// One that is uncertain or dead, and of which it is known that the receiver took it. The evidence goes on record.
#[utoipa::path(
    post, path = "/deliveries/{outbox_id}/{destination}/mark-delivered", operation_id = "mark_delivery_delivered", tag = "deliveries",
    params(DeliveryId), request_body(content = MarkOne, example = json!({"reason": "their log shows it", "evidence": "their order 99"})),
    responses(
        (status = 200, description = "What became of it", body = Marked,
            example = json!({"marked": 1, "left_alone": 0})),
    )
)]
pub(super) async fn mark_delivered(
    State(state): State<AdminState>,
    Extension(caller): Extension<Caller>,
    PathParts(path): PathParts<(i64, String)>,
    Body(body): Body<MarkOne>,
) -> Reply<Marked> {
    let (id, act) = (id(path), caller.act(&body.reason)?);
    let evidence = Evidence::new(&body.evidence)?;
    let done = state.store.mark_delivered(&only(&id), &evidence, &act).await?;
    known(done, id)
}

/// Skips what stands before a blocked delivery
///
/// Cancels the delivery that stands first of the same row key and keeps this one from being sent, so that the next one goes
/// on. Name the delivery that does not move, and as `head` what it shows as such: if another one stands first by now, nothing
/// is done, and `known` says which. So a request that is sent twice ends one delivery and no more.
#[utoipa::path(
    post, path = "/deliveries/{outbox_id}/{destination}/skip-head", operation_id = "skip_head", tag = "deliveries",
    params(DeliveryId), request_body(content = Skip, example = json!({"head": 4711, "reason": "4711 can never be taken"})),
    responses(
        (status = 200, description = "What became of it", body = SkippedHead,
            example = json!({"skipped": 4711, "cancelled": 1, "requested": 0, "left_alone": 0})),
        (status = 409, description = "Nothing stands before it, or another one than the head that is named"),
    )
)]
pub(super) async fn skip_head(
    State(state): State<AdminState>,
    Extension(caller): Extension<Caller>,
    PathParts(path): PathParts<(i64, String)>,
    Body(skip): Body<Skip>,
) -> Reply<SkippedHead> {
    let act = caller.act(&skip.reason)?;
    let settings = state.settings();
    let expected = settings.receivers.expected();
    Ok(Json(
        state
            .store
            .skip_head(&id(path), skip.head, expected, &act)
            .await?,
    ))
}

fn id((outbox_id, destination): (i64, String)) -> DeliveryId {
    DeliveryId {
        outbox_id,
        destination,
    }
}

fn only(id: &DeliveryId) -> Selection {
    Selection::Ids(vec![id.clone()])
}

/// What became of one delivery: nothing at all means that there is none.
fn known<T: Default + PartialEq>(done: T, id: DeliveryId) -> Reply<T> {
    if done == T::default() {
        return Err(AdminError::UnknownDelivery(id).into());
    }
    Ok(Json(done))
}
