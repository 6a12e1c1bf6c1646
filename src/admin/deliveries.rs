//! Deliveries: lists of them, and one of them.

use axum::Json;
use axum::extract::State;
use axum::http::Uri;

use super::query::{FILTER, Query, filter};
use super::reply::{PathParts, Reply};
use super::state::AdminState;
use crate::store::admin::{DeliveryDetail, DeliveryId, Page, PageSize, Selection};

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

pub(super) async fn show(
    State(state): State<AdminState>,
    PathParts((outbox_id, destination)): PathParts<(i64, String)>,
) -> Reply<DeliveryDetail> {
    let id = DeliveryId {
        outbox_id,
        destination,
    };
    Ok(Json(state.store.delivery(&id).await?))
}
