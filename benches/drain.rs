//! How fast a backlog drains, beside a loop that sends the same requests with the same client and no database.
//!
//! ```text
//! cargo bench --bench drain                        20,000 rows of 500 bytes, PostgreSQL and SQLite
//! cargo bench --bench drain -- --rows 1000000 --rounds 1 --backend postgres
//! cargo bench --bench drain -- --json
//! ```
//!
//! Loop and relay take turns in one run, since machines are noisy: read the ratio, not the rows/s. The receiver is a
//! process of its own. The relay is the full product: signed requests, attempts on record before they are sent, an
//! attempt row each, fences; the database syncs each commit to disk.

#[path = "../tests/it/postgres/mod.rs"]
#[expect(
    dead_code,
    unused_imports,
    reason = "the tests use what this benchmark does not"
)]
mod postgres;

mod drain {
    pub(crate) mod bare;
    pub(crate) mod figures;
    pub(crate) mod receiver;
    pub(crate) mod relayed;
}

use drain::figures::{Figures, Summary};
use drain::{bare, receiver, relayed};

/// What the command line asks for.
#[derive(Debug, clap::Parser)]
struct Options {
    /// Rows to drain in each round.
    #[arg(long, default_value_t = 20_000)]
    rows: u64,
    /// Bytes of payload of each row.
    #[arg(long, default_value_t = 500)]
    bytes: usize,
    /// Rounds; loop and relay take turns.
    #[arg(long, default_value_t = 5)]
    rounds: u32,
    /// Requests in flight.
    #[arg(long, default_value_t = 64)]
    concurrency: usize,
    /// `postgres`, `sqlite`, or both if absent.
    #[arg(long)]
    backend: Option<relayed::Backend>,
    /// One JSON object in place of the table.
    #[arg(long)]
    json: bool,
    /// Be the receiver (how this program starts its own).
    #[arg(long, hide = true)]
    receiver: bool,
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
    if options.receiver {
        return runtime.block_on(receiver::serve());
    }
    runtime.block_on(measure(&options))
}

async fn measure(options: &Options) -> anyhow::Result<()> {
    let backends = match options.backend {
        Some(backend) => vec![backend],
        None => vec![relayed::Backend::Postgres, relayed::Backend::Sqlite],
    };
    let mut summary = Summary::default();
    for backend in backends {
        for _ in 0..options.rounds {
            let mut receiver = receiver::Process::start()?;
            let limit = bare::run(&receiver, options.rows, options.bytes, options.concurrency).await?;
            receiver.reset().await?;
            let relay = relayed::run(
                backend,
                &receiver,
                options.rows,
                options.bytes,
                options.concurrency,
            )
            .await?;
            anyhow::ensure!(
                receiver.unique_keys().await? == options.rows,
                "not every row arrived"
            );
            receiver.stop();
            summary.add(backend, Figures { limit, relay });
        }
    }
    if options.json {
        summary.print_json();
    } else {
        summary.print_table();
    }
    Ok(())
}
