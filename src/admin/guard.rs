//! What every request passes first: a task of its own, and a body that is whole.
//!
//! A client that hangs up drops its connection, and with it whatever runs inside. So nothing does: what was asked for is
//! carried out to its end in a task that the server waits for. The body is read before that task begins, within its
//! limits, so that no handler ever waits for a client; but rows come in bodies of many megabytes, so `outbox` reads its own,
//! once the token has been seen.

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use tokio_util::task::TaskTracker;

use super::outbox;
use super::problem::Problem;
use super::room::Place;
use super::server::Limits;

/// What the guard needs.
#[derive(Debug, Clone)]
pub(super) struct Guard {
    pub(super) limits: Limits,
    pub(super) requests: TaskTracker,
}

pub(super) async fn guard(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    let place = request.extensions().get::<Arc<Place>>().cloned();
    let mut response = match whole(request, guard.limits).await {
        Ok(request) => {
            place.as_ref().inspect(|place| place.works());
            match guard.requests.spawn(next.run(request)).await {
                Ok(response) => response,
                Err(error) => {
                    tracing::error!(%error, "a request failed: a bug");
                    Problem::internal().into_response()
                }
            }
        }
        Err(problem) => problem.into_response(),
    };
    place.inspect(|place| place.waits());
    let headers = response.headers_mut();
    // What the page is made of may be kept; what it shows may not.
    headers
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    response
}

/// The request with its body in memory, unless it brings rows.
async fn whole(request: Request, limits: Limits) -> Result<Request, Problem> {
    if request.uri().path().strip_prefix("/v1") == Some(outbox::PATH) {
        return Ok(request);
    }
    let (parts, body) = request.into_parts();
    match tokio::time::timeout(limits.body_timeout, to_bytes(body, limits.body_bytes)).await {
        Ok(Ok(bytes)) => Ok(Request::from_parts(parts, Body::from(bytes))),
        Ok(Err(error)) => Err(Problem::of_body(&error, limits.body_bytes)),
        Err(_) => Err(Problem::late_body(limits.body_timeout)),
    }
}
