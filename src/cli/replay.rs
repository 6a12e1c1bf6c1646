//! `aftercommit replay`: makes deliveries that have ended due again, or due where a destination never had them.
//!
//! The request becomes a durable job. A relay works it off; with `--wait` this process does, so that no relay is needed.

use super::act::DryReasonArgs;
use super::database::{self, Desk};
use super::exit::{Exit, Problem};
use super::output::OutputArgs;
use super::progress::Progress;
use super::replay_text;
use super::selection::SelectionArgs;
use super::settings::Settings;
use crate::clock::{Clock as _, SystemClock};
use crate::relay::{REPLAY_STEP, after_replay_step};
use crate::store::admin::{
    AdminStore, Created, KeyMode, Replay, ReplayRate, ReplayRequest, ReplaySelection, ReplayState, StaleRows,
};
use crate::store::{Backfill, SqlStore, Store as _};

#[derive(clap::Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of the command line"
)]
pub(super) struct ReplayVerb {
    #[command(flatten)]
    selection: SelectionArgs,

    /// Rows that --destination never had: it is new, or their topic was not routed to it
    #[arg(long, conflicts_with_all = ["ids", "all", "state", "because", "http_status"])]
    missing: bool,

    /// With --missing: of state topics the newest version of each row, or every version
    #[arg(
        long,
        value_name = "newest|all",
        default_value = "newest",
        requires = "missing"
    )]
    versions: Backfill,

    /// same: a receiver that honours keys does nothing for what it has done already; new: it does it once more
    #[arg(long, value_name = "same|new", default_value = "same")]
    key: KeyMode,

    /// Also send versions of a row that a newer one has overtaken
    #[arg(long)]
    force: bool,

    /// Make so many due in a second at most
    #[arg(long, value_name = "DELIVERIES")]
    rate: Option<ReplayRate>,

    /// Only say what would be replayed, and how long that takes
    #[arg(long)]
    dry_run: bool,

    /// Work the replay off here, and end when that is done
    #[arg(long, conflicts_with = "dry_run")]
    wait: bool,

    #[command(flatten)]
    reason: DryReasonArgs,

    #[command(flatten)]
    output: OutputArgs,
}

pub(super) async fn run(verb: &ReplayVerb, settings: &Settings) -> anyhow::Result<Exit> {
    let desk = database::desk(settings).await?;
    let store = &desk.store;
    let request = ReplayRequest {
        selection: verb.selection(&desk).await?,
        key: verb.key,
        stale: if verb.force {
            StaleRows::Force
        } else {
            StaleRows::Skip
        },
        rate: verb.rate,
    };
    let mut output = verb.output.open();
    if verb.dry_run {
        let dry_run = store.dry_run(&request).await?;
        let now = store.now().await?;
        output.print(&dry_run, |dry_run| replay_text::dry_run(dry_run, now))?;
        return Ok(Exit::Done);
    }
    let created = match store.create_replay(&request, None, &verb.reason.act()?).await? {
        Created::New(replay) | Created::Existing(replay) => replay,
        // Only a request with a key of its own can meet another.
        Created::Conflict(id) => {
            return Err(Problem::Failed(format!("another request made replay {id}")).into());
        }
    };
    let replay = if verb.wait {
        work_off(store, created).await?
    } else {
        created
    };
    output.print(&replay, replay_text::replay)?;
    Ok(match replay.state {
        ReplayState::Running | ReplayState::Paused | ReplayState::Done => Exit::Done,
        ReplayState::Cancelled => Exit::Failed,
    })
}

impl ReplayVerb {
    async fn selection(&self, desk: &Desk) -> anyhow::Result<ReplaySelection> {
        if !self.missing {
            return Ok(self.selection.read(desk).await?.into());
        }
        Ok(self.selection.missing(desk, self.versions).await?.into())
    }
}

/// Takes steps until this replay has ended or is paused. Older ones come first; relays that do the same do not get in the way.
async fn work_off(store: &AdminStore, mut replay: Replay) -> anyhow::Result<Replay> {
    let steps = SqlStore::new(store.database().clone());
    let clock = SystemClock::start();
    let progress = Progress::of(
        u64::try_from(replay.last_outbox_id).unwrap_or(0),
        "rows looked at",
    );
    while replay.state == ReplayState::Running {
        let started = clock.monotonic();
        let advanced = steps.advance_replays(REPLAY_STEP).await?;
        let took = clock.monotonic().saturating_sub(started);
        match advanced.next_in {
            // Its rate, or that of another one, lets none go on before.
            Some(wait) => tokio::time::sleep(wait).await,
            // No replay runs any more, this one included.
            None if advanced.looked_at == 0 => break,
            None => tokio::time::sleep(after_replay_step(took)).await,
        }
        replay = store.replay(replay.id).await?;
        progress.at(u64::try_from(replay.at_outbox_id).unwrap_or(0));
    }
    replay = store.replay(replay.id).await?;
    progress.done();
    Ok(replay)
}
