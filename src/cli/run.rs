//! `aftercommit run`: the daemon.
//!
//! ```text
//!  signals caught ─▶ configuration ─▶ database (waits) ─▶ topics and routes ─▶ admin server, relay ─▶ ready
//!                                                                                     │
//!  SIGHUP: configuration again; a broken one changes nothing ◀────────────────────────┤
//!  SIGTERM, SIGINT: begin nothing more, finish what is in flight, hand back the leases ◀┘   (a second one: at once)
//! ```

use std::net::SocketAddr;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tokio::net::TcpListener;
use tokio::task::JoinError;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::database;
use super::exit::{Exit, Problem};
use super::output::OutputArgs;
use super::reload::reload;
use super::settings::Settings;
use super::signals::{Asked, Signals};
use super::words::counted;
use crate::admin::{AdminServer, AdminSettings, Limits, Process};
use crate::clock::{Clock, SystemClock};
use crate::config::Config;
use crate::relay::receivers::Receivers;
use crate::relay::{Context, Destinations, Relay, RelayMetrics, assemble};
use crate::store::admin::AdminStore;
use crate::store::{MissingFile, RelayId, SqlStore, Store};
use crate::telemetry;
use crate::telemetry::traces::Traces;

/// What a shutdown keeps of its grace time to close the connections to the database in.
const CLOSING: Duration = Duration::from_millis(500);

#[derive(clap::Args)]
pub(super) struct Run {
    /// Where the admin server listens, in place of the configuration: an address and a port (0 takes a free one), or
    /// off
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<Listen>,

    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Clone, Copy)]
enum Listen {
    Off,
    At(SocketAddr),
}

impl FromStr for Listen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "off" {
            return Ok(Self::Off);
        }
        let at = text
            .parse()
            .map_err(|_| "write an address and a port, such as 127.0.0.1:8484, or off")?;
        Ok(Self::At(at))
    }
}

/// A relay at work, and what a reload needs to know of it.
pub(super) struct Daemon {
    /// What the process began with: some of it stays until it starts again.
    pub(super) began: Config,
    /// What was taken over last.
    pub(super) config: Config,
    pub(super) destinations: Destinations,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) store: SqlStore,
    pub(super) relay: Relay,
    pub(super) admin: Option<AdminServer>,
    traces: Traces,
}

/// Printed once the relay is at work.
#[derive(Serialize)]
struct Ready {
    relay: String,
    destinations: usize,
    admin: Option<String>,
}

pub(super) async fn run(verb: &Run, settings: &Settings) -> anyhow::Result<Exit> {
    let config = settings.read()?;
    telemetry::init(&config.log)?;
    let traces = Traces::from_environment()?;
    let mut signals = Signals::listen()?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let destinations = assemble::destinations(&config, &clock)?;
    let store = SqlStore::new(database::connect(&config, MissingFile::Refuse)?);
    let relay = RelayId(Uuid::new_v4());
    // Before the database answers: `/readyz` says why the relay is not at work yet.
    let process = Process {
        relay,
        metrics: RelayMetrics::new(),
        clock: Arc::clone(&clock),
    };
    let admin_settings = admin_settings(&config, &destinations, &clock);
    let (admin, address) = start_admin(verb, &config, &store, process.clone(), admin_settings).await?;

    let (plan, waiting) = (assemble::plan(&config), CancellationToken::new());
    tokio::select! {
        prepared = assemble::prepare(&store, &plan, &waiting) => prepared.transpose()?,
        () = signals.stop() => return Ok(Exit::Done),
    };
    warn_of_what_is_held(&store, &config).await;
    let shared: Arc<dyn Store> = Arc::new(store.clone());
    let context = Context {
        metrics: process.metrics,
        traces: traces.clone(),
        ..assemble::context(relay, shared, &config, Arc::clone(&clock)).await?
    };
    let daemon = Daemon {
        relay: Relay::start(context, destinations.clone()),
        began: config.clone(),
        config,
        destinations,
        clock,
        store,
        admin,
        traces,
    };
    let ready = Ready {
        relay: relay.0.to_string(),
        destinations: daemon.destinations.len(),
        admin: address.map(|address| format!("http://{address}/")),
    };
    verb.output.open().print(&ready, |ready| {
        let admin = ready.admin.as_deref().unwrap_or("off");
        format!(
            "ready: relay {}, {}, admin server {admin}",
            ready.relay,
            counted(ready.destinations, "destination", "destinations")
        )
    })?;
    daemon.serve(settings, signals).await
}

