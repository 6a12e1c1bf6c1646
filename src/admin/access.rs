//! Who may pass: whoever carries the token of the configuration.

use axum::extract::{Request, State};
use axum::http::header;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use secrecy::ExposeSecret as _;
use subtle::ConstantTimeEq as _;

use super::problem::Problem;
use super::state::AdminState;

pub(super) async fn require_token(State(state): State<AdminState>, request: Request, next: Next) -> Response {
    let settings = state.settings();
    let Some(token) = &settings.token else {
        return Problem::no_token().into_response();
    };
    match bearer(&request) {
        // In constant time: how long the comparison takes tells nothing of how much was right.
        Some(given) if given.ct_eq(token.expose_secret().as_bytes()).into() => next.run(request).await,
        _ => Problem::unauthorized().into_response(),
    }
}

/// For `/metrics`, which the configuration can open to everybody.
pub(super) async fn require_token_unless_open(
    state: State<AdminState>,
    request: Request,
    next: Next,
) -> Response {
    if state.settings().open_metrics {
        return next.run(request).await;
    }
    require_token(state, request, next).await
}

/// What stands behind `Bearer`, in any spelling of it.
fn bearer(request: &Request) -> Option<&[u8]> {
    let value = request.headers().get(header::AUTHORIZATION)?.as_bytes();
    let (scheme, token) = value.split_at_checked("Bearer ".len())?;
    scheme
        .eq_ignore_ascii_case(b"Bearer ")
        .then(|| token.trim_ascii())
}
