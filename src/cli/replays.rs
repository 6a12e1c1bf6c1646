//! `aftercommit replays`: the jobs that make deliveries due again, the newest first.

use super::database;
use super::exit::Exit;
use super::output::OutputArgs;
use super::settings::Settings;
use super::{table, times};
use crate::core::time::Timestamp;
use crate::store::admin::{PageSize, Replay, ReplayPage, ReplayState};

#[derive(clap::Args)]
pub(super) struct Replays {
    /// Their state: running, paused, done or cancelled
    #[arg(long)]
    state: Option<ReplayState>,

    /// How many at most
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,

    /// Where an earlier list ended
    #[arg(long, value_name = "NUMBER")]
    after: Option<i64>,

    #[command(flatten)]
    output: OutputArgs,
}

pub(super) async fn run(verb: &Replays, settings: &Settings) -> anyhow::Result<Exit> {
    let desk = database::desk(settings).await?;
    let size = PageSize::new(verb.limit)?;
    let page = desk.store.replays(verb.state, verb.after, size).await?;
    let now = desk.store.now().await?;
    verb.output.open().print(&page, |page| text(page, now))?;
    Ok(Exit::Done)
}

fn text(page: &ReplayPage, now: Timestamp) -> String {
    if page.replays.is_empty() {
        return "no such replays".to_owned();
    }
    let header = [
        "REPLAY",
        "STATE",
        "DUE AGAIN",
        "LEFT ALONE",
        "SKIPPED",
        "KEY",
        "RATE",
        "ASKED FOR",
        "WHY",
    ];
    let row = |replay: &Replay| {
        let rate = replay.request.rate;
        [
            replay.id.to_string(),
            progress(replay),
            replay.requeued.to_string(),
            (replay.left_alone + replay.in_flight).to_string(),
            replay.skipped.to_string(),
            replay.request.key.as_str().to_owned(),
            rate.map_or_else(|| "-".to_owned(), |rate| format!("{}/s", rate.get())),
            times::at(replay.created_at, now),
            format!("{}: {}", replay.requested_by, replay.reason),
        ]
    };
    let mut table = table::table(header, page.replays.iter().map(row));
    table::align_right(&mut table, [0, 2, 3, 4]);
    match page.next {
        Some(next) => format!("{}\n\nmore with --after {next}", table.trim_fmt()),
        None => table.trim_fmt(),
    }
}

/// The state, and how far it has come through the ids that are its concern.
fn progress(replay: &Replay) -> String {
    match replay.state {
        ReplayState::Running | ReplayState::Paused if replay.last_outbox_id > 0 => format!(
            "{} at {}%",
            replay.state.as_str(),
            replay.at_outbox_id.saturating_mul(100) / replay.last_outbox_id
        ),
        state => state.as_str().to_owned(),
    }
}
