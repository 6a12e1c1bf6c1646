//! Replays: asking for one, looking at it, ending it.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::{Extension, Json};

use super::access::Caller;
use super::problem::Problem;
use super::reply::{Because, Body, PathParts, Reply};
use super::state::AdminState;
use crate::store::admin::{
    Created, DeliveryFilter, DeliveryId, DryRun, KeyMode, Replay, ReplayRequest, RequestKey, Selection,
    StaleRows,
};

/// The body of a request for a replay: one of `ids`, `filter` and `all`, and why.
#[derive(Debug, serde::Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    /// These deliveries.
    #[schema(min_items = 1, max_items = 10000)]
    ids: Option<Vec<DeliveryId>>,
    /// Those that match.
    filter: Option<DeliveryFilter>,
    /// Every delivery there is.
    #[serde(default)]
    all: bool,
    /// Under which key.
    #[serde(default)]
    key: KeyMode,
    /// Whether versions that a newer one has overtaken are sent too.
    #[serde(default)]
    force: bool,
    /// Only says what it would do.
    #[serde(default)]
    dry_run: bool,
    /// Why; a dry run needs no reason.
    #[serde(default)]
    reason: String,
}

/// Asks for a replay
///
/// A durable job that makes deliveries due again that have ended. `dry_run` answers what it would do. With an Idempotency-Key, a
/// request that comes twice makes one job. Under `"key": "same"` a receiver that honours keys does nothing for what it has done
/// already; under `new` it carries it out once more. `force` also sends versions that a newer one has overtaken.
#[utoipa::path(
    post, path = "/replays", operation_id = "create_replay", tag = "replays",
    params(("Idempotency-Key" = Option<String>, Header, description = "Tells this request from every other",
        min_length = 1, max_length = 255, pattern = "^[!-~]([ -~]*[!-~])?$")),
    request_body(content = Wanted, example = json!({
        "filter": {"states": ["dead"], "destination": "crm"}, "key": "same", "reason": "crm is back"
    })),
    responses(
        (status = 200, description = "What it would do (`dry_run`)", body = DryRun, example = json!({
            "matched": 1202, "requeued": 1200, "left_alone": 0, "skipped": 2, "by_state": {"dead": 1202}, "sample": []
        })),
        (status = 202, description = "The job, which may be one that the same request made before", body = Replay,
            headers(("Location" = String, description = "Where to look at it")),
            example = json!({
                "id": 3, "state": "running", "filter": {"states": ["dead"], "destination": "crm"}, "key": "same", "force": false,
                "reason": "crm is back", "requested_by": "ada", "requeued": 1200, "left_alone": 0, "skipped": 2,
                "last_outbox_id": 4711, "created_at": "2026-11-29T18:05:37Z", "finished_at": null
            })),
        (status = 404, description = "There is no such destination"),
    )
)]
pub(super) async fn create(
    State(state): State<AdminState>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    Body(wanted): Body<Wanted>,
) -> Result<Response, Problem> {
    let (dry_run, reason) = (wanted.dry_run, wanted.reason.clone());
    let request = wanted.request()?;
    state.require_destinations(&request.selection).await?;
    if dry_run {
        return Ok(Json(state.store.dry_run(&request).await?).into_response());
    }
    let act = caller.act(&reason)?;
    let key = RequestKey::of(&headers)?;
    match state.store.create_replay(&request, key.as_ref(), &act).await? {
        Created::New(replay) | Created::Existing(replay) => {
            let location = [(header::LOCATION, format!("/v1/replays/{}", replay.id))];
            Ok((StatusCode::ACCEPTED, location, Json(replay)).into_response())
        }
        Created::Conflict(replay) => Err(Problem::key_conflict(replay)),
    }
}

/// Shows a replay
///
/// How far it is.
#[utoipa::path(
    get, path = "/replays/{id}", operation_id = "show_replay", tag = "replays",
    params(("id" = i64, Path, description = "The number of the replay", example = 3)),
    responses((status = 200, description = "The replay", body = Replay, example = json!({
        "id": 3, "state": "running", "filter": {"states": ["dead"], "destination": "crm"}, "key": "same", "force": false,
        "reason": "crm is back", "requested_by": "ada", "requeued": 1200, "left_alone": 0, "skipped": 2,
        "last_outbox_id": 4711, "created_at": "2026-11-29T18:05:37Z", "finished_at": null
    })))
)]
pub(super) async fn show(State(state): State<AdminState>, PathParts(id): PathParts<i64>) -> Reply<Replay> {
    Ok(Json(state.store.replay(id).await?))
}

/// Ends a replay
///
/// What it has made due stays so. Nothing happens to one that has ended.
#[utoipa::path(
    post, path = "/replays/{id}/cancel", operation_id = "cancel_replay", tag = "replays",
    params(("id" = i64, Path, description = "The number of the replay", example = 3)),
    request_body(content = Because, example = json!({"reason": "the filter was wrong"})),
    responses((status = 200, description = "The replay", body = Replay, example = json!({
        "id": 3, "state": "cancelled", "filter": {"states": ["dead"], "destination": "crm"}, "key": "same", "force": false,
        "reason": "crm is back", "requested_by": "ada", "requeued": 1200, "left_alone": 0, "skipped": 2,
        "last_outbox_id": 4711, "created_at": "2026-11-29T18:05:37Z", "finished_at": "2026-11-29T18:05:40Z"
    })))
)]
pub(super) async fn cancel(
    State(state): State<AdminState>,
    Extension(caller): Extension<Caller>,
    PathParts(id): PathParts<i64>,
    Body(because): Body<Because>,
) -> Reply<Replay> {
    Ok(Json(
        state
            .store
            .cancel_replay(id, &caller.act(&because.reason)?)
            .await?,
    ))
}

impl Wanted {
    fn request(self) -> Result<ReplayRequest, Problem> {
        let selection = match (self.ids, self.filter, self.all) {
            (Some(ids), None, false) => Selection::Ids(ids),
            (None, Some(filter), false) => Selection::Filter(filter),
            (None, None, true) => Selection::All,
            _ => {
                return Err(Problem::unprocessable(
                    "give one of `ids`, `filter` and `\"all\": true`",
                ));
            }
        };
        Ok(ReplayRequest {
            selection,
            key: self.key,
            stale: if self.force {
                StaleRows::Force
            } else {
                StaleRows::Skip
            },
        })
    }
}
