//! A webhook receiver that keeps a ledger by idempotency key and can misbehave on demand.
//!
//! It stands on a bare TCP listener with an HTTP/1.1 reader of its own, because a web framework would not let it
//! reset, trickle, truncate or never end. It answers a repeated key from memory, writes each request down before it
//! answers or misbehaves, and takes a script of faults. Tests, benchmarks, the demo and `aftercommit mock receiver`
//! use this one. It knows nothing of the relay, and it is no server for production.
//!
//! ```text
//!  accept ──▶ Connection ──▶ Reader ──▶ Reception ─┬▶ Script   which fault?
//!                 │                       (lock)   ├▶ Ledger   is the key known?
//!                 │                                └▶ Journal  on record, before anything leaves
//!                 └──▶ Reply, or misbehave
//! ```
//!
//! Over HTTP: `GET`, `POST` (rules as JSON or text, see [`grammar`]) and `DELETE /faults`; `GET /journal`
//! (`?after=NUMBER&limit=COUNT&format=array|ndjson`, records as [`Received`]) and `DELETE /journal` (forgets records,
//! ledger and counts); `GET /effects` ([`Counts`]). Every other path is a webhook's.

mod chunks;
mod connection;
mod control;
mod fault;
pub mod grammar;
mod gzip;
mod head;
mod journal;
mod ledger;
mod misbehave;
mod reader;
mod reception;
mod reply;
mod script;
mod shared;
#[cfg(test)]
mod tests;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use fault::{Fault, FaultError};
pub use grammar::{GrammarError, fault_names, parse_rules};
pub use journal::{Detail, Durability, Effect, JournalFile, JournalOptions, Received};
pub use reader::RequestLimits;
pub use reception::{Concurrent, Counts};
pub use script::{Only, Rule, RuleError};

pub use super::times::{Times, TimesError};

use connection::Connection;
use journal::Journal;
use reception::{Gate, Reception};
use script::Script;
use shared::{Disk, Shared};

/// How long accepting pauses after it failed, for want of file descriptors as a rule.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// How a receiver behaves.
#[derive(Debug, Clone)]
pub struct ReceiverOptions {
    /// Where it listens; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The header that carries the idempotency key, in any case of letters.
    pub key_header: String,
    /// What a repeated key meets while its first request is being worked on.
    pub concurrent: Concurrent,
    /// How the journal is kept.
    pub journal: JournalOptions,
    /// The faults to begin with.
    pub script: Vec<Rule>,
    /// Seeds the rules that fire by chance.
    pub seed: u64,
    /// What a request may have at most.
    pub limits: RequestLimits,
}

impl Default for ReceiverOptions {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            key_header: "idempotency-key".into(),
            concurrent: Concurrent::default(),
            journal: JournalOptions::default(),
            script: Vec::new(),
            seed: 0,
            limits: RequestLimits::default(),
        }
    }
}

