//! Destinations: how they stand, and pausing them.

use axum::extract::State;
use axum::{Extension, Json};

use super::access::Caller;
use super::reply::{Because, Body, PathParts, Reply};
use super::state::AdminState;
use crate::store::admin::{Paused, Status};

/// How things stand
///
/// Each destination, each relay, and rows that no route takes.
#[utoipa::path(
    get, path = "/status", operation_id = "show_status", tag = "status",
    responses((status = 200, description = "How things stand", body = Status, example = json!({
        "now": "2026-11-29T18:05:37Z", "schema_version": 5, "namespace": "billing",
        "destinations": [{
            "name": "crm", "configured": true, "pause": null, "failing": null, "usage": null, "owed": 12, "due": 12,
            "oldest_owed_at": "2026-11-29T18:05:36Z", "in_flight": 4,
            "settled": {"delivered": 9000, "dead": 1, "uncertain": 0, "superseded": 3, "cancelled": 0, "exact": true},
            "shards": [{"shard": 0, "owner": "5f0c6a3e-9a52-4c0f-8d53-0f6d1f6f2b11", "epoch": 3}]
        }],
        "unrouted": 0, "unrouted_topics": [],
        "relays": [{
            "id": "5f0c6a3e-9a52-4c0f-8d53-0f6d1f6f2b11", "version": "0.1.0", "started_at": "2026-11-29T06:00:00Z",
            "beat_at": "2026-11-29T18:05:35Z", "alive": true
        }]
    })))
)]
pub(super) async fn status(State(state): State<AdminState>) -> Reply<Status> {
    let settings = state.settings();
    Ok(Json(state.store.status(&settings.destinations).await?))
}

/// Pauses a destination
///
/// Nothing more is begun for it until it is resumed; a pause holds and never drops.
#[utoipa::path(
    post, path = "/destinations/{name}/pause", operation_id = "pause_destination", tag = "destinations",
    params(("name" = String, Path, description = "The destination", example = "crm")),
    request_body(content = Because, example = json!({"reason": "maintenance until noon"})),
    responses((status = 200, description = "How it stands now", body = Paused, example = json!({
        "destination": "crm", "pause": {"at": "2026-11-29T18:05:37Z", "by": "ada", "reason": "maintenance until noon"}
    })))
)]
pub(super) async fn pause(
    State(state): State<AdminState>,
    Extension(caller): Extension<Caller>,
    PathParts(name): PathParts<String>,
    Body(because): Body<Because>,
) -> Reply<Paused> {
    let (settings, act) = (state.settings(), caller.act(&because.reason)?);
    Ok(Json(
        state.store.pause(&name, &settings.destinations, &act).await?,
    ))
}

/// Lets a paused destination go on
///
/// Nothing happens to one that is not paused.
#[utoipa::path(
    post, path = "/destinations/{name}/resume", operation_id = "resume_destination", tag = "destinations",
    params(("name" = String, Path, description = "The destination", example = "crm")),
    request_body(content = Because, example = json!({"reason": "maintenance is over"})),
    responses((status = 200, description = "How it stands now", body = Paused,
        example = json!({"destination": "crm", "pause": null})))
)]
pub(super) async fn resume(
    State(state): State<AdminState>,
    Extension(caller): Extension<Caller>,
    PathParts(name): PathParts<String>,
    Body(because): Body<Because>,
) -> Reply<Paused> {
    let (settings, act) = (state.settings(), caller.act(&because.reason)?);
    Ok(Json(
        state.store.resume(&name, &settings.destinations, &act).await?,
    ))
}
