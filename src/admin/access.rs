//! Who may pass: the one place that decides what the bearer of a token may do.
//!
//! Looking wants a viewer, everything else an operator. The token of the configuration is an operator called `config`, which
//! works before there is any other; the others stand in the database, which is asked each time: a token that was revoked
//! opens nothing from then on.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use axum::{Extension, Json};
use secrecy::ExposeSecret as _;
use subtle::ConstantTimeEq as _;

use super::problem::Problem;
use super::server::Remote;
use super::state::AdminState;
use crate::store::admin::{Act, Actor, AdminError, Bearer, Role, TokenText};

/// The name of the token of the configuration.
const CONFIG: &str = "config";

/// Who sent a request, once the token has been seen.
#[derive(Debug, Clone)]
pub(super) struct Caller {
    bearer: Bearer,
    actor: Actor,
}

impl Caller {
    /// What the caller does for `reason`, for the audit.
    pub(super) fn act(&self, reason: &str) -> Result<Act, AdminError> {
        Act::new(self.actor.clone(), reason)
    }

    /// Who does something that needs no reason.
    pub(super) fn actor(&self) -> &Actor {
        &self.actor
    }
}

pub(super) async fn require_token(
    State(state): State<AdminState>,
    Extension(remote): Extension<Remote>,
    mut request: Request,
    next: Next,
) -> Response {
    let (method, headers) = (request.method().clone(), request.headers().clone());
    match caller(&state, remote, &method, &headers).await {
        Ok(caller) => {
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        Err(problem) => problem.into_response(),
    }
}

/// Whose token this is
///
/// What a client can do with the token that it sends.
#[utoipa::path(
    get, path = "/session", operation_id = "show_session", tag = "access",
    responses((status = 200, description = "The token", body = Bearer, example = json!({"name": "ada", "role": "viewer"})))
)]
pub(super) async fn session(Extension(caller): Extension<Caller>) -> Json<Bearer> {
    Json(caller.bearer)
}

/// Who sent a request, or why it is refused.
pub(super) async fn caller(
    state: &AdminState,
    remote: Remote,
    method: &Method,
    headers: &HeaderMap,
) -> Result<Caller, Problem> {
    let sent = sent(headers).ok_or_else(Problem::unauthorized)?;
    let bearer = bearer(state, sent).await?.ok_or_else(Problem::unauthorized)?;
    if bearer.role < needed(method) {
        return Err(Problem::forbidden(&bearer.name));
    }
    let actor = Actor::new(bearer.name.clone(), remote.0.ip().to_string());
    Ok(Caller { bearer, actor })
}

/// What a request with this method wants.
fn needed(method: &Method) -> Role {
    match *method {
        Method::GET | Method::HEAD => Role::Viewer,
        _ => Role::Operator,
    }
}

async fn bearer(state: &AdminState, sent: &[u8]) -> Result<Option<Bearer>, Problem> {
    let settings = state.settings();
    let configured = settings.token.as_ref();
    // In constant time: how long the comparison takes tells nothing of how much was right.
    if configured.is_some_and(|token| sent.ct_eq(token.expose_secret().as_bytes()).into()) {
        return Ok(Some(Bearer {
            name: CONFIG.to_owned(),
            role: Role::Operator,
        }));
    }
    match TokenText::read(sent) {
        Some(text) => Ok(state.store.bearer(&text).await?),
        None => Ok(None),
    }
}

/// What stands behind `Bearer`, in any spelling of it.
pub(super) fn sent(headers: &HeaderMap) -> Option<&[u8]> {
    let value = headers.get(header::AUTHORIZATION)?.as_bytes();
    let (scheme, token) = value.split_at_checked("Bearer ".len())?;
    scheme
        .eq_ignore_ascii_case(b"Bearer ")
        .then(|| token.trim_ascii())
}
