//! What is in trouble, by destination and reason.

use axum::Json;
use axum::extract::State;

use super::reply::Reply;
use super::state::AdminState;
use crate::store::admin::Trouble;

/// Tells what is in trouble
///
/// Dead and uncertain deliveries by destination and reason, with how many there are, the oldest, and an example.
#[utoipa::path(
    get, path = "/trouble", operation_id = "show_trouble", tag = "status",
    responses((status = 200, description = "What is in trouble", body = Trouble, example = json!({
        "groups": [{
            "destination": "crm", "state": "dead", "reason": "refused", "count": 12, "exact": true,
            "oldest": {"outbox_id": 4711, "topic": "orders", "row_key": "10248", "at": "2026-11-29T18:05:38Z"},
            "example": {
                "outbox_id": 4790, "topic": "orders", "row_key": "10327", "attempts": 1, "http_status": 422,
                "detail": "HTTP 422 Unprocessable Entity", "excerpt": "{\"error\": \"unknown field\"}"
            }
        }]
    })))
)]
pub(super) async fn show(State(state): State<AdminState>) -> Reply<Trouble> {
    Ok(Json(state.store.trouble().await?))
}
