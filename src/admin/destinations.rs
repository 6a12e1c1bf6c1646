//! Destinations: how they stand, trying them out, and pausing them.

use axum::extract::State;
use axum::http::Uri;
use axum::{Extension, Json};
use uuid::Uuid;

use super::problem::Problem;
use super::query::Query;
use super::reply::{Because, Body, PathParts, Reply};
use super::server::Remote;
use super::state::{AdminSettings, AdminState, act};
use crate::relay::dispatcher::preview::Outlook;
use crate::relay::receivers::{DescribedLimits, Trial};
use crate::store::admin::{AdminError, DestinationStatus, LastError, PageSize, Paused, Status};

/// Owed deliveries that a preview renders where no limit is given.
const PREVIEWED: u32 = 5;

/// A destination, whole.
#[derive(Debug, serde::Serialize)]
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
#[derive(Debug, serde::Serialize)]
pub(super) struct List {
    destinations: Vec<Shown>,
}

pub(super) async fn status(State(state): State<AdminState>) -> Reply<Status> {
    let settings = state.settings();
    Ok(Json(state.store.status(&settings.destinations).await?))
}

pub(super) async fn list(State(state): State<AdminState>) -> Reply<List> {
    let settings = state.settings();
    let statuses = state.store.status(&settings.destinations).await?.destinations;
    Ok(Json(List {
        destinations: shown(&state, &settings, statuses).await?,
    }))
}

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

pub(super) async fn test(
    State(state): State<AdminState>,
    Extension(remote): Extension<Remote>,
    PathParts(name): PathParts<String>,
    Body(because): Body<Because>,
) -> Reply<Trial> {
    let (settings, act) = (state.settings(), act(remote, &because.reason)?);
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
