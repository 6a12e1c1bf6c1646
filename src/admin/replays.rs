//! Replays: asking for one, listing them, looking at one, stopping it and ending it.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use axum::{Extension, Json};

use super::problem::Problem;
use super::query::{Query, selection};
use super::reply::{Because, Body, PathParts, Reply};
use super::server::Remote;
use super::state::{AdminState, act};
use crate::store::admin::{
    Created, DeliveryFilter, DeliveryId, KeyMode, MissingRows, PageSize, Replay, ReplayPage, ReplayRate,
    ReplayRequest, ReplaySelection, RequestKey, StaleRows,
};

/// The body of a request for a replay: one of `ids`, `filter`, `all` and `missing`, and why.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    ids: Option<Vec<DeliveryId>>,
    filter: Option<DeliveryFilter>,
    #[serde(default)]
    all: bool,
    /// Rows that a destination never had.
    missing: Option<MissingRows>,
    /// `same`: a receiver that honours keys does nothing for what it has done already. `new`: every receiver carries each of
    /// them out once more.
    #[serde(default)]
    key: KeyMode,
    #[serde(default)]
    force: bool,
    /// Deliveries a second that become due at most; without it, as fast as it goes.
    rate: Option<ReplayRate>,
    #[serde(default)]
    dry_run: bool,
    /// A dry run needs none.
    #[serde(default)]
    reason: String,
}

pub(super) async fn list(State(state): State<AdminState>, uri: Uri) -> Reply<ReplayPage> {
    let query = Query::read(&uri, &["state", "after", "limit"])?;
    let size = query.one("limit")?.map(PageSize::new).transpose()?;
    let (with, after) = (query.one("state")?, query.one("after")?);
    let page = state.store.replays(with, after, size.unwrap_or_default()).await?;
    Ok(Json(page))
}

pub(super) async fn create(
    State(state): State<AdminState>,
    Extension(remote): Extension<Remote>,
    headers: HeaderMap,
    Body(wanted): Body<Wanted>,
) -> Result<Response, Problem> {
    let (dry_run, reason) = (wanted.dry_run, wanted.reason.clone());
    let request = wanted.request()?;
    state.require_replay_destinations(&request.selection).await?;
    if dry_run {
        return Ok(Json(state.store.dry_run(&request).await?).into_response());
    }
    let act = act(remote, &reason)?;
    let key = RequestKey::of(&headers)?;
    match state.store.create_replay(&request, key.as_ref(), &act).await? {
        Created::New(replay) | Created::Existing(replay) => {
            let location = [(header::LOCATION, format!("/v1/replays/{}", replay.id))];
            Ok((StatusCode::ACCEPTED, location, Json(replay)).into_response())
        }
        Created::Conflict(replay) => Err(Problem::key_conflict(replay)),
    }
}

pub(super) async fn show(State(state): State<AdminState>, PathParts(id): PathParts<i64>) -> Reply<Replay> {
    Ok(Json(state.store.replay(id).await?))
}

pub(super) async fn pause(
    State(state): State<AdminState>,
    Extension(remote): Extension<Remote>,
    PathParts(id): PathParts<i64>,
    Body(because): Body<Because>,
) -> Reply<Replay> {
    let act = act(remote, &because.reason)?;
    Ok(Json(state.store.pause_replay(id, &act).await?))
}

pub(super) async fn resume(
    State(state): State<AdminState>,
    Extension(remote): Extension<Remote>,
    PathParts(id): PathParts<i64>,
    Body(because): Body<Because>,
) -> Reply<Replay> {
    let act = act(remote, &because.reason)?;
    Ok(Json(state.store.resume_replay(id, &act).await?))
}

pub(super) async fn cancel(
    State(state): State<AdminState>,
    Extension(remote): Extension<Remote>,
    PathParts(id): PathParts<i64>,
    Body(because): Body<Because>,
) -> Reply<Replay> {
    let act = act(remote, &because.reason)?;
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
