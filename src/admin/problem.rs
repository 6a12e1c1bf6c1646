//! Errors as problem documents (RFC 9457): what went wrong, and the way out, for people and for machines.

mod rows;

use std::time::Duration;

use axum::Json;
use axum::extract::rejection::{JsonRejection, PathRejection};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::store::StoreError;
use crate::store::admin::AdminError;

/// A problem document.
#[derive(Debug, serde::Serialize, utoipa::ToSchema)]
pub(super) struct Problem {
    /// Names the kind of problem; machines tell problems apart by it.
    #[serde(rename = "type", serialize_with = "as_urn")]
    #[schema(value_type = String, examples("urn:aftercommit:problem:unprocessable"))]
    kind: &'static str,
    /// The kind of problem in words.
    title: &'static str,
    /// The status of the answer.
    #[serde(serialize_with = "as_number")]
    #[schema(value_type = u16)]
    status: StatusCode,
    /// What went wrong this time, and the way out.
    detail: String,
    /// What would have been understood, where that is a list.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    known: Vec<String>,
    /// The line of the body that is to blame, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    /// The element of the body that is to blame, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<u64>,
}

impl Problem {
    fn new(status: StatusCode, kind: &'static str, title: &'static str, detail: impl Into<String>) -> Self {
        Self {
            kind,
            title,
            status,
            detail: detail.into(),
            known: vec![],
            line: None,
            index: None,
        }
    }

    /// Whether the database cannot serve this now.
    pub(super) fn is_unavailable(&self) -> bool {
        self.status == StatusCode::SERVICE_UNAVAILABLE
    }

    pub(super) fn unauthorized() -> Self {
        let detail = "send `Authorization: Bearer` with a token: `aftercommit token create` makes one, and the configuration can \
                      name one in its section [admin]";
        let title = "The token is missing, wrong or has ended";
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", title, detail)
    }

    /// The token is a viewer's.
    pub(super) fn forbidden(name: &str) -> Self {
        let detail = format!("the token `{name}` is a viewer's; to change something takes an operator's");
        Self::new(
            StatusCode::FORBIDDEN,
            "forbidden",
            "The token does not allow this",
            detail,
        )
    }

    pub(super) fn not_found(path: &str) -> Self {
        let detail =
            format!("there is nothing at `{path}`; the API begins with /v1, health is at /livez and /readyz");
        Self::new(StatusCode::NOT_FOUND, "no-such-path", "Not found", detail)
    }

    pub(super) fn wrong_method(method: &str, path: &str) -> Self {
        let detail = format!("`{path}` does not take {method}; the header Allow says what it takes");
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "wrong-method",
            "Method not allowed",
            detail,
        )
    }

    pub(super) fn internal() -> Self {
        let detail = "the request could not be carried out; the log of this process says why";
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal",
            "Internal error",
            detail,
        )
    }

    pub(super) fn nul_in_path() -> Self {
        let title = "The path cannot be read";
        let detail = "a path may not hold the character NUL";
        Self::new(StatusCode::BAD_REQUEST, "bad-path", title, detail)
    }

    pub(super) fn nul_in_body() -> Self {
        Self::unprocessable(
            "a text of the body holds the character NUL (\\u0000), which no name and no reason has: take it out",
        )
    }

    /// A query parameter that cannot be read.
    pub(super) fn bad_parameter(name: &str, problem: impl std::fmt::Display) -> Self {
        let detail = format!("query parameter `{name}`: {problem}");
        Self::new(
            StatusCode::BAD_REQUEST,
            "bad-parameter",
            "A parameter cannot be read",
            detail,
        )
    }

    /// A query parameter that nobody looks at: a filter that was misspelt would select too much.
    pub(super) fn unknown_parameter(name: &str, known: &[&str]) -> Self {
        let detail = format!(
            "unknown query parameter `{name}`; known are: {}",
            known.join(", ")
        );
        let known = known.iter().map(|name| (*name).to_owned()).collect();
        let title = "A parameter is not known";
        Self {
            known,
            ..Self::new(StatusCode::BAD_REQUEST, "unknown-parameter", title, detail)
        }
    }

    /// A header that cannot be read.
    pub(super) fn bad_header(name: &str, problem: impl std::fmt::Display) -> Self {
        let detail = format!("header `{name}`: {problem}");
        Self::new(
            StatusCode::BAD_REQUEST,
            "bad-header",
            "A header cannot be read",
            detail,
        )
    }

    /// A body that says what cannot be done.
    pub(super) fn unprocessable(detail: impl Into<String>) -> Self {
        let title = "The request cannot be carried out";
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "unprocessable", title, detail)
    }

    /// The Idempotency-Key belongs to another request.
    pub(super) fn key_conflict(replay: i64) -> Self {
        let detail = format!(
            "this Idempotency-Key came with another request before, which made replay {replay}; use a new key"
        );
        let title = "The key belongs to another request";
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "key-conflict", title, detail)
    }

    pub(super) fn of_body(error: &axum::Error, limit: usize) -> Self {
        let too_large =
            std::error::Error::source(error).is_some_and(|source| source.to_string().contains("limit"));
        if too_large {
            let detail =
                format!("the body has more than {limit} bytes; select by a filter, or in several requests");
            return Self::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                "body-too-large",
                "The body is too large",
                detail,
            );
        }
        Self::incomplete_body()
    }

    pub(super) fn incomplete_body() -> Self {
        let detail = "the body could not be read to its end";
        Self::new(
            StatusCode::BAD_REQUEST,
            "body-incomplete",
            "The body is incomplete",
            detail,
        )
    }

    pub(super) fn late_body(limit: Duration) -> Self {
        let detail = format!("the body was not complete after {} s", limit.as_secs());
        Self::new(
            StatusCode::REQUEST_TIMEOUT,
            "body-late",
            "The body took too long",
            detail,
        )
    }
}

