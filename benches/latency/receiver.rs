//! A receiver in this process that notes when each row arrived, by its row key.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use tokio::task::JoinSet;

/// A running receiver; it ends with the value.
pub(crate) struct Receiver {
    url: String,
    seen: Seen,
    _server: JoinSet<()>,
}

type Seen = Arc<Mutex<HashMap<String, Instant>>>;

impl Receiver {
    /// Starts one on a free port.
    pub(crate) async fn start() -> anyhow::Result<Self> {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/", listener.local_addr()?);
        let seen = Seen::default();
        let router = Router::new().route("/", post(note)).with_state(seen.clone());
        let mut server = JoinSet::new();
        server.spawn(async move {
            // It ends with the value, by being dropped.
            let _never = axum::serve(listener, router).await;
        });
        Ok(Self {
            url,
            seen,
            _server: server,
        })
    }

    /// Where it listens.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// How many rows have arrived.
    pub(crate) fn count(&self) -> usize {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// When each row arrived first.
    pub(crate) fn arrivals(&self) -> HashMap<String, Instant> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

async fn note(State(seen): State<Seen>, headers: HeaderMap) -> StatusCode {
    #[expect(clippy::disallowed_methods, reason = "a benchmark measures")]
    let now = Instant::now();
    let row_key = headers
        .get("aftercommit-row-key")
        .and_then(|value| value.to_str().ok());
    if let Some(row_key) = row_key {
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.entry(row_key.to_owned()).or_insert(now);
    }
    StatusCode::NO_CONTENT
}
