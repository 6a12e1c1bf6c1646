//! Replays: asking for one, listing them, looking at one, stopping it and ending it.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use axum::{Extension, Json};

use super::access::Caller;
use super::problem::Problem;
use super::query::{Query, page_size, selection};
use super::reply::{Because, Body, PathParts, Reply, at_most};
use super::state::AdminState;
use crate::store::admin::{
    Created, DeliveryFilter, DeliveryId, DryRun, KeyMode, MAX_REASON_CHARS, MissingRows, Replay, ReplayPage,
    ReplayRate, ReplayRequest, ReplaySelection, ReplayState, ReplayStates, RequestKey, StaleRows,
};

/// The body of a request for a replay: one of `ids`, `filter`, `all` and `missing`, and why.
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
    /// Rows that a destination never had.
    missing: Option<MissingRows>,
    /// `same`: a receiver that honours keys does nothing for what it has done already. `new`: every receiver carries each of
    /// them out once more, done already or not.
    #[serde(default)]
    key: KeyMode,
    /// Whether versions that a newer one has overtaken are sent too.
    #[serde(default)]
    force: bool,
    /// Deliveries a second that become due at most; without it, as fast as it goes.
    rate: Option<ReplayRate>,
    /// Only says what it would do.
    #[serde(default)]
    dry_run: bool,
    /// Why; a dry run needs no reason.
    #[serde(default, deserialize_with = "at_most::<MAX_REASON_CHARS, _>")]
    #[schema(max_length = 1000)]
    reason: String,
}

/// Lists replays
///
/// The newest first.
#[utoipa::path(
    get, path = "/replays", operation_id = "list_replays", tag = "replays",
    params(
        ("state" = Option<ReplayState>, Query, description = "Only those in this state", example = "running"),
        ("after" = Option<i64>, Query, description = "Where the page before ended: its `next`"),
        ("limit" = Option<u32>, Query, description = "How many at most; 100 if it is not said", minimum = 1, maximum = 1000),
    ),
    responses((status = 200, description = "A page", body = ReplayPage, example = json!({"replays": [{
        "id": 3, "state": "running", "filter": {"states": ["dead"], "destination": "crm"}, "key": "same", "force": false,
        "rate": 500, "consequence": "the same key and the same bytes: …", "reason": "crm is back", "requested_by": "ada",
        "requeued": 1200, "left_alone": 0, "in_flight": 1, "skipped": 2, "at_outbox_id": 4100, "last_outbox_id": 4711,
        "created_at": "2026-11-29T18:05:37Z", "finished_at": null
    }], "next": 3})))
)]
pub(super) async fn list(State(state): State<AdminState>, uri: Uri) -> Reply<ReplayPage> {
    let query = Query::read(&uri, &["state", "after", "limit"])?;
    let (with, after, size) = (query.one("state")?, query.one("after")?, page_size(&query)?);
    Ok(Json(state.store.replays(with, after, size).await?))
}

/// Asks for a replay
///
/// A durable job that makes deliveries due again that have ended, or due for the first time where a destination never had them
/// (`missing`). `dry_run` answers what it would do. With an Idempotency-Key, a request that comes twice makes one job. Under
/// `"key": "same"` a receiver that honours keys does nothing for what it has done already; under `new` it carries it out once
/// more. `force` also sends versions that a newer one has overtaken. What is owed already, or on the wire, is left alone and counted.
#[utoipa::path(
    post, path = "/replays", operation_id = "create_replay", tag = "replays",
    params(("Idempotency-Key" = Option<String>, Header, description = "Tells this request from every other",
        min_length = 1, max_length = 255, pattern = "^[!-~]([ -~]*[!-~])?$")),
    request_body(content = Wanted, example = json!({
        "filter": {"states": ["dead"], "destination": "crm"}, "key": "same", "rate": 500, "reason": "crm is back"
    })),
    responses(
        (status = 200, description = "What it would do (`dry_run`)", body = DryRun, example = json!({
            "matched": 1203, "requeued": 1200, "left_alone": 0, "in_flight": 1, "skipped": 2, "by_state": {"dead": 1203},
            "rate": 500, "seconds": 3, "consequence": "the same key and the same bytes: …", "sample": []
        })),
        (status = 202, description = "The job, which may be one that the same request made before", body = Replay,
            headers(("Location" = String, description = "Where to look at it")), example = json!({
        "id": 3, "state": "running", "filter": {"states": ["dead"], "destination": "crm"}, "key": "same", "force": false,
        "rate": 500, "consequence": "the same key and the same bytes: …", "reason": "crm is back", "requested_by": "ada",
        "requeued": 1200, "left_alone": 0, "in_flight": 1, "skipped": 2, "at_outbox_id": 4100, "last_outbox_id": 4711,
        "created_at": "2026-11-29T18:05:37Z", "finished_at": null
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
    state.require_replay_destinations(&request.selection).await?;
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
        "rate": 500, "consequence": "the same key and the same bytes: …", "reason": "crm is back", "requested_by": "ada",
        "requeued": 1200, "left_alone": 0, "in_flight": 1, "skipped": 2, "at_outbox_id": 4100, "last_outbox_id": 4711,
        "created_at": "2026-11-29T18:05:37Z", "finished_at": null
    })))
)]
pub(super) async fn show(State(state): State<AdminState>, PathParts(id): PathParts<i64>) -> Reply<Replay> {
    Ok(Json(state.store.replay(id).await?))
}

