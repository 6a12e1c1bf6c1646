//! What is in trouble, by destination and reason.

use axum::Json;
use axum::extract::State;

use super::reply::Reply;
use super::state::AdminState;
use crate::store::admin::Trouble;

pub(super) async fn show(State(state): State<AdminState>) -> Reply<Trouble> {
    Ok(Json(state.store.trouble().await?))
}
