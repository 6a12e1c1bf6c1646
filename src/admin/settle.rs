//! Settling by hand: cancel, retry now, mark as delivered, one delivery or many; and skipping the head of a row key.

use axum::extract::State;
use axum::{Extension, Json};

use super::access::Caller;
use super::problem::Problem;
use super::query::selection;
use super::reply::{Because, Body, PathParts, Reply, at_most};
use super::state::AdminState;
use crate::store::admin::{
    AdminError, Cancelled, DeliveryFilter, DeliveryId, Evidence, Hurried, MAX_EVIDENCE_CHARS,
    MAX_REASON_CHARS, Marked, Selection, SkippedHead,
};

/// The body of a request that changes many deliveries: one of `ids`, `filter` and `all`, and why.
#[derive(Debug, serde::Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Many {
    /// These deliveries.
    #[schema(min_items = 1, max_items = 10000)]
    ids: Option<Vec<DeliveryId>>,
    /// Those that match.
    filter: Option<DeliveryFilter>,
    /// Every delivery there is.
    #[serde(default)]
    all: bool,
    /// Only counts what would be changed.
    #[serde(default)]
    dry_run: bool,
    /// Why; a dry run needs no reason.
    #[serde(default, deserialize_with = "at_most::<MAX_REASON_CHARS, _>")]
    #[schema(max_length = 1000)]
    reason: String,
}

/// The body of a request that marks many deliveries as delivered.
#[derive(Debug, serde::Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MarkMany {
    /// These deliveries.
    #[schema(min_items = 1, max_items = 10000)]
    ids: Option<Vec<DeliveryId>>,
    /// Those that match.
    filter: Option<DeliveryFilter>,
    /// Every delivery there is.
    #[serde(default)]
    all: bool,
    /// Only counts what would be changed.
    #[serde(default)]
    dry_run: bool,
    /// Why; a dry run needs no reason.
    #[serde(default, deserialize_with = "at_most::<MAX_REASON_CHARS, _>")]
    #[schema(max_length = 1000)]
    reason: String,
    /// How it is known that the receiver took them. A dry run needs none.
    #[serde(default, deserialize_with = "at_most::<MAX_EVIDENCE_CHARS, _>")]
    #[schema(max_length = 4000)]
    evidence: String,
}

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
/// Cancels the oldest delivery of the same row key that is owed or uncertain, so that the next one goes on, and says which it
/// was. Name the delivery that does not move; it is never ended itself.
#[utoipa::path(
    post, path = "/deliveries/{outbox_id}/{destination}/skip-head", operation_id = "skip_head", tag = "deliveries",
    params(DeliveryId), request_body(content = Because, example = json!({"reason": "4711 can never be taken"})),
    responses(
        (status = 200, description = "What became of it", body = SkippedHead,
            example = json!({"skipped": 4711, "cancelled": 1, "requested": 0, "left_alone": 0})),
        (status = 409, description = "Nothing stands before it"),
    )
)]
pub(super) async fn skip_head(
    State(state): State<AdminState>,
    Extension(caller): Extension<Caller>,
    PathParts(path): PathParts<(i64, String)>,
    Body(because): Body<Because>,
) -> Reply<SkippedHead> {
    let act = caller.act(&because.reason)?;
    Ok(Json(state.store.skip_head(&id(path), &act).await?))
}

/// Cancels many deliveries
///
/// Those that are owed, or wait as uncertain. `dry_run` counts what would become of them.
#[utoipa::path(
    post, path = "/deliveries/cancel", operation_id = "cancel_deliveries", tag = "deliveries",
    request_body(content = Many, example = json!({"filter": {"destination": "crm", "states": ["uncertain"]}, "reason": "they are done by hand"})),
    responses(
        (status = 200, description = "What became of them", body = Cancelled,
            example = json!({"cancelled": 12, "requested": 0, "left_alone": 0})),
        (status = 404, description = "There is no such destination"),
    )
)]
pub(super) async fn cancel_many(
    State(state): State<AdminState>,
    Extension(caller): Extension<Caller>,
    Body(many): Body<Many>,
) -> Reply<Cancelled> {
    let (dry_run, reason) = (many.dry_run, many.reason.clone());
    let selection = many.selection(&state).await?;
    Ok(Json(if dry_run {
        state.store.would_cancel(&selection).await?
    } else {
        state.store.cancel(&selection, &caller.act(&reason)?).await?
    }))
}

/// Sends many deliveries at once
///
/// Those that wait for a later time are due now. `dry_run` counts what would become of them.
#[utoipa::path(
    post, path = "/deliveries/retry-now", operation_id = "retry_deliveries_now", tag = "deliveries",
    request_body(content = Many, example = json!({"filter": {"destination": "crm"}, "reason": "crm is back"})),
    responses(
        (status = 200, description = "What became of them", body = Hurried,
            example = json!({"hurried": 1200, "left_alone": 3})),
        (status = 404, description = "There is no such destination"),
    )
)]
pub(super) async fn retry_many_now(
    State(state): State<AdminState>,
    Extension(caller): Extension<Caller>,
    Body(many): Body<Many>,
) -> Reply<Hurried> {
    let (dry_run, reason) = (many.dry_run, many.reason.clone());
    let selection = many.selection(&state).await?;
    Ok(Json(if dry_run {
        state.store.would_retry_now(&selection).await?
    } else {
        state.store.retry_now(&selection, &caller.act(&reason)?).await?
    }))
}

/// Marks many deliveries as delivered
///
/// Those that are uncertain or dead, and of which it is known that the receiver took them. The evidence goes on record.
/// `dry_run` counts what would become of them.
#[utoipa::path(
    post, path = "/deliveries/mark-delivered", operation_id = "mark_deliveries_delivered", tag = "deliveries",
    request_body(content = MarkMany, example = json!({"filter": {"destination": "crm", "states": ["uncertain"]}, "reason": "their log shows them", "evidence": "export of 2026-11-30"})),
    responses(
        (status = 200, description = "What became of them", body = Marked,
            example = json!({"marked": 12, "left_alone": 0})),
        (status = 404, description = "There is no such destination"),
    )
)]
pub(super) async fn mark_many_delivered(
    State(state): State<AdminState>,
    Extension(caller): Extension<Caller>,
    Body(body): Body<MarkMany>,
) -> Reply<Marked> {
    let selection = selection(body.ids, body.filter, body.all)?;
    state.require_destinations(&selection).await?;
    if body.dry_run {
        return Ok(Json(state.store.would_mark_delivered(&selection).await?));
    }
    let evidence = Evidence::new(&body.evidence)?;
    let act = caller.act(&body.reason)?;
    Ok(Json(
        state.store.mark_delivered(&selection, &evidence, &act).await?,
    ))
}

impl Many {
    async fn selection(self, state: &AdminState) -> Result<Selection, Problem> {
        let selection = selection(self.ids, self.filter, self.all)?;
        state.require_destinations(&selection).await?;
        Ok(selection)
    }
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
