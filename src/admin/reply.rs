//! What handlers take and give: JSON both ways, and every refusal a problem document.

use axum::Json;
use axum::body::{Body as RawBody, to_bytes};
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use axum::http::HeaderMap;
use axum::http::request::Parts;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};

use super::problem::Problem;
use crate::store::admin::RequestKey;

/// What a handler answers.
pub(super) type Reply<T> = Result<Json<T>, Problem>;

/// A body in JSON.
pub(super) struct Body<T>(pub(super) T);

/// The variable parts of a path.
pub(super) struct PathParts<T>(pub(super) T);

/// A text of at most `CHARS` characters. Where it is not needed it may not be longer either, so that a dry run takes what the act
/// itself would.
pub(super) fn at_most<'de, const CHARS: usize, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.chars().count() > CHARS {
        let problem = format!("it may have {CHARS} characters; shorten it, and name where more can be read");
        return Err(D::Error::custom(problem));
    }
    Ok(text)
}

/// The body of a request that changes something and needs no more than a reason.
#[derive(Debug, serde::Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Because {
    /// Why; goes on record.
    #[schema(min_length = 1, max_length = 1000, pattern = "\\S", examples("crm is back"))]
    pub(super) reason: String,
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        // The guard has read it whole, within its limit.
        let (parts, body) = request.into_parts();
        let body = to_bytes(body, usize::MAX)
            .await
            .map_err(|_| Problem::internal())?;
        // No database keeps it in a text, so nothing can be named by it.
        if holds_nul(&body) {
            return Err(Problem::nul_in_body());
        }
        let request = Request::from_parts(parts, RawBody::from(body));
        let Json(body) = Json::from_request(request, state).await?;
        Ok(Self(body))
    }
}

/// Whether a text in this JSON has the character NUL, which can only stand there as an escape.
fn holds_nul(json: &[u8]) -> bool {
    let mut rest = json;
    while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
        match &rest[at + 1..] {
            [b'u', b'0', b'0', b'0', b'0', ..] => return true,
            // What is escaped may be a backslash itself.
            [_, after @ ..] => rest = after,
            [] => return false,
        }
    }
    false
}

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for PathParts<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        // No database keeps it in a text, so nothing can be called so.
        if parts.uri.path().contains("%00") {
            return Err(Problem::nul_in_path());
        }
        let Path(values) = Path::from_request_parts(parts, state).await?;
        Ok(Self(values))
    }
}

impl RequestKey {
    /// The Idempotency-Key that came with a request, if one did.
    pub(super) fn of(headers: &HeaderMap) -> Result<Option<Self>, Problem> {
        let mut given = headers.get_all("idempotency-key").iter();
        let Some(value) = given.next() else {
            return Ok(None);
        };
        if given.next().is_some() {
            // Which of them was meant nobody can tell.
            return Err(Problem::bad_header(
                "Idempotency-Key",
                "it came more than once; send one",
            ));
        }
        let text = value.to_str().map_err(|_| {
            Problem::bad_header("Idempotency-Key", "it may hold visible ASCII characters only")
        })?;
        Ok(Some(Self::new(text)?))
    }
}

#[cfg(test)]
mod tests {
    use super::holds_nul;

    #[test]
    fn nul_is_found_where_it_is_escaped_and_nowhere_else() {
        for json in [r#"{"a": "\u0000"}"#, r#"["x\\\u0000"]"#] {
            assert!(holds_nul(json.as_bytes()), "{json}");
        }
        for json in [r#"{"a": "\\u0000"}"#, r#"["\u0001\n"]"#, "\\", "u0000"] {
            assert!(!holds_nul(json.as_bytes()), "{json}");
        }
    }
}
