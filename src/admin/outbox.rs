//! Rows from whoever cannot reach the database: NDJSON or a JSON array, in one transaction.
//!
//! ```text
//!  body ─▶ spool: whole, within its limits ─▶ rows, as `aftercommit enqueue` reads them ─▶ one transaction, with the key
//! ```

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Uri, header};
use axum::response::{IntoResponse as _, Response};
use axum::{Extension, Json};
use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;

use super::access::Caller;
use super::problem::Problem;
use super::query::Query;
use super::server::Limits;
use super::spool::{Spooled, spool};
use super::state::AdminState;
use crate::capture::{self, Array, CaptureError, Mapping, Ndjson, Outcome, Requested, Rows, Summary};
use crate::core::row::{Op, TopicKind};
use crate::store::Enqueued;
use crate::store::admin::RequestKey;
use crate::store::requests::OutboxRequest;

/// Where rows are posted, below `/v1`.
pub(super) const PATH: &str = "/outbox";

/// What requests that bring rows share.
#[derive(Debug)]
pub(super) struct Intake {
    limits: Limits,
    /// How many may be read or written at once: each may hold a file.
    places: Semaphore,
    /// The keys of those that are under way.
    keys: Mutex<HashSet<String>>,
}

#[derive(Clone, Copy)]
enum Format {
    Ndjson,
    Array,
}

/// Takes rows in
///
/// NDJSON or one JSON array, all in one transaction. With `topic` and `key` each element is a payload, and its key and version
/// are fields of it; without, each says itself what it is. With an Idempotency-Key, a request that comes twice is answered as it
/// was the first time.
#[utoipa::path(
    post, path = "/outbox", operation_id = "enqueue_rows", tag = "outbox",
    params(
        ("topic" = Option<String>, Query, description = "The topic of the rows", example = "orders"),
        ("key" = Option<String>, Query, description = "The fields that make the row key, separated by commas", example = "id"),
        ("version" = Option<String>, Query, description = "The field that is the row version"),
        ("op" = Option<Op>, Query, description = "What happened to the rows; by the kind of the topic if it is not said"),
        ("Idempotency-Key" = Option<String>, Header, description = "Tells this request from every other",
            min_length = 1, max_length = 255, pattern = "^[!-~]([ -~]*[!-~])?$"),
    ),
    request_body(description = "Rows", content(
        (Vec<Object> = "application/json", example = json!([{"id": 10248, "total": 440}])),
        (String = "application/x-ndjson", example = json!("{\"id\": 10248, \"total\": 440}\n")),
    )),
    responses(
        (status = 200, description = "What became of them", body = Summary,
            headers(("Idempotent-Replayed" = Option<String>, description = "`true` where the same request came before")),
            example = json!({"admitted": 1, "unchanged": 0, "stale": 0, "refused": 0, "total": 1})),
        (status = 409, description = "A request with this Idempotency-Key is under way"),
    )
)]
pub(super) async fn enqueue(
    State(state): State<AdminState>,
    Extension(caller): Extension<Caller>,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let format = Format::of(&headers)?;
    let mapping = mapping(&state, &uri).await?;
    let key = RequestKey::of(&headers)?;
    let _under_way = key
        .as_ref()
        .map(|key| UnderWay::begin(&state.intake, key))
        .transpose()?;
    // Nobody closes it.
    let _place = state.intake.places.acquire().await;
    let limit = state.settings().max_outbox_body;
    if announced(&headers).is_some_and(|length| length > limit) {
        return Err(Problem::too_many_rows(limit));
    }
    let Spooled { reader, digest } = spool(body, limit, state.intake.limits.body_timeout).await?;

    let request = OutboxRequest {
        key,
        digest: digest_of(format, &uri, &digest),
        actor: caller.actor().clone(),
    };
    let input: Arc<str> = "body".into();
    let rows: Rows = match format {
        Format::Ndjson => Ndjson::rows(Arc::clone(&input), Box::new(reader), mapping),
        Format::Array => Array::rows(Arc::clone(&input), Box::new(reader), mapping),
    };
    let requested = capture::enqueue_request(state.store.database(), input, rows, request).await;
    match requested.map_err(|error| problem(format, error))? {
        Requested::Done(enqueued) => Ok(Json(summary(enqueued)).into_response()),
        Requested::Known(enqueued) => {
            Ok(([("idempotent-replayed", "true")], Json(summary(enqueued))).into_response())
        }
        Requested::Conflict => Err(Problem::rows_under_known_key()),
    }
}