impl From<AdminError> for Problem {
    fn from(error: AdminError) -> Self {
        let detail = error.to_string();
        match error {
            AdminError::UnknownDestination { known, .. } => {
                let title = "There is no such destination";
                Self {
                    known,
                    ..Self::new(StatusCode::NOT_FOUND, "unknown-destination", title, detail)
                }
            }
            AdminError::UnknownDelivery(_) => {
                let title = "There is no such delivery";
                Self::new(StatusCode::NOT_FOUND, "unknown-delivery", title, detail)
            }
            AdminError::UnknownRow(_) => {
                let title = "There is no such row";
                Self::new(StatusCode::NOT_FOUND, "unknown-row", title, detail)
            }
            AdminError::NotConfigured { known, .. } => {
                let title = "The configuration does not have the destination";
                Self {
                    known,
                    ..Self::new(StatusCode::CONFLICT, "not-configured", title, detail)
                }
            }
            AdminError::NoRequest { .. } => {
                let title = "The request cannot be shown";
                Self::new(StatusCode::CONFLICT, "no-request", title, detail)
            }
            AdminError::UnknownReplay(_) => Self::new(
                StatusCode::NOT_FOUND,
                "unknown-replay",
                "There is no such replay",
                detail,
            ),
            AdminError::NotBlocked(_) | AdminError::NoOrder(_) => {
                let title = "Nothing stands before it";
                Self::new(StatusCode::CONFLICT, "not-blocked", title, detail)
            }
            AdminError::OtherHead { first, .. } => {
                let title = "Another one stands first";
                Self {
                    known: vec![first.to_string()],
                    ..Self::new(StatusCode::CONFLICT, "other-head", title, detail)
                }
            }
            AdminError::UnknownToken(_) => {
                let title = "There is no such token";
                Self::new(StatusCode::NOT_FOUND, "unknown-token", title, detail)
            }
            AdminError::NoReason
            | AdminError::NoEvidence
            | AdminError::LongReason(_)
            | AdminError::LongEvidence(_)
            | AdminError::NoRoute { .. }
            | AdminError::TokenExists(_)
            | AdminError::TokenName(_)
            | AdminError::SelectsAll
            | AdminError::OnlyPending
            | AdminError::TooManyIds(_) => Self::unprocessable(detail),
            AdminError::PageSize(_) => Self::bad_parameter("limit", detail),
            AdminError::NoCursor(_) => Self::bad_parameter("after", detail),
            AdminError::NoRequestKey => Self::bad_header("Idempotency-Key", detail),
            AdminError::Store(error) => error.into(),
        }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        tracing::warn!(%error, "a request met an error of the database");
        if error.is_transient() || matches!(error, StoreError::TooNew { .. }) {
            let title = "The database cannot serve this now";
            return Self::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "database",
                title,
                error.to_string(),
            );
        }
        match error {
            StoreError::Refused(objection)
            | StoreError::Duplicate(objection)
            | StoreError::Missing(objection)
            | StoreError::Declined(objection) => Self::unprocessable(objection.to_string()),
            _ => Self::internal(),
        }
    }
}

impl From<JsonRejection> for Problem {
    fn from(rejection: JsonRejection) -> Self {
        let detail = rejection.body_text();
        match rejection.status() {
            StatusCode::UNSUPPORTED_MEDIA_TYPE => {
                let detail = "send the body as JSON, with `Content-Type: application/json`";
                let title = "Unsupported media type";
                Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not-json", title, detail)
            }
            status @ StatusCode::UNPROCESSABLE_ENTITY => Self::new(
                status,
                "unprocessable",
                "The request cannot be carried out",
                detail,
            ),
            _ => Self::new(
                StatusCode::BAD_REQUEST,
                "bad-json",
                "The body is not JSON",
                detail,
            ),
        }
    }
}

impl From<PathRejection> for Problem {
    fn from(rejection: PathRejection) -> Self {
        let title = "The path cannot be read";
        Self::new(StatusCode::BAD_REQUEST, "bad-path", title, rejection.body_text())
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = self.status;
        let mut response = (status, Json(self)).into_response();
        let headers = response.headers_mut();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/problem+json"),
        );
        if status == StatusCode::UNAUTHORIZED {
            let challenge = HeaderValue::from_static("Bearer realm=\"aftercommit\"");
            headers.insert(header::WWW_AUTHENTICATE, challenge);
        }
        if status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
        }
        response
    }
}

fn as_urn<S: serde::Serializer>(kind: &&'static str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("urn:aftercommit:problem:{kind}"))
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde hands it over")]
fn as_number<S: serde::Serializer>(status: &StatusCode, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u16(status.as_u16())
}
