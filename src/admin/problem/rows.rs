//! What can be wrong with a body of rows. Whatever it is, no row of it was committed.

use std::time::Duration;

use axum::http::StatusCode;

use super::Problem;

impl Problem {
    pub(in crate::admin) fn bad_line(line: u64, problem: &str) -> Self {
        Self {
            line: Some(line),
            ..Self::bad_row(&format!("line {line}: {problem}"))
        }
    }

    pub(in crate::admin) fn bad_element(index: u64, problem: &str) -> Self {
        Self {
            index: Some(index),
            ..Self::bad_row(&format!("element {index}: {problem}"))
        }
    }

    fn bad_row(detail: &str) -> Self {
        let title = "A row cannot be taken; nothing was committed";
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "bad-row", title, detail)
    }

    pub(in crate::admin) fn unknown_rows() -> Self {
        let detail = "send rows as NDJSON (`Content-Type: application/x-ndjson`) or as one JSON array (`application/json`)";
        let title = "Unsupported media type";
        Self::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported-media-type",
            title,
            detail,
        )
    }

    pub(in crate::admin) fn too_many_rows(limit: u64) -> Self {
        let detail = format!(
            "the body has more than {limit} bytes; send several requests, or raise `max_outbox_body` in [admin]"
        );
        let title = "The body is too large";
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "body-too-large", title, detail)
    }

    pub(in crate::admin) fn stalled_body(patience: Duration) -> Self {
        let detail = format!("no part of the body came for {} s", patience.as_secs());
        Self::new(
            StatusCode::REQUEST_TIMEOUT,
            "body-late",
            "The body took too long",
            detail,
        )
    }

    /// The Idempotency-Key belongs to other rows.
    pub(in crate::admin) fn rows_under_known_key() -> Self {
        let detail = "this Idempotency-Key came with another body or another mapping before; use a new key";
        let title = "The key belongs to another request";
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "key-conflict", title, detail)
    }

    /// A request under this key has not ended.
    pub(in crate::admin) fn rows_under_way() -> Self {
        let detail = "a request with this Idempotency-Key is under way; ask again when it has ended";
        let title = "The same request is under way";
        Self::new(StatusCode::CONFLICT, "under-way", title, detail)
    }
}
