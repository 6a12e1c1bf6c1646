//! Serves a mock CRM over HTTP: reads requests whole, lets faults strike, keeps the journal. What a request means is
//! the CRM's.
//!
//! A fault that leaves no answer ends hyper's service with an error, which closes the connection: that is how a commit
//! is followed by silence.

use std::convert::Infallible;
use std::future::pending;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::{HeaderValue, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::Crm;
use super::clock::MockClock;
use super::control;
use super::fault::{Fault, Rule, WireFault};
use super::faults::Faults;
use super::journal::Journal;
use super::request::{Answer, Request};

/// The largest body, in bytes: what a bulk upload may have, and a little.
const BODY_LIMIT: usize = 160 * 1024 * 1024;
/// How long accepting pauses after it failed, for want of file descriptors as a rule.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// How a mock is served.
#[derive(Debug)]
pub struct ServerOptions<V> {
    /// Where it listens; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The faults to begin with.
    pub faults: Vec<Rule<V>>,
    /// Seeds the rules that fire by chance.
    pub seed: u64,
    /// The time by which tokens expire and records are dated.
    pub clock: MockClock,
}

impl<V> Default for ServerOptions<V> {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            faults: Vec::new(),
            seed: 0,
            clock: MockClock::system(),
        }
    }
}

/// A connection that a fault closes without an answer.
#[derive(Debug, thiserror::Error)]
#[error("a fault closes the connection")]
struct Closed;

/// The address cannot be listened at.
#[derive(Debug, thiserror::Error)]
#[error("the mock cannot listen at {address}: {source}; choose another address or port")]
pub struct ListenError {
    /// The address that was asked for.
    pub address: SocketAddr,
    /// What the system said.
    pub source: io::Error,
}

/// What the connections share.
#[derive(Debug)]
pub(super) struct Shared<C: Crm> {
    state: Mutex<State<C>>,
    pub(super) clock: MockClock,
    changed: Notify,
    gate: watch::Sender<Gate>,
    /// Requests that have come so far, processed or not.
    arrived: watch::Sender<u64>,
    stop: CancellationToken,
}

