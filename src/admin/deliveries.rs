//! Deliveries: lists of them, one of them, and cancelling it.

use axum::extract::State;
use axum::http::Uri;
use axum::{Extension, Json};

use super::query::{FILTER, Query, filter};
use super::reply::{Because, Body, PathParts, Reply};
use super::server::Remote;
use super::state::{AdminState, act};
use crate::store::admin::{
    AdminError, Cancelled, DeliveryDetail, DeliveryId, Next, Page, PageSize, Selection,
};

pub(super) async fn list(State(state): State<AdminState>, uri: Uri) -> Reply<Page> {
    let known: Vec<&str> = FILTER.into_iter().chain(["after", "limit"]).collect();
    let query = Query::read(&uri, &known)?;
    let size = query
        .one("limit")?
        .map(PageSize::new)
        .transpose()?
        .unwrap_or_default();
    let (filter, after) = (filter(&query)?, query.one("after")?);
    state
        .require_destinations(&Selection::Filter(filter.clone()))
        .await?;
    let page = state.store.deliveries(&filter, after, size).await?;
    Ok(Json(page))
}

/// A delivery, and what comes next for it.
#[derive(Debug, serde::Serialize)]
pub(super) struct Shown {
    #[serde(flatten)]
    detail: DeliveryDetail,
    next: Next,
}

pub(super) async fn show(
    State(state): State<AdminState>,
    PathParts((outbox_id, destination)): PathParts<(i64, String)>,
) -> Reply<Shown> {
    let id = DeliveryId {
        outbox_id,
        destination,
    };
    let detail = state.store.delivery(&id).await?;
    let settings = state.settings();
    let next = state.store.next(&id, settings.receivers.expected()).await?;
    Ok(Json(Shown { detail, next }))
}

pub(super) async fn cancel(
    State(state): State<AdminState>,
    Extension(remote): Extension<Remote>,
    PathParts((outbox_id, destination)): PathParts<(i64, String)>,
    Body(because): Body<Because>,
) -> Reply<Cancelled> {
    let (id, act) = (
        DeliveryId {
            outbox_id,
            destination,
        },
        act(remote, &because.reason)?,
    );
    let done = state
        .store
        .cancel(&Selection::Ids(vec![id.clone()]), &act)
        .await?;
    if done == Cancelled::default() {
        return Err(AdminError::UnknownDelivery(id).into());
    }
    Ok(Json(done))
}
