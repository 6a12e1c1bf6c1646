//! The API in OpenAPI 3.1, at `/openapi.json`: made from the annotations of its handlers, so that nobody writes it.
//!
//! How an operation gets in: its handler carries `#[utoipa::path(…)]` with the method, the path (of what stands below `/v1` the
//! rest), a unique `operation_id`, a `tag`, `params`, `request_body` and what it answers when all is well, each body with an
//! `example`; its doc comment becomes summary and description. What it takes and gives derives `utoipa::ToSchema`. `routes`
//! names it in `routes!(…)`, which takes method and path from the annotation: the document and the routes cannot drift.
//!
//! What can go wrong follows from what an operation is, and is added here. A handler names what is its own alone
//! (`(status = 409, description = "…")`), without a body: that every error is a problem document is said here, too.

use std::sync::Arc;

use axum::http::Method;
use axum::response::{IntoResponse as _, Response};
use axum::{Extension, Json};
use utoipa::OpenApi;
use utoipa::openapi::header::Header;
use utoipa::openapi::path::Operation;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{Content, OpenApi as Api, PathItem, Ref, RefOr, Response as Answer, ResponseBuilder};

use super::problem::Problem;

/// The name of the security scheme.
const SCHEME: &str = "token";

/// What everything says that can be wrong with operations of its kind: status, name, and what it means.
const PROBLEMS: [(&str, &str, &str); 10] = [
    (
        "400",
        "Unreadable",
        "A parameter, a header or the body cannot be read",
    ),
    ("401", "Unauthorized", "The token is missing, wrong or has ended"),
    (
        "403",
        "Forbidden",
        "The token is a viewer's, and this changes something",
    ),
    ("404", "NotFound", "There is no such thing"),
    ("408", "BodyLate", "The body took too long"),
    ("413", "BodyTooLarge", "The body is too large"),
    (
        "415",
        "UnknownMediaType",
        "The body has a media type that is not taken",
    ),
    (
        "422",
        "Unprocessable",
        "The request can be read, and cannot be carried out",
    ),
    ("500", "Internal", "A fault of the program; its log says more"),
    ("503", "Unavailable", "The database cannot serve this now"),
];

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Aftercommit",
        description = "Look at deliveries and steer them. Times are RFC 3339 in UTC. Lists come page by page: what one answers as \
                       `next` is passed on as `after`; null ends the list. Errors are problem documents (RFC 9457).",
    ),
    components(schemas(Problem)),
    tags(
        (name = "status", description = "How things stand"),
        (name = "deliveries", description = "What is owed, to whom, and what became of it"),
        (name = "replays", description = "Jobs that make deliveries due again"),
        (name = "destinations", description = "Receivers"),
        (name = "outbox", description = "Rows from whoever cannot reach the database"),
        (name = "access", description = "Whose token it is, and who did what"),
    )
)]
struct Base;

/// The whole document.
#[derive(Clone)]
pub(super) struct Document(Arc<Api>);

/// This document
///
/// The API in OpenAPI 3.1.
#[utoipa::path(
    get, path = "/openapi.json", operation_id = "show_openapi", tag = "status",
    responses((status = 200, description = "OpenAPI 3.1", body = Object, example = json!({"openapi": "3.1.0"})))
)]
pub(super) async fn show(Extension(Document(api)): Extension<Document>) -> Response {
    Json(&*api).into_response()
}

/// What is said of the API as a whole.
pub(super) fn base() -> Api {
    let mut api = Base::openapi();
    let components = api.components.get_or_insert_default();
    for (status, name, description) in PROBLEMS {
        let answer = of_problem(ResponseBuilder::new().description(description), status);
        components.responses.insert(name.to_owned(), answer.into());
    }
    let mut bearer = Http::new(HttpAuthScheme::Bearer);
    bearer.description = Some("`aftercommit token create` makes tokens".to_owned());
    components.add_security_scheme(SCHEME, SecurityScheme::Http(bearer));
    api
}

/// Says of every operation of a part that it wants a token.
pub(super) fn guarded(mut part: Api) -> Api {
    for item in part.paths.paths.values_mut() {
        for (_, operation) in operations(item) {
            operation.security = Some(vec![SecurityRequirement::new(SCHEME, [""; 0])]);
        }
    }
    part
}

/// The whole, once every operation is in it.
pub(super) fn document(mut api: Api) -> Document {
    for (path, item) in &mut api.paths.paths {
        for (method, operation) in operations(item) {
            let wrong = statuses(path, &method, operation);
            add_problems(operation, &wrong);
        }
    }
    Document(Arc::new(api))
}

/// With what an operation can be refused, by what it is.
fn statuses(path: &str, method: &Method, operation: &Operation) -> Vec<&'static str> {
    let mut statuses = vec!["500"];
    let mut add = |applies: bool, more: &[&'static str]| {
        if applies {
            statuses.extend_from_slice(more);
        }
    };
    let (has_body, has_token) = (operation.request_body.is_some(), operation.security.is_some());
    add(has_body, &["400", "408", "413", "415", "422"]);
    add(operation.parameters.is_some(), &["400"]);
    add(path.contains('{'), &["404"]);
    add(has_token, &["401", "503"]);
    add(has_token && *method == Method::POST, &["403"]);
    statuses
}

/// Adds what the operation does not say itself, and gives what it says without a body that of every problem.
fn add_problems(operation: &mut Operation, statuses: &[&str]) {
    let answers = &mut operation.responses.responses;
    for (status, answer) in answers.iter_mut() {
        if let RefOr::T(answer) = answer
            && answer.content.is_empty()
            && status.starts_with(['4', '5'])
        {
            let bare = ResponseBuilder::new().description(answer.description.clone());
            *answer = of_problem(bare, status);
        }
    }
    for (status, name, _) in PROBLEMS {
        if statuses.contains(&status) {
            let shared = || Ref::from_response_name(name).into();
            answers.entry(status.to_owned()).or_insert_with(shared);
        }
    }
}

/// An answer that is a problem document.
fn of_problem(answer: ResponseBuilder, status: &str) -> Answer {
    let content = Content::new(Some(Ref::from_schema_name("Problem")));
    let answer = answer.content("application/problem+json", content);
    match status {
        "401" => answer.header("WWW-Authenticate", Header::default()).build(),
        "503" => answer.header("Retry-After", Header::default()).build(),
        _ => answer.build(),
    }
}

/// The operations of a path. Of these methods there are some; whoever adds another one adds it here.
fn operations(item: &mut PathItem) -> impl Iterator<Item = (Method, &mut Operation)> {
    let get = item.get.as_mut().map(|operation| (Method::GET, operation));
    let post = item.post.as_mut().map(|operation| (Method::POST, operation));
    get.into_iter().chain(post)
}
