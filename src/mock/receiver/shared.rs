//! What a receiver's connections share: the reception behind its lock, the gate, the signal that something changed.

use std::fs::File;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::journal::Detail;
use super::reader::{Request, RequestLimits};
use super::reception::{Decision, Gate, Prepared, Reception};

#[derive(Debug)]
pub(super) struct Shared {
    reception: Mutex<Reception>,
    pub(super) changed: Notify,
    pub(super) gate: watch::Sender<Gate>,
    pub(super) stop: CancellationToken,
    pub(super) limits: RequestLimits,
    detail: Detail,
    disk: Option<Disk>,
    failure: Mutex<Option<io::Error>>,
    started: Instant,
}

impl Shared {
    pub(super) fn new(reception: Reception, disk: Option<Disk>, limits: RequestLimits) -> Self {
        Self {
            detail: reception.journal.detail(),
            reception: Mutex::new(reception),
            changed: Notify::new(),
            gate: watch::Sender::new(Gate::Open),
            stop: CancellationToken::new(),
            limits,
            disk,
            failure: Mutex::new(None),
            started: monotonic_now(),
        }
    }

    /// The reception. It is held for the moment of a decision and never across an await.
    pub(super) fn reception(&self) -> MutexGuard<'_, Reception> {
        self.reception.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Judges a request and puts it on record. After an error nothing may be answered: the receiver stops.
    pub(super) fn receive(self: &Arc<Self>, request: &Request<'_>) -> io::Result<(Decision, InFlight)> {
        let prepared = Prepared::of(request.body, self.detail);
        let elapsed = self.elapsed();
        let gate = *self.gate.borrow();
        let decided = self.reception().receive(request, prepared, elapsed, gate);
        self.changed.notify_waiters();
        let mut decision = decided.map_err(|error| self.fail(&error))?;
        let in_flight = InFlight {
            shared: Arc::clone(self),
            open_key: decision.open_key.take(),
        };
        Ok((decision, in_flight))
    }

    /// Since the start, in whole microseconds, so that a record reads the same after a trip through JSON.
    fn elapsed(&self) -> Duration {
        let elapsed = monotonic_now().duration_since(self.started);
        Duration::new(elapsed.as_secs(), elapsed.subsec_micros() * 1000)
    }

    /// Waits until the record of this request is as durable as the options ask.
    pub(super) async fn make_durable(&self, number: u64) -> io::Result<()> {
        let Some(disk) = &self.disk else { return Ok(()) };
        disk.cover(number, || self.reception().newest_number())
            .await
            .map_err(|error| self.fail(&error))
    }

    /// Waits until the gate is open.
    pub(super) async fn gate_opens(&self) {
        // The sender is `self`, so the wait cannot end because it has gone.
        let _ = self.gate.subscribe().wait_for(|gate| *gate == Gate::Open).await;
    }

    /// Why the receiver stopped by itself, if it did. The first to ask gets the answer.
    pub(super) fn take_failure(&self) -> Option<io::Error> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// A record could not be written, and a receiver that cannot be a witness must not answer.
    fn fail(&self, error: &io::Error) -> io::Error {
        let copy = || io::Error::new(error.kind(), error.to_string());
        self.failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get_or_insert_with(copy);
        self.stop.cancel();
        copy()
    }
}

/// A request that is on record and has not been answered. Dropping it ends its work, whatever the reason.
#[derive(Debug)]
pub(super) struct InFlight {
    shared: Arc<Shared>,
    open_key: Option<Box<str>>,
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.shared.reception().end(self.open_key.as_deref());
        self.shared.changed.notify_waiters();
    }
}

/// Makes the journal's file durable. A sync covers all records written before it began, so that connections which
/// wait for one share the next.
#[derive(Debug)]
pub(super) struct Disk {
    file: Arc<File>,
    covered: tokio::sync::Mutex<u64>,
}

impl Disk {
    pub(super) fn new(file: Arc<File>) -> Self {
        Self {
            file,
            covered: tokio::sync::Mutex::new(0),
        }
    }

    async fn cover(&self, number: u64, newest: impl FnOnce() -> u64) -> io::Result<()> {
        let mut covered = self.covered.lock().await;
        if *covered < number {
            let newest = newest();
            let file = Arc::clone(&self.file);
            tokio::task::spawn_blocking(move || file.sync_data()).await??;
            *covered = newest;
        }
        Ok(())
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "records say when they were made; nothing is decided by it"
)]
fn monotonic_now() -> Instant {
    Instant::now()
}
