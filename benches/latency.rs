//! How soon a committed row arrives, what a relay costs that has nothing to do, and what its wake-up costs producers.
//!
//! ```text
//! cargo bench --bench latency                      200 rows a second, PostgreSQL and SQLite
//! cargo bench --bench latency -- --backend postgres --rate 1000 --producers 4
//! cargo bench --bench latency -- --json
//! ```
//!
//! A row is timed from the moment its commit was acknowledged to the first byte of its request at the receiver, both
//! in this process and by its one clock. Every figure is the median of the rounds. The database syncs each commit to disk.

#[path = "../tests/it/postgres/mod.rs"]
#[expect(
    dead_code,
    unused_imports,
    reason = "the tests use what this benchmark does not"
)]
mod postgres;

mod latency {
    pub(crate) mod cpu;
    pub(crate) mod figures;
    pub(crate) mod place;
    pub(crate) mod producers;
    pub(crate) mod receiver;
    pub(crate) mod turns;
}

use aftercommit::config::WakeupMode;
use latency::figures::{Round, Summary};
use latency::place::Backend;
use latency::turns;

/// Synced to disk, otherwise as a default installation.
const SYNCED: &str = "fsync = on\nfull_page_writes = on\nshared_buffers = 256MB\nmax_wal_size = 4GB\n";

/// What the command line asks for.
#[derive(Debug, clap::Parser)]
pub(crate) struct Options {
    /// Rows committed a second, each in a transaction of its own.
    #[arg(long, default_value_t = 200)]
    pub(crate) rate: u32,
    /// Seconds of each turn.
    #[arg(long, default_value_t = 5)]
    pub(crate) seconds: u32,
    /// Connections that share the rate.
    #[arg(long, default_value_t = 1)]
    pub(crate) producers: u32,
    /// Connections that commit as fast as they can, to see what the wake-up costs them (PostgreSQL).
    #[arg(long, default_value_t = 32)]
    pub(crate) crowd: u32,
    /// Rounds; a crowd beside a relay that is woken and beside one that polls take turns.
    #[arg(long, default_value_t = 3)]
    pub(crate) rounds: u32,
    /// `postgres`, `sqlite`, or both if absent.
    #[arg(long)]
    pub(crate) backend: Option<Backend>,
    /// Lines of `postgresql.conf`: with `fsync = off` the disk has no part in it.
    #[arg(long, default_value = SYNCED)]
    pub(crate) settings: String,
    /// One JSON object in place of the table.
    #[arg(long)]
    pub(crate) json: bool,
    /// Cargo passes it.
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> anyhow::Result<()> {
    let options = <Options as clap::Parser>::parse();
    let filter = tracing_subscriber::EnvFilter::from_env("AFTERCOMMIT_LOG");
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .init();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.block_on(measure(&options))
}

async fn measure(options: &Options) -> anyhow::Result<()> {
    let backends = match options.backend {
        Some(backend) => vec![backend],
        None => vec![Backend::Postgres, Backend::Sqlite],
    };
    let mut summary = Summary::default();
    for backend in backends {
        for _ in 0..options.rounds {
            let arrivals = turns::arrivals(backend, options).await?;
            let idle = turns::idle(backend, options).await?;
            let crowds = if backend == Backend::Postgres {
                let woken = turns::crowd(options, WakeupMode::Notify).await?;
                Some((woken, turns::crowd(options, WakeupMode::Poll).await?))
            } else {
                None
            };
            summary.add(
                backend,
                Round {
                    arrivals,
                    idle,
                    crowds,
                },
            );
        }
    }
    if options.json {
        summary.print_json();
    } else {
        summary.print_table();
    }
    Ok(())
}
