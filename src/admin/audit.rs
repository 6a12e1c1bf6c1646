//! The audit: who did what, from where, and why.

use axum::Json;
use axum::extract::State;
use axum::http::Uri;

use super::query::{Query, page_size};
use super::reply::Reply;
use super::state::AdminState;
use crate::store::admin::{AuditFilter, AuditPage};

/// Lists what people did
///
/// The newest first. A page is bounded by what it may look at, too: it can hold fewer than `limit`, or none, though `next` says
/// that there is more.
#[utoipa::path(
    get, path = "/audit", operation_id = "list_audit", tag = "access",
    params(
        ("actor" = Option<String>, Query, description = "Who: the name of a token, or of a user of the command line"),
        ("action" = Option<String>, Query, description = "What was done", example = "cancel"),
        ("subject" = Option<String>, Query, description = "A part of what it was done to", example = "crm"),
        ("after" = Option<i64>, Query, description = "Where the page before ended: its `next`"),
        ("limit" = Option<u32>, Query, description = "How many at most; 100 if it is not said", minimum = 1, maximum = 1000),
    ),
    responses((status = 200, description = "A page", body = AuditPage, example = json!({
        "entries": [{
            "id": 17, "at": "2026-11-29T18:05:37Z", "actor": "ada", "origin": "192.0.2.7", "action": "pause", "subject": "crm",
            "reason": "maintenance until noon", "detail": null
        }],
        "next": null
    })))
)]
pub(super) async fn list(State(state): State<AdminState>, uri: Uri) -> Reply<AuditPage> {
    let query = Query::read(&uri, &["actor", "action", "subject", "after", "limit"])?;
    let (size, after) = (page_size(&query)?, query.one("after")?);
    let filter = AuditFilter {
        actor: query.one("actor")?,
        action: query.one("action")?,
        subject: query.one("subject")?,
    };
    Ok(Json(state.store.audit(&filter, after, size).await?))
}
