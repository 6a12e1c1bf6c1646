//! The server: takes connections, bounds what they may cost, and ends in order.
//!
//! axum's own server has no limit for the time that a request's head may take, so this is hyper's.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::process::Process;
use super::room::{Place, Room};
use super::routes;
use super::state::{AdminSettings, AdminState};
use crate::store::admin::AdminStore;

/// What the server allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Connections at once. For one more, the one that has waited longest for its client is closed; while all are at work, it
    /// waits.
    pub connections: usize,
    /// How long the head of a request may take, and how long a connection may be idle.
    pub head_timeout: Duration,
    /// How long the body of a request may take; of rows each part.
    pub body_timeout: Duration,
    /// Bytes of a body at most, but for rows: of those [`AdminSettings::max_outbox_body`].
    pub body_bytes: usize,
    /// Requests that bring rows and are read or written at once; more wait to be read.
    pub outbox_requests: usize,
    /// How long a scrape of `/metrics` waits for what the database says. Prometheus gives up after ten seconds.
    pub gauges_timeout: Duration,
    /// How long a connection may last. It ends after the request that is under way then.
    pub connection_age: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 128,
            head_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(30),
            body_bytes: 1 << 20,
            outbox_requests: 8,
            gauges_timeout: Duration::from_secs(3),
            connection_age: Duration::from_mins(10),
        }
    }
}

/// After its last request a connection may take so long to take the answer.
const FAREWELL: Duration = Duration::from_secs(10);
/// How long the server waits when the system has no connection to give (no file descriptors left).
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Who sent the request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Remote(pub(super) SocketAddr);

/// A running server.
#[derive(Debug)]
pub struct AdminServer {
    settings: watch::Sender<Arc<AdminSettings>>,
    stop: CancellationToken,
    task: JoinSet<()>,
}

impl AdminServer {
    /// Starts a server on `listener` that speaks for `process`.
    pub fn start(
        listener: TcpListener,
        store: AdminStore,
        process: Process,
        settings: AdminSettings,
        limits: Limits,
    ) -> Self {
        let (settings, receiver) = watch::channel(Arc::new(settings));
        let stop = CancellationToken::new();
        let requests = TaskTracker::new();
        let router = routes::router(
            AdminState::new(store, process, receiver, limits, requests.clone(), stop.clone()),
            limits,
            requests.clone(),
        );
        let mut task = JoinSet::new();
        task.spawn(accept(listener, router, limits, stop.clone(), requests));
        Self { settings, stop, task }
    }

    /// Takes over what a new configuration says. Requests that come from now on see it.
    pub fn reload(&self, settings: AdminSettings) {
        self.settings.send_replace(Arc::new(settings));
    }

    /// Resolves when the server has ended, which it does by itself only with an error: a bug.
    pub async fn ended(&mut self) -> Result<(), JoinError> {
        self.task.join_next().await.unwrap_or(Ok(()))
    }

    /// Takes no more requests, and waits until those that are under way are answered, or their clients are gone.
    pub async fn shutdown(mut self) -> Result<(), JoinError> {
        self.stop.cancel();
        self.ended().await
    }
}

async fn accept(
    listener: TcpListener,
    router: Router,
    limits: Limits,
    stop: CancellationToken,
    requests: TaskTracker,
) {
    let room = Room::new(limits.connections);
    let connections = TaskTracker::new();
    while let Some((stream, remote, place)) = next(&listener, &room, &stop).await {
        connections.spawn(serve(stream, remote, place, router.clone(), limits, stop.clone()));
    }
    connections.close();
    connections.wait().await;
    // What a client did not wait for is still carried out.
    requests.close();
    requests.wait().await;
}

/// The next connection, once there is room for it; none when the server is to stop.
async fn next(
    listener: &TcpListener,
    room: &Arc<Room>,
    stop: &CancellationToken,
) -> Option<(TcpStream, SocketAddr, Arc<Place>)> {
    let accepted = async {
        loop {
            match listener.accept().await {
                Ok((stream, remote)) => return (stream, remote, room.enter().await),
                Err(error) => {
                    tracing::warn!(%error, "the admin server could not take a connection");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    };
    tokio::select! {
        () = stop.cancelled() => None,
        connection = accepted => Some(connection),
    }
}

async fn serve(
    stream: TcpStream,
    remote: SocketAddr,
    place: Arc<Place>,
    router: Router,
    limits: Limits,
    stop: CancellationToken,
) {
    let router = TowerToHyperService::new(router);
    let at = Arc::clone(&place);
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(Remote(remote));
        request.extensions_mut().insert(Arc::clone(&at));
        answer(router.clone(), request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_timeout)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    // How a connection ends is the client's affair; what it asked for has been logged where it was handled.
    tokio::select! {
        _ = &mut connection => return,
        () = place.made_way() => return,
        () = stop.cancelled() => {}
        () = tokio::time::sleep(limits.connection_age) => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = tokio::time::timeout(FAREWELL, connection).await;
}

async fn answer(
    router: TowerToHyperService<Router>,
    request: Request<Incoming>,
) -> Result<Response, std::convert::Infallible> {
    hyper::service::Service::call(&router, request).await
}
