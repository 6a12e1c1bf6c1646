//! `aftercommit mock receiver`: a webhook receiver to try with, which can misbehave on demand.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::{Exit, OutputArgs, Problem, Signals};
use crate::mock::receiver::{self, Durability, JournalFile, ReceiverOptions, parse_rules};

/// What the receiver answers to, what can go wrong, and examples.
pub(super) fn help() -> String {
    format!(
        "It answers GET /journal, GET /effects, and takes GET, POST and DELETE at /faults.\n\n\
         Names of faults:\n  {}\n\n\
         Examples:\n  aftercommit mock receiver\n  \
         aftercommit mock receiver --faults fail=503:0.05,throttle=429/2:once,drop=once\n  \
         curl http://127.0.0.1:9400/journal",
        super::list_names(receiver::fault_names())
    )
}

#[derive(clap::Args)]
pub(super) struct ReceiverVerb {
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9400")]
    listen: SocketAddr,

    /// What goes wrong: NAME[=ARGUMENTS][:TIMES][@FIELD=VALUE], separated by commas
    #[arg(long, value_name = "RULES", default_value = "")]
    faults: String,

    /// Seeds the faults that happen by chance
    #[arg(long, default_value_t = 0)]
    seed: u64,

    /// The header that carries the idempotency key
    #[arg(long, value_name = "NAME", default_value = "idempotency-key")]
    key_header: String,

    /// Append every request to this file as a line of JSON; it holds what was sent, credentials included
    #[arg(long, value_name = "PATH")]
    journal: Option<PathBuf>,

    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Serialize)]
struct Listening {
    url: String,
}

pub(super) async fn run(verb: ReceiverVerb) -> anyhow::Result<Exit> {
    let mut signals = Signals::listen()?;
    let stop = CancellationToken::new();
    let mut output = verb.output.open();
    let mut printed = Ok(());
    let listening = |address: SocketAddr| {
        let url = format!("http://{address}/");
        printed = output.print(&Listening { url }, |listening| {
            format!("ready: the mock receiver listens at {}", listening.url)
        });
    };
    let ended = {
        let receiver = receiver::run(verb.options()?, stop.clone(), listening);
        tokio::pin!(receiver);
        tokio::select! {
            ended = &mut receiver => ended,
            () = signals.stop() => {
                stop.cancel();
                receiver.await
            }
        }
    };
    // Its message holds what the system said already.
    ended.map_err(|error| Problem::Failed(error.to_string()))?;
    printed?;
    Ok(Exit::Done)
}

impl ReceiverVerb {
    fn options(&self) -> Result<ReceiverOptions, Problem> {
        let script =
            parse_rules(&self.faults).map_err(|error| Problem::BadInput(format!("--faults: {error}")))?;
        let mut options = ReceiverOptions {
            listen: self.listen,
            key_header: self.key_header.clone(),
            script,
            seed: self.seed,
            ..ReceiverOptions::default()
        };
        options.journal.file = self.journal.clone().map(|path| JournalFile {
            path,
            durability: Durability::Process,
        });
        Ok(options)
    }
}
