//! Destinations: how they stand, trying them out, and pausing them.

use axum::extract::State;
use axum::http::Uri;
use axum::{Extension, Json};
use uuid::Uuid;

use super::access::Caller;
use super::problem::Problem;
use super::query::Query;
use super::reply::{Because, Body, PathParts, Reply};
use super::state::{AdminSettings, AdminState};
use crate::relay::dispatcher::preview::Outlook;
use crate::relay::receivers::{DescribedLimits, Trial};
use crate::store::admin::{AdminError, DestinationStatus, LastError, PageSize, Paused, Status};

/// Owed deliveries that a preview renders where no limit is given.
const PREVIEWED: u32 = 5;

/// A destination, whole.
#[derive(Debug, serde::Serialize, utoipa::ToSchema)]
#[schema(as = ShownDestination)]
pub(super) struct Shown {
    #[serde(flatten)]
    status: DestinationStatus,
    /// `webhook`, `salesforce` or `hubspot`; none, like what follows, where the configuration does not have it.
    kind: Option<&'static str>,
    /// Where requests go; a webhook's without its path, which can be a secret.
    url: Option<String>,
    /// What is sent there at most, and for how long it is tried.
    limits: Option<DescribedLimits>,
    /// The last attempts of what is owed or in trouble there, the newest first; ten at most.
    last_errors: Vec<LastError>,
}

/// Every destination.
#[derive(Debug, serde::Serialize, utoipa::ToSchema)]
#[schema(as = Destinations)]
pub(super) struct List {
    destinations: Vec<Shown>,
}

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

/// Lists destinations
///
/// Every one that is configured or that the database knows, with its limits and its last errors.
#[utoipa::path(
    get, path = "/destinations", operation_id = "list_destinations", tag = "destinations",
    responses((status = 200, description = "All of them", body = List, example = json!({"destinations": [{
        "name": "hook", "configured": true, "pause": null, "failing": null, "usage": null, "owed": 12, "due": 12,
        "oldest_owed_at": "2026-11-29T18:05:36Z", "in_flight": 4,
        "settled": {"delivered": 9000, "dead": 1, "uncertain": 0, "superseded": 3, "cancelled": 0, "exact": true},
        "shards": [{"shard": 0, "owner": "5f0c6a3e-9a52-4c0f-8d53-0f6d1f6f2b11", "epoch": 3}],
        "kind": "webhook", "url": "https://example.com/(path not shown)",
        "limits": {
            "concurrency": 32, "shards": 1, "requests_per_second": 10.0, "batch_size": 1, "max_in_flight_bytes": 67_108_864,
            "timeout_seconds": 15.0, "max_attempts": 16, "max_age_seconds": 259_200.0, "breaker": true,
            "breaker_open_seconds": 15.0
        },
        "last_errors": [{
            "at": "2026-11-29T18:05:37Z", "outbox_id": 4711, "outcome": "refused", "http_status": 422,
            "detail": "HTTP 422 Unprocessable Entity", "excerpt": "{\"error\": \"unknown field\"}"
        }]
    }]})))
)]
pub(super) async fn list(State(state): State<AdminState>) -> Reply<List> {
    let settings = state.settings();
    let statuses = state.store.status(&settings.destinations).await?.destinations;
    Ok(Json(List {
        destinations: shown(&state, &settings, statuses).await?,
    }))
}

/// Shows one destination
///
/// How it stands, what the configuration says of it, and what went wrong there last. Secrets are left out.
#[utoipa::path(
    get, path = "/destinations/{name}", operation_id = "show_destination", tag = "destinations",
    params(("name" = String, Path, description = "The destination", example = "crm")),
    responses((status = 200, description = "The destination", body = Shown, example = json!({
        "name": "hook", "configured": true, "pause": null, "failing": null, "usage": null, "owed": 12, "due": 12,
        "oldest_owed_at": "2026-11-29T18:05:36Z", "in_flight": 4,
        "settled": {"delivered": 9000, "dead": 1, "uncertain": 0, "superseded": 3, "cancelled": 0, "exact": true},
        "shards": [{"shard": 0, "owner": "5f0c6a3e-9a52-4c0f-8d53-0f6d1f6f2b11", "epoch": 3}],
        "kind": "webhook", "url": "https://example.com/(path not shown)",
        "limits": {
            "concurrency": 32, "shards": 1, "requests_per_second": 10.0, "batch_size": 1, "max_in_flight_bytes": 67_108_864,
            "timeout_seconds": 15.0, "max_attempts": 16, "max_age_seconds": 259_200.0, "breaker": true,
            "breaker_open_seconds": 15.0
        },
        "last_errors": [{
            "at": "2026-11-29T18:05:37Z", "outbox_id": 4711, "outcome": "refused", "http_status": 422,
            "detail": "HTTP 422 Unprocessable Entity", "excerpt": "{\"error\": \"unknown field\"}"
        }]
    })))
)]
pub(super) async fn show(
    State(state): State<AdminState>,
    PathParts(name): PathParts<String>,
) -> Reply<Shown> {
    let settings = state.settings();
    state
        .store
        .require_destination(&name, &settings.destinations)
        .await?;
    let mut statuses = state.store.status(&settings.destinations).await?.destinations;
    statuses.retain(|status| status.name == name);
    let one = shown(&state, &settings, statuses).await?.into_iter().next();
    // Known a moment ago, and gone now.
    let known = settings.destinations.clone();
    Ok(Json(one.ok_or(AdminError::UnknownDestination { name, known })?))
}