/// Shows what has become of a replay
///
/// In which states its deliveries are by now. Where it names them, they are counted, each in its state (`named`). Where it has a
/// filter, what lies within that is (`within`): deliveries that are owed, and those that have become dead or uncertain since it was
/// asked for. Others may be among those; once there are none, none of the replay's is left.
#[utoipa::path(
    get, path = "/replays/{id}/states", operation_id = "show_replay_states", tag = "replays",
    params(("id" = i64, Path, description = "The number of the replay", example = 3)),
    responses((status = 200, description = "How many are in each state", body = ReplayStates, example = json!({
        "counted": "within", "by_state": {"pending": 40, "dead": 2, "uncertain": 0}, "exact": true
    })))
)]
pub(super) async fn states(
    State(state): State<AdminState>,
    PathParts(id): PathParts<i64>,
) -> Reply<ReplayStates> {
    Ok(Json(state.store.replay_states(id).await?))
}

/// Stops a replay
///
/// Until it is resumed. Nothing happens to one that does not run.
#[utoipa::path(
    post, path = "/replays/{id}/pause", operation_id = "pause_replay", tag = "replays",
    params(("id" = i64, Path, description = "The number of the replay", example = 3)),
    request_body(content = Because, example = json!({"reason": "too much at noon"})),
    responses((status = 200, description = "The replay", body = Replay, example = json!({
        "id": 3, "state": "paused", "filter": {"states": ["dead"], "destination": "crm"}, "key": "same", "force": false,
        "rate": 500, "consequence": "the same key and the same bytes: …", "reason": "crm is back", "requested_by": "ada",
        "requeued": 1200, "left_alone": 0, "in_flight": 1, "skipped": 2, "at_outbox_id": 4100, "last_outbox_id": 4711,
        "created_at": "2026-11-29T18:05:37Z", "finished_at": null
    })))
)]
pub(super) async fn pause(
    State(state): State<AdminState>,
    Extension(caller): Extension<Caller>,
    PathParts(id): PathParts<i64>,
    Body(because): Body<Because>,
) -> Reply<Replay> {
    let act = caller.act(&because.reason)?;
    Ok(Json(state.store.pause_replay(id, &act).await?))
}

/// Lets a paused replay go on
///
/// Where it stood. Nothing happens to one that is not paused.
#[utoipa::path(
    post, path = "/replays/{id}/resume", operation_id = "resume_replay", tag = "replays",
    params(("id" = i64, Path, description = "The number of the replay", example = 3)),
    request_body(content = Because, example = json!({"reason": "the night is quiet"})),
    responses((status = 200, description = "The replay", body = Replay, example = json!({
        "id": 3, "state": "running", "filter": {"states": ["dead"], "destination": "crm"}, "key": "same", "force": false,
        "rate": 500, "consequence": "the same key and the same bytes: …", "reason": "crm is back", "requested_by": "ada",
        "requeued": 1200, "left_alone": 0, "in_flight": 1, "skipped": 2, "at_outbox_id": 4100, "last_outbox_id": 4711,
        "created_at": "2026-11-29T18:05:37Z", "finished_at": null
    })))
)]
pub(super) async fn resume(
    State(state): State<AdminState>,
    Extension(caller): Extension<Caller>,
    PathParts(id): PathParts<i64>,
    Body(because): Body<Because>,
) -> Reply<Replay> {
    let act = caller.act(&because.reason)?;
    Ok(Json(state.store.resume_replay(id, &act).await?))
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
        "rate": 500, "consequence": "the same key and the same bytes: …", "reason": "crm is back", "requested_by": "ada",
        "requeued": 1200, "left_alone": 0, "in_flight": 1, "skipped": 2, "at_outbox_id": 4100, "last_outbox_id": 4711,
        "created_at": "2026-11-29T18:05:37Z", "finished_at": "2026-11-29T18:05:40Z"
    })))
)]
pub(super) async fn cancel(
    State(state): State<AdminState>,
    Extension(caller): Extension<Caller>,
    PathParts(id): PathParts<i64>,
    Body(because): Body<Because>,
) -> Reply<Replay> {
    let act = caller.act(&because.reason)?;
    Ok(Json(state.store.cancel_replay(id, &act).await?))
}

impl Wanted {
    fn request(self) -> Result<ReplayRequest, Problem> {
        let selection = match (self.missing, &self.ids, &self.filter, self.all) {
            (Some(missing), None, None, false) => ReplaySelection::Missing { missing },
            (None, ..) => selection(self.ids, self.filter, self.all)?.into(),
            (Some(_), ..) => {
                return Err(Problem::unprocessable(
                    "give one of `ids`, `filter`, `\"all\": true` and `missing`",
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
            rate: self.rate,
        })
    }
}
