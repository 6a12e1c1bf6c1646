//! Settling many deliveries by hand: a bounded part of them in each request, and where the next part begins.
//!
//! ```text
//!  request ─▶ a step (a transaction) ─▶ … ─▶ no more, enough looked at, or the server is to end ─▶ counts, and `next`
//!     ▲                                                                                                │
//!     └──────────────────────── the same request, with `next` as `after` ─────────────────────────────┘
//! ```

use axum::extract::State;
use axum::{Extension, Json};

use super::access::Caller;
use super::query::selection;
use super::reply::{Body, Reply, at_most};
use super::state::AdminState;
use crate::store::admin::{
    AdminError, Cancelled, Counts, Cursor, Deed, DeliveryFilter, DeliveryId, Evidence, How, Hurried,
    MAX_EVIDENCE_CHARS, MAX_REASON_CHARS, Marked, Part,
};

/// Deliveries that one request looks at, or a step more: seconds, however slow the database is.
const ENOUGH: u64 = 20_000;

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
    /// Where the part before ended: its `next`.
    after: Option<Cursor>,
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
    /// Where the part before ended: its `next`.
    after: Option<Cursor>,
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

/// Cancels many deliveries
///
/// Those that are owed, or wait as uncertain. `dry_run` counts what would become of them. Of very many a request does a
/// part: while `next` is not null, the same request goes on with it as `after`.
#[utoipa::path(
    post, path = "/deliveries/cancel", operation_id = "cancel_deliveries", tag = "deliveries",
    request_body(content = Many, example = json!({"filter": {"destination": "crm", "states": ["uncertain"]}, "reason": "they are done by hand"})),
    responses(
        (status = 200, description = "What became of them", body = Part<Cancelled>,
            example = json!({"cancelled": 12, "requested": 0, "left_alone": 0, "next": null})),
        (status = 404, description = "There is no such destination"),
    )
)]
pub(super) async fn cancel(
    State(state): State<AdminState>,
    Extension(caller): Extension<Caller>,
    Body(many): Body<Many>,
) -> Reply<Part<Cancelled>> {
    let how = many.how(&caller)?;
    settle(&state, Deed::Cancel, how, many).await
}

/// Sends many deliveries at once
///
/// Those that wait for a later time are due now. `dry_run` counts what would become of them. Of very many a request does a
/// part: while `next` is not null, the same request goes on with it as `after`.
#[utoipa::path(
    post, path = "/deliveries/retry-now", operation_id = "retry_deliveries_now", tag = "deliveries",
    request_body(content = Many, example = json!({"filter": {"destination": "crm"}, "reason": "crm is back"})),
    responses(
        (status = 200, description = "What became of them", body = Part<Hurried>,
            example = json!({"hurried": 1200, "left_alone": 18800, "next": "4711:crm"})),
        (status = 404, description = "There is no such destination"),
    )
)]
pub(super) async fn retry_now(
    State(state): State<AdminState>,
    Extension(caller): Extension<Caller>,
    Body(many): Body<Many>,
) -> Reply<Part<Hurried>> {
    let how = many.how(&caller)?;
    settle(&state, Deed::RetryNow, how, many).await
}

/// Marks many deliveries as delivered
///
/// Those that are uncertain or dead, and of which it is known that the receiver took them. The evidence goes on record.
/// `dry_run` counts what would become of them. Of very many a request does a part: while `next` is not null, the same request
/// goes on with it as `after`.
#[utoipa::path(
    post, path = "/deliveries/mark-delivered", operation_id = "mark_deliveries_delivered", tag = "deliveries",
    request_body(content = MarkMany, example = json!({"filter": {"destination": "crm", "states": ["uncertain"]}, "reason": "their log shows them", "evidence": "export of 2026-11-30"})),
    responses(
        (status = 200, description = "What became of them", body = Part<Marked>,
            example = json!({"marked": 12, "left_alone": 0, "next": null})),
        (status = 404, description = "There is no such destination"),
    )
)]
pub(super) async fn mark_delivered(
    State(state): State<AdminState>,
    Extension(caller): Extension<Caller>,
    Body(body): Body<MarkMany>,
) -> Reply<Part<Marked>> {
    let (many, evidence) = body.apart();
    let how = match many.how(&caller)? {
        How::DryRun => How::DryRun,
        How::Done(act, _) => How::Done(act, Some(Evidence::new(&evidence)?)),
    };
    settle(&state, Deed::MarkDelivered, how, many).await
}

async fn settle<T: From<Counts>>(state: &AdminState, deed: Deed, how: How, many: Many) -> Reply<Part<T>> {
    let selection = selection(many.ids, many.filter, many.all)?;
    state.require_destinations(&selection).await?;
    let mut settling = state.store.settling(&selection, deed, how, many.after).await?;
    let mut more = settling.step().await?;
    while more && settling.looked_at() < ENOUGH && !state.stop.is_cancelled() {
        more = match settling.step().await {
            Ok(more) => more,
            // What is done counts, and is answered. The next request meets the error again.
            Err(error) => {
                tracing::warn!(%error, "a request to settle many deliveries was cut short");
                break;
            }
        };
    }
    Ok(Json(settling.part()))
}

impl Many {
    fn how(&self, caller: &Caller) -> Result<How, AdminError> {
        Ok(if self.dry_run {
            How::DryRun
        } else {
            How::Done(caller.act(&self.reason)?, None)
        })
    }
}

impl MarkMany {
    fn apart(self) -> (Many, String) {
        let many = Many {
            ids: self.ids,
            filter: self.filter,
            all: self.all,
            after: self.after,
            dry_run: self.dry_run,
            reason: self.reason,
        };
        (many, self.evidence)
    }
}