/// By what mapping the body is read; none: it holds whole rows.
async fn mapping(state: &AdminState, uri: &Uri) -> Result<Option<Mapping>, Problem> {
    let query = Query::read(uri, &["topic", "key", "version", "op"])?;
    let (topic, key) = (query.one::<String>("topic")?, query.one::<String>("key")?);
    let (version, op) = (query.one::<String>("version")?, query.one::<Op>("op")?);
    let (topic, key) = match (topic, key) {
        (Some(topic), Some(key)) => (topic, key),
        (None, None) if version.is_none() && op.is_none() => return Ok(None),
        (topic, _) => {
            let missing = if topic.is_none() { "topic" } else { "key" };
            let problem =
                "it is missing; give topic and key, or neither: then each row says itself what it is";
            return Err(Problem::bad_parameter(missing, problem));
        }
    };
    let op = if let Some(op) = op {
        op
    } else {
        let kind = state.store.database().topic_kind(&topic).await?;
        kind.map(TopicKind::op).ok_or_else(|| {
            let problem = format!(
                "there is no topic `{topic}` yet, so its kind is not known; give upsert, delete or event"
            );
            Problem::bad_parameter("op", problem)
        })?
    };
    Ok(Some(Mapping {
        topic,
        op,
        key: key.split(',').map(str::to_owned).collect(),
        version,
    }))
}

/// All rows or none: where one is refused, there is no summary.
fn summary(enqueued: Enqueued) -> Summary {
    Outcome { enqueued, refused: 0 }.into()
}

/// What a client says of its body before it sends it.
fn announced(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// The same bytes read in another way are another request.
fn digest_of(format: Format, uri: &Uri, body: &[u8; 32]) -> [u8; 32] {
    let query = uri.query().unwrap_or_default();
    let hash = Sha256::new()
        .chain_update(format.media_type())
        .chain_update("\n")
        .chain_update(query)
        .chain_update("\n")
        .chain_update(body);
    hash.finalize().into()
}

fn problem(format: Format, error: CaptureError) -> Problem {
    match error {
        CaptureError::Line(bad) | CaptureError::Broken(bad) => match format {
            Format::Ndjson => Problem::bad_line(bad.line, &bad.problem),
            Format::Array => Problem::bad_element(bad.line - 1, &bad.problem),
        },
        CaptureError::Store(error) => error.into(),
        CaptureError::Read { .. } | CaptureError::SetAside(_) => {
            tracing::error!(%error, "a body of rows could not be read again");
            Problem::internal()
        }
    }
}

impl Format {
    fn of(headers: &HeaderMap) -> Result<Self, Problem> {
        let given = headers
            .get(header::CONTENT_TYPE)
            .and_then(|value| value.to_str().ok());
        let essence = given
            .unwrap_or_default()
            .split(';')
            .next()
            .unwrap_or_default()
            .trim();
        [Self::Ndjson, Self::Array]
            .into_iter()
            .find(|format| essence.eq_ignore_ascii_case(format.media_type()))
            .ok_or_else(Problem::unknown_rows)
    }

    fn media_type(self) -> &'static str {
        match self {
            Self::Ndjson => "application/x-ndjson",
            Self::Array => "application/json",
        }
    }
}

impl Intake {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            places: Semaphore::new(limits.outbox_requests),
            keys: Mutex::default(),
        }
    }
}

/// A key whose request is under way; it ends with the value.
struct UnderWay<'i> {
    intake: &'i Intake,
    key: String,
}

impl<'i> UnderWay<'i> {
    fn begin(intake: &'i Intake, key: &RequestKey) -> Result<Self, Problem> {
        let key = key.as_str().to_owned();
        let mut keys = intake.keys.lock().unwrap_or_else(PoisonError::into_inner);
        if !keys.insert(key.clone()) {
            return Err(Problem::rows_under_way());
        }
        Ok(Self { intake, key })
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        let mut keys = self.intake.keys.lock().unwrap_or_else(PoisonError::into_inner);
        keys.remove(&self.key);
    }
}
