//! `aftercommit demo`: the whole of it in one process, and a verdict.
//!
//! ```text
//!  pipeline ──commits──▶ database ◀── relay ──requests──▶ mock receiver, which misbehaves
//!     └───────────────────── three sides compared ──────────────┘
//! ```
//!
//! With `--crm` the relay delivers to a mock of Salesforce and of HubSpot too, and what is there is compared as well.

mod crm;
mod pipeline;
mod place;
mod session;
mod setting;
mod summary;
mod verdict;

use std::sync::Arc;
use std::time::Duration;

use secrecy::ExposeSecret as _;
use uuid::Uuid;

use self::crm::Crms;
use self::pipeline::{Log, Pipeline};
use self::place::Place;
use self::session::Session;
use self::setting::RECEIVER;
use self::summary::Summary;
use self::verdict::{Fact, Id, Sides, Verdict};
use super::exit::{Exit, Problem};
use super::output::OutputArgs;
use super::progress::{self, Progress};
use super::settings::Settings;
use super::words::counted;
use crate::clock::{Clock, SystemClock};
use crate::core::delivery::State;
use crate::mock::receiver::{Received, Receiver};
use crate::relay::{Relay, assemble};
use crate::store::RelayId;
use crate::telemetry;

/// How often the demo looks how far it is.
const LOOK: Duration = Duration::from_millis(100);
/// After so long without any change the demo gives up.
const STALLED: Duration = Duration::from_mins(1);
/// How long the relay has to end.
const GRACE: Duration = Duration::from_secs(10);

#[derive(clap::Args)]
pub(super) struct Demo {
    /// Rows that the pipeline commits
    #[arg(long, default_value_t = 300, value_parser = clap::value_parser!(u64).range(10..=10_000_000))]
    rows: u64,

    /// Deliver customers to a mock of Salesforce and of HubSpot too
    #[arg(long)]
    crm: bool,

    /// Seeds the rows and the failures
    #[arg(long, default_value_t = 1)]
    seed: u64,

    #[command(flatten)]
    output: OutputArgs,
}

pub(super) async fn run(verb: &Demo, settings: &Settings) -> anyhow::Result<Exit> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let place = Place::prepare(settings.database()).await?;
    // Row keys that no earlier demo in the same database had.
    let prefix = format!("{}-", &Uuid::new_v4().simple().to_string()[..8]);
    let receiver = Receiver::start(setting::receiver(&prefix, verb.seed)).await?;
    let crms = if verb.crm {
        Some(Crms::start(verb.seed).await?)
    } else {
        None
    };
    let url = place.url.expose_secret();
    let config = setting::config(url, receiver.url(), crms.as_ref())?;
    telemetry::init(&config.log)?;
    place.store.apply(assemble::plan(&config)).await?;
    let store = Arc::new(place.store.clone());
    let relay = RelayId(Uuid::new_v4());
    let context = assemble::context(relay, store, &config, Arc::clone(&clock)).await?;
    let mut relay = Relay::start(context, assemble::destinations(&config, &clock)?);

    let progress = Progress::of(verb.rows, "committed");
    progress::say(&format!(
        "a pipeline commits {} to {}",
        counted(verb.rows, "row", "rows"),
        place.name
    ));
    let mut session = Session::open(url).await?;
    let pipeline = Pipeline::new(prefix.clone(), verb.rows, fastrand::Rng::with_seed(verb.seed));
    let log = pipeline.run(&mut session, |rows| progress.at(rows)).await?;
    progress.done();

    let ended = tokio::select! {
        ended = relay.ended() => ended.map_err(anyhow::Error::from),
        ended = settle(&mut session, &receiver, &*clock) => ended,
    };
    relay.shutdown(GRACE).await?;
    ended?;
    let mut summary = sum_up(&mut session, &receiver, &prefix, &log, clock.monotonic()).await?;
    if let Some(crms) = crms {
        summary.crms = crms.sum_up(&mut session, &prefix, &log.committed).await?;
        summary.clean &= summary.crms.iter().all(|crm| crm.differing == 0);
        crms.shutdown().await;
    }
    session.close().await;
    place.store.database().close().await;
    receiver.shutdown().await?;
    verb.output.open().print(&summary, Summary::text)?;
    Ok(if summary.clean { Exit::Done } else { Exit::Failed })
}

/// Waits until nothing is owed any more, and shows how far it is.
async fn settle(session: &mut Session, receiver: &Receiver, clock: &dyn Clock) -> anyhow::Result<()> {
    let mut owed = session.owed().await?;
    let progress = Progress::of(owed, "settled");
    progress::say("the relay delivers what was committed to a receiver that misbehaves");
    let (most, mut last, mut changed) = (owed, (0, 0), clock.monotonic());
    let mut looks = tokio::time::interval(LOOK);
    while owed > 0 {
        looks.tick().await;
        owed = session.owed().await?;
        progress.at(most.saturating_sub(owed));
        let now = (owed, receiver.counts().requests);
        if now != last {
            (last, changed) = (now, clock.monotonic());
        } else if clock.monotonic().saturating_sub(changed) > STALLED {
            return Err(Problem::Failed(format!(
                "{} still owed, and nothing moves",
                counted(owed, "delivery is", "deliveries are")
            ))
            .into());
        }
    }
    progress.done();
    Ok(())
}

async fn sum_up(
    session: &mut Session,
    receiver: &Receiver,
    prefix: &str,
    log: &Log,
    elapsed: Duration,
) -> anyhow::Result<Summary> {
    let recorded = session.deliveries(prefix, RECEIVER).await?;
    let attempts = session.attempts(prefix, RECEIVER).await?;
    let is_ours = |request: &Received| {
        request
            .row_key()
            .is_some_and(|row_key| row_key.starts_with(prefix))
    };
    let requests = receiver
        .requests()
        .iter()
        .filter(|request| is_ours(request))
        .count() as u64;
    let effects: Vec<Fact> = receiver
        .effects()
        .iter()
        .filter(|request| is_ours(request))
        .map(|request| effect(request))
        .collect();
    let verdict = Verdict::of(&Sides {
        committed: &log.committed,
        recorded: &recorded,
        attempts,
        effects: &effects,
        requests,
    });
    let count = |wanted: State| recorded.iter().filter(|(_, state)| *state == wanted).count();
    Ok(Summary {
        committed: log.committed.len(),
        rolled_back: log.rolled_back,
        skipped: log.skipped,
        delivered: count(State::Delivered),
        superseded: count(State::Superseded),
        dead: count(State::Dead),
        attempts,
        requests,
        effects: effects.len(),
        seconds: elapsed.as_secs_f64(),
        clean: verdict.is_clean(),
        verdict,
        crms: vec![],
    })
}

/// What a request that took effect told the receiver.
fn effect(request: &Received) -> Fact {
    let text = |value: Option<&str>| value.unwrap_or_default().to_owned();
    Fact {
        id: Id {
            topic: text(request.topic()),
            row_key: text(request.row_key()),
            row_version: request.row_version().and_then(|version| version.parse().ok()),
        },
        payload: String::from_utf8_lossy(request.body.as_deref().unwrap_or_default()).into_owned(),
    }
}
