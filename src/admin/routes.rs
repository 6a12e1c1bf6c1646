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
use super::scraper::require_token_unless_open;
use super::server::Limits;
use super::state::AdminState;
use super::{
    access, audit, deliveries, destinations, doctor, health, history, metrics, openapi, outbox, page,
    replays, settle, settle_many, trouble,
};

pub(super) fn router(state: AdminState, limits: Limits, requests: TaskTracker) -> Router {
    let (v1, guarded) = v1().split_for_parts();
    let v1 = v1
        .fallback(not_found)
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn_with_state(state.clone(), require_token));
    let (open, api) = open().split_for_parts();
    let (watched, for_monitoring) = watched().split_for_parts();
    let watched = watched.route_layer(from_fn_with_state(state.clone(), require_token_unless_open));
    let api = api.nest("/v1", openapi::guarded(guarded));
    let document = openapi::document(api.merge_from(openapi::guarded(for_monitoring)));
    open.merge(watched)
        .nest("/v1", v1)
        .merge(page::router())
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
        .routes(routes!(history::show))
        .routes(routes!(deliveries::list))
        .routes(routes!(deliveries::show))
        .routes(routes!(settle::cancel))
        .routes(routes!(settle::retry_now))
        .routes(routes!(settle::mark_delivered))
        .routes(routes!(settle::skip_head))
        .routes(routes!(settle_many::cancel))
        .routes(routes!(settle_many::retry_now))
        .routes(routes!(settle_many::mark_delivered))
        .routes(routes!(doctor::request))
        .routes(routes!(doctor::show))
        .routes(routes!(trouble::show))
        .routes(routes!(replays::list, replays::create))
        .routes(routes!(replays::show))
        .routes(routes!(replays::states))
        .routes(routes!(replays::pause))
        .routes(routes!(replays::resume))
        .routes(routes!(replays::cancel))
        .routes(routes!(outbox::enqueue))
        .routes(routes!(destinations::list))
        .routes(routes!(destinations::show))
        .routes(routes!(destinations::preview))
        .routes(routes!(destinations::test))
        .routes(routes!(destinations::pause))
        .routes(routes!(destinations::resume))
}

/// What a monitoring system reads: it wants a token, unless the configuration opens it.
fn watched() -> OpenApiRouter<AdminState> {
    OpenApiRouter::new().routes(routes!(metrics::show))
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
