//! What was delivered and what failed over the last hour or day, for charts.

use axum::Json;
use axum::extract::State;
use axum::http::Uri;

use super::query::Query;
use super::reply::Reply;
use super::state::AdminState;
use crate::store::admin::{History, Span};

pub(super) async fn show(State(state): State<AdminState>, uri: Uri) -> Reply<History> {
    let span = Query::read(&uri, &["span"])?.one("span")?.unwrap_or(Span::Hour);
    let settings = state.settings();
    Ok(Json(state.store.history(span, &settings.destinations).await?))
}
