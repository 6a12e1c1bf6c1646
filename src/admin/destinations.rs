//! Destinations: how they stand, and pausing them.

use axum::extract::State;
use axum::{Extension, Json};

use super::reply::{Because, Body, PathParts, Reply};
use super::server::Remote;
use super::state::{AdminState, act};
use crate::store::admin::{Paused, Status};

pub(super) async fn status(State(state): State<AdminState>) -> Reply<Status> {
    let settings = state.settings();
    Ok(Json(state.store.status(&settings.destinations).await?))
}

pub(super) async fn pause(
    State(state): State<AdminState>,
    Extension(remote): Extension<Remote>,
    PathParts(name): PathParts<String>,
    Body(because): Body<Because>,
) -> Reply<Paused> {
    let (settings, act) = (state.settings(), act(remote, &because.reason)?);
    Ok(Json(
        state.store.pause(&name, &settings.destinations, &act).await?,
    ))
}

pub(super) async fn resume(
    State(state): State<AdminState>,
    Extension(remote): Extension<Remote>,
    PathParts(name): PathParts<String>,
    Body(because): Body<Because>,
) -> Reply<Paused> {
    let (settings, act) = (state.settings(), act(remote, &because.reason)?);
    Ok(Json(
        state.store.resume(&name, &settings.destinations, &act).await?,
    ))
}