/// Everything that changes, behind one lock that is held for the moment of an answer and never across an await.
#[derive(Debug)]
pub(super) struct State<C: Crm> {
    pub(super) crm: C,
    pub(super) faults: Faults<C::Fault>,
    pub(super) journal: Journal,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gate {
    Open,
    Held,
}

/// What becomes of a request.
enum Outcome {
    Answer(Answer),
    Later(Duration, Answer),
    Close,
    Silence,
}

/// A running mock. Dropping it stops it; [`MockServer::shutdown`] also waits until it has stopped.
#[derive(Debug)]
pub struct MockServer<C: Crm> {
    address: SocketAddr,
    shared: Arc<Shared<C>>,
    tasks: TaskTracker,
}

impl<C: Crm> MockServer<C> {
    /// Listens and begins to serve.
    pub async fn start(crm: C, options: ServerOptions<C::Fault>) -> Result<Self, ListenError> {
        let refused = |source| ListenError {
            address: options.listen,
            source,
        };
        let listener = TcpListener::bind(options.listen).await.map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                crm,
                faults: Faults::new(options.faults, options.seed),
                journal: Journal::default(),
            }),
            clock: options.clock,
            changed: Notify::new(),
            gate: watch::Sender::new(Gate::Open),
            arrived: watch::Sender::new(0),
            stop: CancellationToken::new(),
        });
        let tasks = TaskTracker::new();
        tasks.spawn(accept(listener, Arc::clone(&shared), tasks.clone()));
        Ok(Self {
            address,
            shared,
            tasks,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address as a URL without a path: `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Looks at the CRM, its faults and its journal, or changes them. Requests wait meanwhile.
    pub fn with<T>(&self, look: impl FnOnce(&mut C, &mut Faults<C::Fault>, &mut Journal) -> T) -> T {
        let mut state = self.shared.state();
        let State { crm, faults, journal } = &mut *state;
        look(crm, faults, journal)
    }

    /// Arms these rules behind those that are armed.
    pub fn arm(&self, rules: impl IntoIterator<Item = Rule<C::Fault>>) {
        self.shared.state().faults.arm(rules);
    }

    /// All records as canonical JSON.
    pub fn dump(&self) -> String {
        self.shared.state().dump()
    }

    /// Lets every token expire.
    pub fn expire_tokens(&self) {
        self.shared.state().crm.expire_tokens();
    }

    /// Forgets records, tokens, faults and journal.
    pub fn reset(&self) {
        self.shared.state().reset();
    }

    /// Keeps requests from being processed until [`MockServer::release`]. Requests to the control paths pass.
    pub fn hold(&self) {
        self.shared.gate.send_replace(Gate::Held);
    }

    /// Processes what is held, and whatever comes, again.
    pub fn release(&self) {
        self.shared.gate.send_replace(Gate::Open);
    }

    /// Waits until so many requests have arrived whole since the start, whether they are held or were processed.
    pub async fn arrived(&self, requests: u64) {
        // The sender is the server's own, so the wait cannot end because it has gone.
        let mut arrived = self.shared.arrived.subscribe();
        let _ = arrived.wait_for(|arrived| *arrived >= requests).await;
    }

    /// Waits until the journal is as wanted. It is asked again after each request.
    pub async fn until(&self, mut wanted: impl FnMut(&Journal) -> bool) {
        loop {
            // Registered before the look, so that no change between look and wait is missed.
            let changed = self.shared.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if wanted(&self.shared.state().journal) {
                return;
            }
            changed.await;
        }
    }

    /// Stops listening, cuts all connections and waits until every task has ended.
    pub async fn shutdown(self) {
        self.shared.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

impl<C: Crm> Drop for MockServer<C> {
    fn drop(&mut self) {
        self.shared.stop.cancel();
    }
}

async fn accept<C: Crm>(listener: TcpListener, shared: Arc<Shared<C>>, tasks: TaskTracker) {
    while let Some(accepted) = shared.stop.run_until_cancelled(listener.accept()).await {
        match accepted {
            Ok((stream, _)) => {
                // Without it, answers that leave in two writes would wait for the client's acknowledgement.
                let _ = stream.set_nodelay(true);
                let shared = Arc::clone(&shared);
                tasks.spawn(async move {
                    let stop = shared.stop.clone();
                    // How a connection ends concerns its client alone.
                    drop(stop.run_until_cancelled(connection(stream, shared)).await);
                });
            }
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
    }
}

async fn connection<C: Crm>(stream: TcpStream, shared: Arc<Shared<C>>) -> hyper::Result<()> {
    let service = service_fn(move |request: axum::http::Request<Incoming>| {
        let shared = Arc::clone(&shared);
        async move {
            let (parts, body) = request.into_parts();
            let Ok(body) = to_bytes(Body::new(body), BODY_LIMIT).await else {
                return Ok(response(Answer::empty(413)));
            };
            let request = Request {
                method: parts.method,
                path: parts.uri.path().to_owned(),
                query: parts.uri.query().unwrap_or_default().to_owned(),
                headers: parts.headers,
                body,
            };
            shared.serve(&request).await.map(response)
        }
    });
    http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await
}

fn response(answer: Answer) -> Response<Body> {
    let mut response = Response::new(Body::from(answer.body));
    // A fault's status was checked when its rule was read, so none is out of range.
    *response.status_mut() = answer.status.try_into().unwrap_or_default();
    for (name, value) in answer.headers {
        // What no header can carry is left out, as a proxy would.
        if let Ok(value) = HeaderValue::from_str(&value) {
            response.headers_mut().append(name, value);
        }
    }
    response
}

impl<C: Crm> Shared<C> {
    /// Held for the moment of an answer.
    pub(super) fn state(&self) -> MutexGuard<'_, State<C>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn serve(&self, request: &Request) -> Result<Answer, Closed> {
        if let Some(answer) = control::answer(request, self) {
            return Ok(answer);
        }
        self.arrived.send_modify(|arrived| *arrived += 1);
        // The sender is `self`, so the wait cannot end because it has gone.
        let _ = self.gate.subscribe().wait_for(|gate| *gate == Gate::Open).await;
        let outcome = self.state().process(request, &self.clock);
        self.changed.notify_waiters();
        match outcome {
            Outcome::Answer(answer) => Ok(answer),
            Outcome::Later(time, answer) => {
                tokio::time::sleep(time).await;
                Ok(answer)
            }
            Outcome::Close => Err(Closed),
            Outcome::Silence => match pending::<Infallible>().await {},
        }
    }
}

impl<C: Crm> State<C> {
    pub(super) fn reset(&mut self) {
        self.crm.reset();
        self.faults.clear();
        self.journal.clear();
    }

    fn process(&mut self, request: &Request, clock: &MockClock) -> Outcome {
        let fault = self.faults.at_request(request);
        let outcome = match fault {
            Some(Fault::Vendor(fault)) => Outcome::Answer(self.crm.refuse(request, fault)),
            Some(Fault::Wire(WireFault::Reset)) => Outcome::Close,
            Some(Fault::Wire(WireFault::Hang)) => Outcome::Silence,
            Some(Fault::Wire(WireFault::Fail(status))) => Outcome::Answer(self.crm.failure(status)),
            processed => {
                let answer = self.crm.answer(request, &mut self.faults, clock.now());
                self.spoil(processed, answer)
            }
        };
        let status = match &outcome {
            Outcome::Answer(answer) | Outcome::Later(_, answer) => Some(answer.status),
            Outcome::Close | Outcome::Silence => None,
        };
        let met = self.faults.take_met();
        self.journal.add(request, status, met);
        outcome
    }

    /// What becomes of the answer to a request that was processed.
    fn spoil(&self, fault: Option<Fault<C::Fault>>, mut answer: Answer) -> Outcome {
        match fault {
            Some(Fault::Wire(WireFault::ProcessedThenDropped)) => Outcome::Close,
            Some(Fault::Wire(WireFault::ProcessedThenHung)) => Outcome::Silence,
            Some(Fault::Wire(WireFault::ProcessedThenFailed(status))) => {
                Outcome::Answer(self.crm.failure(status))
            }
            Some(Fault::Wire(WireFault::Delay(time))) => Outcome::Later(time, answer),
            Some(Fault::Wire(WireFault::NotJson)) => {
                answer.body = "{\"records\":[".into();
                Outcome::Answer(answer)
            }
            _ => Outcome::Answer(answer),
        }
    }
}