/// Previews what a destination is sent next
///
/// The requests that its next owed rows would send, made by the code that sends. Nothing is sent, not even a login.
#[utoipa::path(
    get, path = "/destinations/{name}/preview", operation_id = "preview_destination", tag = "destinations",
    params(
        ("name" = String, Path, description = "The destination", example = "crm"),
        ("limit" = Option<u32>, Query, description = "Owed rows that are rendered at most; 5 if it is not said",
            minimum = 1, maximum = 1000),
    ),
    responses(
        (status = 200, description = "What is next", body = Outlook, example = json!({
            "destination": "hook", "now": "2026-11-29T18:05:37Z", "paused": false, "looked_at": 1,
            "requests": [{
                "method": "POST", "url": "https://example.com/(path not shown)",
                "headers": [["content-type", "application/json"], ["webhook-signature", "(secret)"]],
                "body": "{\"id\": 10248}", "note": null,
                "deliveries": [{
                    "outbox_id": 4711, "topic": "orders", "row_key": "10248", "row_version": null, "op": "event", "attempt": 1,
                    "at": "2026-11-29T18:05:37Z", "idempotency_key": "ac1-0123456789abcdef0123456789abcdef"
                }]
            }],
            "unsent": [], "superseded": 0
        })),
        (status = 409, description = "The configuration does not have it"),
    )
)]
pub(super) async fn preview(
    State(state): State<AdminState>,
    PathParts(name): PathParts<String>,
    uri: Uri,
) -> Reply<Outlook> {
    let query = Query::read(&uri, &["limit"])?;
    let most = PageSize::new(query.one("limit")?.unwrap_or(PREVIEWED))?;
    let settings = state.settings();
    state
        .store
        .require_destination(&name, &settings.destinations)
        .await?;
    let receivers = &settings.receivers;
    Ok(Json(
        receivers
            .preview(&state.store, &name, most.get() as usize)
            .await?,
    ))
}

/// Tries a destination out
///
/// A webhook gets a ping: a signed request of the topic `aftercommit.ping`, which is about no row. A CRM is logged in to and
/// looked at, and nothing is written there. It is on the audit before anything is sent. What came of it is the answer; a
/// receiver that refuses is no error of this request.
#[utoipa::path(
    post, path = "/destinations/{name}/test", operation_id = "test_destination", tag = "destinations",
    params(("name" = String, Path, description = "The destination", example = "crm")),
    request_body(content = Because, example = json!({"reason": "is it back?"})),
    responses(
        (status = 200, description = "What came of it", body = Trial, example = json!({
            "ok": true, "sentence": "the ping was taken with HTTP 204", "http_status": 204, "duration_us": 41000
        })),
        (status = 409, description = "The configuration does not have it"),
    )
)]
pub(super) async fn test(
    State(state): State<AdminState>,
    Extension(caller): Extension<Caller>,
    PathParts(name): PathParts<String>,
    Body(because): Body<Because>,
) -> Reply<Trial> {
    let (settings, act) = (state.settings(), caller.act(&because.reason)?);
    state
        .store
        .require_destination(&name, &settings.destinations)
        .await?;
    let receivers = &settings.receivers;
    // On record before anything is sent.
    receivers.active(&name)?;
    state.store.note_test(&name, &act).await?;
    Ok(Json(
        receivers.try_out(&state.store, &name, Uuid::new_v4()).await?,
    ))
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

/// The destinations with what the configuration says of them and what went wrong there last.
async fn shown(
    state: &AdminState,
    settings: &AdminSettings,
    statuses: Vec<DestinationStatus>,
) -> Result<Vec<Shown>, Problem> {
    let names: Vec<String> = statuses.iter().map(|status| status.name.clone()).collect();
    let mut errors = state.store.last_errors(&names).await?;
    let shown = statuses.into_iter().map(|status| {
        let described = settings.receivers.description(&status.name).cloned();
        let (kind, url, limits) = described.map_or((None, None, None), |described| {
            (Some(described.kind), Some(described.url), Some(described.limits))
        });
        Shown {
            kind,
            url,
            limits,
            last_errors: errors.remove(&status.name).unwrap_or_default(),
            status,
        }
    });
    Ok(shown.collect())
}
