//! Every path of the server: the table of contents of its API.

use axum::Router;
use axum::extract::OriginalUri;
use axum::http::Method;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use tokio_util::task::TaskTracker;

use super::access::{require_token, require_token_unless_open};
use super::guard::{Guard, guard};
use super::problem::Problem;
use super::server::Limits;
use super::state::AdminState;
use super::{deliveries, destinations, health, history, metrics, outbox, replays};

pub(super) fn router(state: AdminState, limits: Limits, requests: TaskTracker) -> Router {
    let v1 = Router::new()
        .route("/status", get(destinations::status))
        .route("/history", get(history::show))
        .route("/deliveries", get(deliveries::list))
        .route("/deliveries/{outbox_id}/{destination}", get(deliveries::show))
        .route(
            "/deliveries/{outbox_id}/{destination}/cancel",
            post(deliveries::cancel),
        )
        .route("/replays", post(replays::create))
        .route("/replays/{id}", get(replays::show))
        .route("/replays/{id}/cancel", post(replays::cancel))
        .route(outbox::PATH, post(outbox::enqueue))
        .route("/destinations/{name}/pause", post(destinations::pause))
        .route("/destinations/{name}/resume", post(destinations::resume))
        .fallback(not_found)
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn_with_state(state.clone(), require_token));
    let for_monitoring = from_fn_with_state(state.clone(), require_token_unless_open);
    Router::new()
        .route("/metrics", get(metrics::show).layer(for_monitoring))
        .route("/livez", get(health::live))
        .route("/readyz", get(health::ready))
        .nest("/v1", v1)
        .fallback(not_found)
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn_with_state(Guard { limits, requests }, guard))
        .with_state(state)
}

async fn not_found(OriginalUri(uri): OriginalUri) -> Problem {
    Problem::not_found(uri.path())
}

async fn wrong_method(method: Method, OriginalUri(uri): OriginalUri) -> Problem {
    Problem::wrong_method(method.as_str(), uri.path())
}
