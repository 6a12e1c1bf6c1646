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

use tokio_util::sync::CancellationToken;

use super::database;
use super::exit::Exit;
use super::output::OutputArgs;
use super::reload::reload;
use super::settings::Settings;
use super::signals::{Asked, Signals};
use crate::clock::{Clock, SystemClock};
use crate::config::Config;
use crate::relay::{Destinations, Relay, assemble};
use crate::store::{MissingFile, SqlStore, Store};
use crate::telemetry;

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
    pub(super) config: Config,
    pub(super) destinations: Destinations,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) store: SqlStore,
    pub(super) relay: Relay,
}

pub(super) async fn run(verb: &Run, settings: &Settings) -> anyhow::Result<Exit> {
    let config = settings.read()?;
    telemetry::init(&config.log)?;
    let mut signals = Signals::listen()?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let destinations = assemble::destinations(&config, &clock)?;
    let store = SqlStore::new(database::connect(&config, MissingFile::Refuse)?);

    let waiting = CancellationToken::new();
    let plan = assemble::plan(&config);
    tokio::select! {
        prepared = assemble::prepare(&store, &plan, &waiting) => prepared.transpose()?,
        () = signals.stop() => return Ok(Exit::Done),
    };
    let shared: Arc<dyn Store> = Arc::new(store.clone());
    let context = assemble::context(shared, &config, Arc::clone(&clock)).await?;
    let relay_id = context.relay.0;
    let daemon = Daemon {
        relay: Relay::start(context, destinations.clone()),
        config,
        destinations,
        clock,
        store,
    };
    tracing::info!(relay = %relay_id, destinations = daemon.destinations.len(), "the relay is at work");
    daemon.serve(settings, signals).await
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
        tracing::info!(grace_ms = grace.as_millis(), "ending: nothing new is begun");
        let abort = self.relay.abort_token();
        let shutdown = self.relay.shutdown(grace);
        tokio::pin!(shutdown);
        let exit = tokio::select! {
            ended = &mut shutdown => {
                ended?;
                Exit::Done
            }
            () = signals.stop() => {
                tracing::warn!("ending at once; what is in flight stays on record as unsettled");
                abort.cancel();
                shutdown.await?;
                Exit::Failed
            }
        };
        self.store.database().close().await;
        Ok(exit)
    }
}
