//! What was delivered and what failed over the last hour or day, for charts.

use axum::Json;
use axum::extract::State;
use axum::http::Uri;

use super::query::Query;
use super::reply::Reply;
use super::state::AdminState;
use crate::store::admin::{History, Span};

/// What was delivered and what failed, over the last hour or day
///
/// The points of a chart, not a ledger: a crash of a relay loses up to ten seconds of them.
#[utoipa::path(
    get, path = "/history", operation_id = "show_history", tag = "status",
    params(("span" = Option<Span>, Query, description = "How far it looks back; an hour, if it is left out", example = "hour")),
    responses((status = 200, description = "The points of each destination, oldest first", body = History, example = json!({
        "span": "hour", "step_seconds": 60, "destinations": [{
            "destination": "crm", "points": [{"at": "2026-11-29T18:05:00Z", "delivered": 1200, "failed": 3}]
        }]
    })))
)]
pub(super) async fn show(State(state): State<AdminState>, uri: Uri) -> Reply<History> {
    let span = Query::read(&uri, &["span"])?.one("span")?.unwrap_or(Span::Hour);
    let settings = state.settings();
    Ok(Json(state.store.history(span, &settings.destinations).await?))
}
