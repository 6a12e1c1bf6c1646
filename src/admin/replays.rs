//! Replays: asking for one, looking at it, ending it.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::{Extension, Json};

use super::problem::Problem;
use super::reply::{Because, Body, PathParts, Reply};
use super::server::Remote;
use super::state::{AdminState, act};
use crate::store::admin::{
    Created, DeliveryFilter, DeliveryId, KeyMode, Replay, ReplayRequest, RequestKey, Selection, StaleRows,
};

/// The body of a request for a replay: one of `ids`, `filter` and `all`, and why.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    ids: Option<Vec<DeliveryId>>,
    filter: Option<DeliveryFilter>,
    #[serde(default)]
    all: bool,
    #[serde(default)]
    key: KeyMode,
    #[serde(default)]
    force: bool,
    #[serde(default)]
    dry_run: bool,
    /// A dry run needs none.
    #[serde(default)]
    reason: String,
}

pub(super) async fn create(
    State(state): State<AdminState>,
    Extension(remote): Extension<Remote>,
    headers: HeaderMap,
    Body(wanted): Body<Wanted>,
) -> Result<Response, Problem> {
    let (dry_run, reason) = (wanted.dry_run, wanted.reason.clone());
    let request = wanted.request()?;
    state.require_destinations(&request.selection).await?;
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

pub(super) async fn cancel(
    State(state): State<AdminState>,
    Extension(remote): Extension<Remote>,
    PathParts(id): PathParts<i64>,
    Body(because): Body<Because>,
) -> Reply<Replay> {
    Ok(Json(
        state
            .store
            .cancel_replay(id, &act(remote, &because.reason)?)
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