async fn start_admin(
    verb: &Run,
    config: &Config,
    store: &SqlStore,
    process: Process,
    settings: AdminSettings,
) -> anyhow::Result<(Option<AdminServer>, Option<SocketAddr>)> {
    let listen = match verb.listen {
        Some(Listen::Off) => None,
        Some(Listen::At(address)) => Some(address),
        None => config.admin.listen,
    };
    let Some(listen) = listen else {
        return Ok((None, None));
    };
    let refused = |error| {
        Problem::Failed(format!(
            "the admin server cannot listen at {listen}: {error}; set another address in admin.listen, or off"
        ))
    };
    let listener = TcpListener::bind(listen).await.map_err(refused)?;
    let address = listener.local_addr().map_err(refused)?;
    let desk = AdminStore::new(store.database().clone(), config.relay.lease_ttl);
    let server = AdminServer::start(listener, desk, process, settings, Limits::default());
    tracing::info!(%address, "the admin server listens");
    Ok((Some(server), Some(address)))
}

/// What the admin server takes from a configuration.
pub(super) fn admin_settings(
    config: &Config,
    destinations: &Destinations,
    clock: &Arc<dyn Clock>,
) -> AdminSettings {
    AdminSettings {
        receivers: Receivers::of(config, destinations, clock),
        token: config.admin.token.clone(),
        destinations: config.destinations.keys().cloned().collect(),
        max_outbox_body: config.admin.max_outbox_body.into(),
        open_metrics: config.admin.open_metrics,
    }
}

/// What is owed to a destination that the configuration does not have stays owed, and nobody works on it.
pub(super) async fn warn_of_what_is_held(store: &SqlStore, config: &Config) {
    let desk = AdminStore::new(store.database().clone(), config.relay.lease_ttl);
    let configured: Vec<String> = config.destinations.keys().cloned().collect();
    let destinations = match desk.status(&configured).await {
        Ok(status) => status.destinations,
        Err(error) => {
            return tracing::warn!(%error, "could not look for destinations that are not configured");
        }
    };
    for held in destinations
        .iter()
        .filter(|status| !status.configured && status.owed > 0)
    {
        tracing::warn!(
            destination = held.name,
            owed = held.owed,
            "the destination is not in the configuration; what is owed to it is held"
        );
    }
}

/// Resolves when the admin server has ended, which it never does by itself; never where there is none.
async fn admin_ended(admin: Option<&mut AdminServer>) -> Result<(), JoinError> {
    match admin {
        Some(admin) => admin.ended().await,
        None => std::future::pending().await,
    }
}

impl Daemon {
    /// Works until it is asked to end, or fails.
    async fn serve(mut self, settings: &Settings, mut signals: Signals) -> anyhow::Result<Exit> {
        loop {
            tokio::select! {
                ended = self.relay.ended() => {
                    ended?;
                    anyhow::bail!("the relay ended without being asked to");
                }
                ended = admin_ended(self.admin.as_mut()) => {
                    ended?;
                    anyhow::bail!("the admin server ended without being asked to");
                }
                asked = signals.next() => match asked {
                    Asked::Stop => return self.stop(signals).await,
                    Asked::Reload => reload(&mut self, settings).await,
                },
            }
        }
    }

    /// Finishes what is in flight within the grace time. A second signal ends the wait.
    async fn stop(self, mut signals: Signals) -> anyhow::Result<Exit> {
        let grace = self.config.relay.shutdown_grace;
        tracing::info!(grace_s = grace.as_secs_f64(), "ending: nothing new is begun");
        let abort = self.relay.abort_token();
        let (relay, admin, store, traces) = (self.relay, self.admin, self.store, self.traces);
        let orderly = async move {
            relay.shutdown(grace.saturating_sub(CLOSING)).await?;
            traces.shutdown().await;
            if let Some(admin) = admin {
                admin.shutdown().await?;
            }
            // A database that does not answer is not waited for: what was committed is, and the rest is rolled back.
            let _ = tokio::time::timeout(CLOSING, store.database().close()).await;
            anyhow::Ok(Exit::Done)
        };
        tokio::pin!(orderly);
        tokio::select! {
            ended = &mut orderly => ended,
            () = signals.stop() => {
                tracing::warn!("ending at once; what is in flight stays on record as unsettled");
                abort.cancel();
                Ok(Exit::Failed)
            }
        }
    }
}
