//! Every path of the server: the table of contents of its API.

use axum::Router;
use axum::extract::OriginalUri;
use axum::http::Method;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use tokio_util::task::TaskTracker;

use super::access::require_token;
use super::guard::{Guard, guard};
use super::problem::Problem;
use super::server::Limits;
use super::state::AdminState;
use super::{deliveries, destinations, health, outbox, replays, settle};

pub(super) fn router(state: AdminState, limits: Limits, requests: TaskTracker) -> Router {
    let v1 = Router::new()
        .route("/status", get(destinations::status))
        .route("/deliveries", get(deliveries::list))
        .route("/deliveries/{outbox_id}/{destination}", get(deliveries::show))
        .route("/deliveries/cancel", post(settle::cancel_many))
        .route("/deliveries/retry-now", post(settle::retry_many_now))
        .route("/deliveries/mark-delivered", post(settle::mark_many_delivered))
        .route(
            "/deliveries/{outbox_id}/{destination}/cancel",
            post(settle::cancel),
        )
        .route(
            "/deliveries/{outbox_id}/{destination}/retry-now",
            post(settle::retry_now),
        )
        .route(
            "/deliveries/{outbox_id}/{destination}/mark-delivered",
            post(settle::mark_delivered),
        )
        .route(
            "/deliveries/{outbox_id}/{destination}/skip-head",
            post(settle::skip_head),
        )
        .route("/replays", get(replays::list).post(replays::create))
        .route("/replays/{id}", get(replays::show))
        .route("/replays/{id}/pause", post(replays::pause))
        .route("/replays/{id}/resume", post(replays::resume))
        .route("/replays/{id}/cancel", post(replays::cancel))
        .route(outbox::PATH, post(outbox::enqueue))
        .route("/destinations/{name}/pause", post(destinations::pause))
        .route("/destinations/{name}/resume", post(destinations::resume))
        .fallback(not_found)
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn_with_state(state.clone(), require_token));
    Router::new()
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
