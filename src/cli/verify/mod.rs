//! `aftercommit verify`: a user's own pipeline, and whether it may be killed, run again and come late.

mod text;

use std::ffi::OsString;
use std::time::Duration;

use jiff::SignedDuration;
use tokio_util::sync::CancellationToken;

use super::database;
use super::exit::Exit;
use super::output::OutputArgs;
use super::progress;
use super::settings::Settings;
use super::signals::Signals;
use crate::clock::SystemClock;
use crate::store::MissingFile;
use crate::verify::{self, Plan, Surroundings};

/// What stands below the options.
pub(super) const AFTER_HELP: &str = "\
The pipeline is run several times, some of them killed with SIGKILL; nobody else may write to the
topic meanwhile. Nothing is written to the database but by the pipeline. If verify itself is killed
with SIGKILL, the pipeline may run on, and a folder `aftercommit-verify-…` may be left in the
temporary directory.

Exit code 0 only if every test has passed. A test that is not proven has not.

Examples:
  aftercommit verify --topic customers -- dbt run --select customers
  aftercommit verify --topic orders --reset 'dropdb work; createdb work -T work_before' -- python load.py 2026-11-30";

#[derive(clap::Args)]
pub(super) struct Verify {
    /// The topic to which the pipeline writes
    #[arg(long)]
    topic: String,

    /// A command for `sh -c` that restores the state before the pipeline ran, of the outbox too: then a clean run is known,
    /// and kills are spread over it
    #[arg(long, value_name = "COMMAND")]
    reset: Option<String>,

    /// How many runs are killed at most
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    kills: u32,

    /// How long one run may take, such as 90s, 15m or 2h
    #[arg(long, default_value = "10m", value_name = "TIME", value_parser = time)]
    timeout: Duration,

    #[command(flatten)]
    output: OutputArgs,

    /// The pipeline and its arguments
    #[arg(last = true, required = true, value_name = "PIPELINE")]
    pipeline: Vec<OsString>,
}

pub(super) async fn run(verb: Verify, settings: &Settings) -> anyhow::Result<Exit> {
    let mut signals = Signals::listen()?;
    let config = settings.read()?;
    let stop = CancellationToken::new();
    let plan = Plan {
        topic: verb.topic,
        pipeline: verb.pipeline,
        reset: verb.reset,
        kills: verb.kills,
        timeout: verb.timeout,
    };
    let around = Surroundings {
        connect: &|| database::connect(&config, MissingFile::Refuse),
        clock: &SystemClock::start(),
        stop: stop.clone(),
        say: &progress::say,
    };
    let verifying = verify::verify(&plan, around);
    tokio::pin!(verifying);
    let report = loop {
        tokio::select! {
            report = &mut verifying => break report,
            // It kills what runs and comes back.
            () = signals.stop(), if !stop.is_cancelled() => stop.cancel(),
        }
    };
    let report = report.inspect_err(|error| {
        if let Some(output) = error.output() {
            progress::say(output);
        }
    })?;
    verb.output.open().print(&report, text::of)?;
    Ok(if report.passed { Exit::Done } else { Exit::Failed })
}

fn time(text: &str) -> Result<Duration, String> {
    let time = text.parse::<SignedDuration>().ok();
    let time = time
        .and_then(|time| Duration::try_from(time).ok())
        .filter(|time| !time.is_zero());
    time.ok_or_else(|| "write a time with its unit, such as 90s, 15m or 2h".to_owned())
}
