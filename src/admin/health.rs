//! Whether the process lives, and whether it can do its work. For orchestrators, so without a token and without secrets.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;

use super::state::AdminState;
use crate::store::StoreError;

/// What a check found.
#[derive(Debug, serde::Serialize, utoipa::ToSchema)]
pub(super) struct Check {
    ok: bool,
    /// What is wrong, and the way out.
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
}

/// What every check found.
#[derive(Debug, serde::Serialize, utoipa::ToSchema)]
pub(super) struct Readiness {
    ready: bool,
    /// The database answers, takes writes, and has the schema that this program needs.
    database: Check,
    /// The relay of this process has been heard of within the time to live of a lease.
    relay: Check,
}

/// What `/livez` says.
#[derive(Debug, serde::Serialize, utoipa::ToSchema)]
pub(super) struct Liveness {
    live: bool,
    version: &'static str,
}

/// Whether the process lives
#[utoipa::path(
    get, path = "/livez", operation_id = "show_liveness", tag = "status",
    responses((status = 200, description = "It lives", body = Liveness, example = json!({"live": true, "version": "0.1.0"})))
)]
pub(super) async fn live() -> Json<Liveness> {
    Json(Liveness {
        live: true,
        version: env!("CARGO_PKG_VERSION"),
    })
}

/// Whether the process can do its work
///
/// The database answers, takes writes and has the right schema, and the relay of this process has been heard of.
#[utoipa::path(
    get, path = "/readyz", operation_id = "show_readiness", tag = "status",
    responses(
        (status = 200, description = "It can", body = Readiness,
            example = json!({"ready": true, "database": {"ok": true}, "relay": {"ok": true}})),
        (status = 503, description = "It cannot", body = Readiness, example = json!({
            "ready": false, "database": {"ok": true}, "relay": {"ok": false, "detail": "there was no heartbeat yet"}
        })),
    )
)]
pub(super) async fn ready(State(state): State<AdminState>) -> (StatusCode, Json<Readiness>) {
    let _turn = state.looking.lock().await;
    let database = Check::of(state.store.database().check().await);
    let relay = if database.ok {
        heartbeat(&state).await
    } else {
        Check::failed("not looked at: the database does not answer")
    };
    let ready = database.ok && relay.ok;
    let status = if ready {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    (
        status,
        Json(Readiness {
            ready,
            database,
            relay,
        }),
    )
}

async fn heartbeat(state: &AdminState) -> Check {
    let id = state.process.relay.0.to_string();
    match state.store.relays().await {
        Err(error) => Check::of(Err(error)),
        Ok(relays) => match relays.iter().find(|relay| relay.id == id) {
            Some(relay) if relay.alive => Check::of(Ok(())),
            Some(relay) => Check::failed(&format!(
                "the last heartbeat was at {}; see the log",
                relay.beat_at
            )),
            None => Check::failed("there was no heartbeat yet"),
        },
    }
}

impl Check {
    fn of(result: Result<(), StoreError>) -> Self {
        match result {
            Ok(()) => Self {
                ok: true,
                detail: None,
            },
            Err(error) => Self::failed(&error.to_string()),
        }
    }

    fn failed(detail: &str) -> Self {
        Self {
            ok: false,
            detail: Some(detail.to_owned()),
        }
    }
}
