//! Every path of the server: the table of contents of its API.

use axum::extract::OriginalUri;
use axum::http::Method;
use axum::middleware::from_fn_with_state;
use axum::{Extension, Router};
use tokio_util::task::TaskTracker;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::access::require_token;
use super::guard::{Guard, guard};
use super::problem::Problem;
use super::server::Limits;
use super::state::AdminState;
use super::{access, audit, deliveries, destinations, health, openapi, outbox, replays, settle};

pub(super) fn router(state: AdminState, limits: Limits, requests: TaskTracker) -> Router {
    let (v1, guarded) = v1().split_for_parts();
    let v1 = v1
        .fallback(not_found)
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn_with_state(state.clone(), require_token));
    let (open, api) = open().split_for_parts();
    let document = openapi::document(api.nest("/v1", openapi::guarded(guarded)));
    open.nest("/v1", v1)
        .fallback(not_found)
        .method_not_allowed_fallback(wrong_method)
        .layer(Extension(document))
        .layer(from_fn_with_state(Guard { limits, requests }, guard))
        .with_state(state)
}

/// What wants a token, below `/v1`. Where an operation stands and what it takes is said at its handler.
fn v1() -> OpenApiRouter<AdminState> {
    OpenApiRouter::new()
        .routes(routes!(access::session))
        .routes(routes!(audit::list))
        .routes(routes!(destinations::status))
        .routes(routes!(deliveries::list))
        .routes(routes!(deliveries::show))
        .routes(routes!(settle::cancel))
        .routes(routes!(settle::retry_now))
        .routes(routes!(settle::mark_delivered))
        .routes(routes!(settle::skip_head))
        .routes(routes!(settle::cancel_many))
        .routes(routes!(settle::retry_many_now))
        .routes(routes!(settle::mark_many_delivered))
        .routes(routes!(replays::list, replays::create))
        .routes(routes!(replays::show))
        .routes(routes!(replays::pause))
        .routes(routes!(replays::resume))
        .routes(routes!(replays::cancel))
        .routes(routes!(outbox::enqueue))
        .routes(routes!(destinations::pause))
        .routes(routes!(destinations::resume))
}

/// What is open to everybody, and so holds nothing secret.
fn open() -> OpenApiRouter<AdminState> {
    OpenApiRouter::with_openapi(openapi::base())
        .routes(routes!(health::live))
        .routes(routes!(health::ready))
        .routes(routes!(openapi::show))
}

async fn not_found(OriginalUri(uri): OriginalUri) -> Problem {
    Problem::not_found(uri.path())
}

async fn wrong_method(method: Method, OriginalUri(uri): OriginalUri) -> Problem {
    Problem::wrong_method(method.as_str(), uri.path())
}