/// Why a receiver cannot run.
#[derive(Debug, thiserror::Error)]
pub enum ReceiverError {
    /// The address cannot be listened at.
    #[error("the mock receiver cannot listen at {address}: {source}; choose another address or port")]
    Listen {
        /// The address that was asked for.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The journal's file cannot be opened.
    #[error("the mock receiver's journal {} cannot be opened: {source}", path.display())]
    OpenJournal {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A record could not be written; the receiver has stopped, since it must not answer what it cannot record.
    #[error("the mock receiver could not write its journal and has stopped: {source}")]
    WriteJournal {
        /// What the system said.
        source: io::Error,
    },
    /// A rule that can never fire, or a fault that cannot be acted out.
    #[error(transparent)]
    Rule(#[from] RuleError),
}

/// A running receiver. Dropping it stops it; [`Receiver::shutdown`] also waits until it has stopped.
#[derive(Debug)]
pub struct Receiver {
    address: SocketAddr,
    shared: Arc<Shared>,
    tasks: TaskTracker,
}

impl Receiver {
    /// Opens the journal, listens and begins to serve.
    pub async fn start(options: ReceiverOptions) -> Result<Self, ReceiverError> {
        options.script.iter().try_for_each(Rule::check)?;
        let journal = Journal::open(&options.journal).map_err(|source| ReceiverError::OpenJournal {
            path: options
                .journal
                .file
                .as_ref()
                .map(|file| file.path.clone())
                .unwrap_or_default(),
            source,
        })?;
        let durability = options.journal.file.as_ref().map(|file| file.durability);
        let disk = journal
            .file()
            .filter(|_| durability == Some(Durability::Disk))
            .map(Disk::new);
        let script = Script::new(options.script, options.seed);
        let reception = Reception::new(options.key_header, options.concurrent, script, journal);
        let shared = Arc::new(Shared::new(reception, disk, options.limits));

        let refused = |source| ReceiverError::Listen {
            address: options.listen,
            source,
        };
        let listener = TcpListener::bind(options.listen).await.map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
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

    /// The address as a URL: `http://127.0.0.1:PORT/`.
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// The requests in memory, in the order of arrival. Empty with [`Detail::Counts`].
    pub fn requests(&self) -> Vec<Arc<Received>> {
        self.shared.reception().journal.kept().to_vec()
    }

    /// The requests that took effect, in the order in which they did. Empty with [`Detail::Counts`].
    pub fn effects(&self) -> Vec<Arc<Received>> {
        let mut reception = self.shared.reception();
        let kept = reception.journal.kept().iter();
        kept.filter(|record| record.effect == Effect::First)
            .cloned()
            .collect()
    }

    /// How many requests met what.
    pub fn counts(&self) -> Counts {
        self.shared.reception().counts()
    }

    /// Adds rules after those that are still to fire.
    pub fn script(&self, rules: impl IntoIterator<Item = Rule>) -> Result<(), RuleError> {
        let rules: Vec<Rule> = rules.into_iter().collect();
        rules.iter().try_for_each(Rule::check)?;
        self.shared.reception().script.extend(rules);
        Ok(())
    }

    /// Takes all rules back.
    pub fn clear_script(&self) {
        self.shared.reception().script.clear();
    }

    /// Forgets records, ledger and counts. The file keeps its lines, rules stay, and numbers go on.
    pub fn reset(&self) {
        self.shared.reception().reset();
        self.shared.changed.notify_waiters();
    }

    /// Lets requests be received but not answered, until [`Receiver::release`]. Those that find their key being
    /// worked on get their 409 at once.
    pub fn hold(&self) {
        self.shared.gate.send_replace(Gate::Held);
    }

    /// Answers what is held, and whatever comes, again.
    pub fn release(&self) {
        self.shared.gate.send_replace(Gate::Open);
    }

    /// Waits until this many requests are on record, answered or not.
    pub async fn received(&self, requests: u64) {
        self.until_counts(|counts| counts.requests >= requests).await;
    }

    /// Waits until no request is in flight.
    pub async fn idle(&self) {
        self.until_counts(|counts| counts.in_flight == 0).await;
    }

    /// Waits until the counts are as wanted.
    pub async fn until_counts(&self, mut wanted: impl FnMut(&Counts) -> bool) {
        self.until_reception(|reception| wanted(&reception.counts()))
            .await;
    }

    /// Waits until the requests in memory are as wanted.
    pub async fn until(&self, mut wanted: impl FnMut(&[Arc<Received>]) -> bool) {
        self.until_reception(|reception| wanted(reception.journal.kept()))
            .await;
    }

    /// Waits until the receiver stops by itself, which it does only if its journal cannot be written.
    pub async fn stopped(&self) {
        self.shared.stop.cancelled().await;
    }

    /// Stops listening, cuts all connections and waits until every task has ended. An error says that the receiver
    /// had stopped before, and why.
    pub async fn shutdown(self) -> Result<(), ReceiverError> {
        self.shared.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        match self.shared.take_failure() {
            Some(source) => Err(ReceiverError::WriteJournal { source }),
            None => Ok(()),
        }
    }

    async fn until_reception(&self, mut wanted: impl FnMut(&mut Reception) -> bool) {
        loop {
            // Registered before the look, so that no change between look and wait is missed.
            let changed = self.shared.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if wanted(&mut self.shared.reception()) {
                return;
            }
            changed.await;
        }
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.shared.stop.cancel();
    }
}

/// Runs a receiver until `stop` is cancelled: what `aftercommit mock receiver` does. `listening` is told once where
/// it listens.
pub async fn run(
    options: ReceiverOptions,
    stop: CancellationToken,
    listening: impl FnOnce(SocketAddr),
) -> Result<(), ReceiverError> {
    let receiver = Receiver::start(options).await?;
    listening(receiver.address());
    tokio::select! {
        () = stop.cancelled() => {}
        () = receiver.stopped() => {}
    }
    receiver.shutdown().await
}

async fn accept(listener: TcpListener, shared: Arc<Shared>, tasks: TaskTracker) {
    while let Some(accepted) = shared.stop.run_until_cancelled(listener.accept()).await {
        match accepted {
            Ok((stream, _)) => {
                // Without it, answers that leave in two writes would wait for the client's acknowledgement.
                let _ = stream.set_nodelay(true);
                let stop = shared.stop.clone();
                let connection = Connection::new(stream, Arc::clone(&shared));
                // How a connection ends concerns its client alone: resets and half requests are daily bread.
                tasks.spawn(async move { drop(stop.run_until_cancelled(connection.serve()).await) });
            }
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
    }
}
