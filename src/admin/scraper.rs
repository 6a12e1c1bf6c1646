//! Who may read `/metrics`: whoever has a token, or everybody where the configuration says so.
//!
//! Tokens stand in the database, and metrics are wanted most when that is away. So whoever was let in last is let in again
//! while the database cannot say whose token it is. That opens nothing else.

use std::sync::{Arc, Mutex, PoisonError};

use axum::Extension;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use sha2::{Digest as _, Sha256};

use super::access::{caller, sent};
use super::server::Remote;
use super::state::AdminState;

/// Remembers by its SHA-256 which token was let in last. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(super) struct LastScraper(Arc<Mutex<Option<[u8; 32]>>>);

impl LastScraper {
    fn remember(&self, token: [u8; 32]) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(token);
    }

    fn is(&self, token: [u8; 32]) -> bool {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) == Some(token)
    }
}

pub(super) async fn require_token_unless_open(
    State(state): State<AdminState>,
    Extension(remote): Extension<Remote>,
    request: Request,
    next: Next,
) -> Response {
    if state.settings().open_metrics {
        return next.run(request).await;
    }
    let token = sent(request.headers()).map(|token| Sha256::digest(token).into());
    let (method, headers) = (request.method().clone(), request.headers().clone());
    match caller(&state, remote, &method, &headers).await {
        Ok(_) => token
            .into_iter()
            .for_each(|token| state.last_scraper.remember(token)),
        Err(problem)
            if problem.is_unavailable() && token.is_some_and(|token| state.last_scraper.is(token)) => {}
        Err(problem) => return problem.into_response(),
    }
    next.run(request).await
}
