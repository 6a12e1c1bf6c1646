//! Which of the processes of a benchmark this one is.

use std::path::PathBuf;

use tokio::runtime;

use super::{receiver, relay};

/// As in the program itself.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How a benchmark starts itself again.
#[derive(Debug, clap::Args)]
pub(crate) struct Role {
    /// Be the receiver.
    #[arg(long, hide = true)]
    receiver: bool,
    /// How the receiver misbehaves.
    #[arg(long, hide = true, default_value = "")]
    faults: String,
    /// Be the relay, with this configuration.
    #[arg(long, hide = true)]
    relay: Option<PathBuf>,
    /// Cargo passes it.
    #[arg(long, hide = true)]
    bench: bool,
}

/// Is the receiver or the relay if this process was started as one, else measures, on one thread.
pub(crate) fn play(role: &Role, measure: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<()> {
    let filter = tracing_subscriber::EnvFilter::from_env("AFTERCOMMIT_LOG");
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .init();
    if role.receiver {
        let one_thread = runtime::Builder::new_current_thread().enable_all().build()?;
        return one_thread.block_on(receiver::serve(&role.faults));
    }
    if let Some(config) = &role.relay {
        return aftercommit::cli::runtime()?.block_on(relay::serve(config));
    }
    let one_thread = runtime::Builder::new_current_thread().enable_all().build()?;
    one_thread.block_on(measure)
}
