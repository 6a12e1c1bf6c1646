//! `aftercommit replay`: makes deliveries that have ended due again.
//!
//! The request becomes a durable job. A relay works it off; with `--wait` this process does, so that no relay is needed.

use super::act::act;
use super::database;
use super::exit::{Exit, Problem};
use super::list;
use super::output::{Output, OutputArgs};
use super::progress::Progress;
use super::selection::SelectionArgs;
use super::settings::Settings;
use super::words::counted;
use crate::store::admin::{
    AdminStore, Created, DryRun, KeyMode, Replay, ReplayRequest, ReplayState, StaleRows,
};
use crate::store::{SqlStore, Store as _};

/// Deliveries that one step looks at.
const STEP: u32 = 1_000;

/// Of one, and of many.
const OVERTAKEN: (&str, &str) = (
    "was overtaken by a newer version",
    "were overtaken by a newer version",
);

#[derive(clap::Args)]
pub(super) struct ReplayVerb {
    #[command(flatten)]
    selection: SelectionArgs,

    /// same: a receiver that honours keys does nothing for what it has done already; new: it does it once more
    #[arg(long, value_name = "same|new", default_value = "same")]
    key: KeyMode,

    /// Also send versions of a row that a newer one has overtaken
    #[arg(long)]
    force: bool,

    /// Only say what would be replayed
    #[arg(long)]
    dry_run: bool,

    /// Work the replay off here, and end when that is done
    #[arg(long, conflicts_with = "dry_run")]
    wait: bool,

    /// Why; goes on record. Needed without --dry-run
    #[arg(long, value_name = "TEXT", required_unless_present = "dry_run")]
    reason: Option<String>,

    #[command(flatten)]
    output: OutputArgs,
}

pub(super) async fn run(verb: &ReplayVerb, settings: &Settings) -> anyhow::Result<Exit> {
    let desk = database::desk(settings).await?;
    let store = &desk.store;
    let request = ReplayRequest {
        selection: verb.selection.read(&desk).await?,
        key: verb.key,
        stale: if verb.force {
            StaleRows::Force
        } else {
            StaleRows::Skip
        },
    };
    let mut output = verb.output.open();
    if verb.dry_run {
        return print_dry_run(store, &request, &mut output).await;
    }
    let act = act(verb.reason.as_deref().unwrap_or_default())?;
    let created = match store.create_replay(&request, None, &act).await? {
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
    output.print(&replay, text)?;
    Ok(match replay.state {
        ReplayState::Running | ReplayState::Done => Exit::Done,
        ReplayState::Cancelled => Exit::Failed,
    })
}

/// Takes steps until this replay has ended. Older ones come first; relays that do the same do not get in the way.
async fn work_off(store: &AdminStore, mut replay: Replay) -> anyhow::Result<Replay> {
    let steps = SqlStore::new(store.database().clone());
    let progress = Progress::of(
        u64::try_from(replay.last_outbox_id).unwrap_or(0),
        "rows looked at",
    );
    // Nothing looked at: no replay runs any more, this one included.
    while steps.advance_replays(STEP).await? > 0 {
        replay = store.replay(replay.id).await?;
        progress.at(replay.requeued + replay.left_alone + replay.skipped);
        if replay.state != ReplayState::Running {
            break;
        }
    }
    replay = store.replay(replay.id).await?;
    progress.done();
    Ok(replay)
}

async fn print_dry_run(
    store: &AdminStore,
    request: &ReplayRequest,
    output: &mut Output,
) -> anyhow::Result<Exit> {
    let dry_run = store.dry_run(request).await?;
    let now = store.now().await?;
    output.print(&dry_run, |dry_run| {
        let DryRun {
            matched,
            requeued,
            left_alone,
            skipped,
            by_state,
            sample,
        } = dry_run;
        let by_state: Vec<String> = by_state
            .iter()
            .map(|(state, count)| format!("{count} {state}"))
            .collect();
        let by_state = if by_state.is_empty() {
            String::new()
        } else {
            format!(" ({})", by_state.join(", "))
        };
        let mut text = format!(
            "{}{by_state}: {requeued} would be sent again, {}, {}",
            counted(*matched, "matches", "match"),
            counted(*left_alone, "is owed already", "are owed already"),
            counted(*skipped, OVERTAKEN.0, OVERTAKEN.1)
        );
        if !sample.is_empty() {
            text.push_str("\n\n");
            text.push_str(&list::deliveries(sample, now));
        }
        text
    })?;
    Ok(Exit::Done)
}

/// A replay in a sentence.
pub(super) fn text(replay: &Replay) -> String {
    let Replay {
        id,
        requeued,
        left_alone,
        skipped,
        ..
    } = replay;
    let due = counted(*requeued, "is due again", "are due again");
    let others = format!(
        "{}, {}",
        counted(*left_alone, "was owed already", "were owed already"),
        counted(*skipped, OVERTAKEN.0, OVERTAKEN.1)
    );
    match replay.state {
        ReplayState::Running => {
            format!("replay {id} runs: a relay works it off, or `--wait` does; {due}, {others}")
        }
        ReplayState::Done if *requeued > 0 => format!(
            "replay {id} is done: {due}; the relay sends now what is due, `aftercommit list` shows what became of it\n\
             {others}"
        ),
        ReplayState::Done => format!("replay {id} is done: {due}, {others}"),
        ReplayState::Cancelled => format!("replay {id} was cancelled: {due}, {others}"),
    }
}
