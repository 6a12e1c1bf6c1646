//! How fast a backlog drains, beside a loop that sends the same requests with the same client and no database.
//!
//! ```text
//! cargo bench --bench drain                        20,000 rows of 500 bytes, PostgreSQL and SQLite, five rounds
//! cargo bench --bench drain -- --json
//! cargo bench --bench drain -- --backend postgres --rounds 1 --rows 1000000 --snapshot --other-write
//! cargo bench --bench drain -- --backend postgres --rounds 1 --rows 10000000 --large 1000
//! cargo bench --bench drain -- --backend postgres --fetch
//! ```
//!
//! Loop and relay take turns in one run, since machines are noisy: read the ratio and the CPU, not the rows/s. Relay
//! and receiver are processes of their own. The relay is the full product on the runtime of `aftercommit run`: signed
//! requests, attempts on record before they are sent, an attempt row each, fences; the database syncs each commit to
//! disk. The loop has one thread. CPU and log are counted until the last outcome is settled.

/// As in the program itself.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[path = "../tests/it/postgres/mod.rs"]
#[expect(
    dead_code,
    unused_imports,
    reason = "the tests use what this benchmark does not"
)]
mod postgres;

mod drain {
    pub(crate) mod bare;
    pub(crate) mod base;
    pub(crate) mod child;
    pub(crate) mod fetch;
    pub(crate) mod figures;
    pub(crate) mod meter;
    pub(crate) mod receiver;
    pub(crate) mod relay;
    pub(crate) mod relayed;
}

use std::path::PathBuf;

use drain::base::{Backend, Rows};
use drain::figures::{Round, Summary};
use drain::receiver::{self, Receiver};
use drain::relayed::{Holder, Work};
use drain::{bare, fetch, relay, relayed};
use tokio::runtime;

/// What the command line asks for.
#[derive(Debug, clap::Parser)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of the command line"
)]
struct Options {
    /// Rows to drain in each round.
    #[arg(long, default_value_t = 20_000)]
    rows: u64,
    /// Bytes of payload of each row.
    #[arg(long, default_value_t = 500)]
    bytes: usize,
    /// So many of the rows are of 1 MiB instead.
    #[arg(long, default_value_t = 0)]
    large: u64,
    /// Rounds; loop and relay take turns.
    #[arg(long, default_value_t = 5)]
    rounds: u32,
    /// Requests in flight.
    #[arg(long, default_value_t = 64)]
    concurrency: usize,
    /// `postgres`, `sqlite`, or both if absent.
    #[arg(long)]
    backend: Option<Backend>,
    /// Hold a snapshot open in the same database throughout.
    #[arg(long)]
    snapshot: bool,
    /// Hold a transaction that has written open in another database of the server.
    #[arg(long)]
    other_write: bool,
    /// Time single fetches at growing backlogs instead.
    #[arg(long)]
    fetch: bool,
    /// One JSON object in place of the table.
    #[arg(long)]
    json: bool,
    /// Be the receiver (how this program starts its own).
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

fn main() -> anyhow::Result<()> {
    let options = <Options as clap::Parser>::parse();
    let filter = tracing_subscriber::EnvFilter::from_env("AFTERCOMMIT_LOG");
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .init();
    if options.receiver {
        let one_thread = runtime::Builder::new_current_thread().enable_all().build()?;
        return one_thread.block_on(receiver::serve(&options.faults));
    }
    if let Some(config) = &options.relay {
        return aftercommit::cli::runtime()?.block_on(relay::serve(config));
    }
    let one_thread = runtime::Builder::new_current_thread().enable_all().build()?;
    one_thread.block_on(measure(&options))
}

async fn measure(options: &Options) -> anyhow::Result<()> {
    let backends = match options.backend {
        Some(backend) => vec![backend],
        None => vec![Backend::Postgres, Backend::Sqlite],
    };
    if options.fetch {
        for backend in backends {
            println!("{}", backend.name());
            fetch::run(backend, options.bytes).await?;
        }
        return Ok(());
    }
    let mut summary = Summary::default();
    for backend in backends {
        for _ in 0..options.rounds {
            summary.add(backend, round(options, backend).await?);
        }
    }
    if options.json {
        summary.print_json();
    } else {
        summary.print_table();
    }
    Ok(())
}

async fn round(options: &Options, backend: Backend) -> anyhow::Result<Round> {
    let receiver = Receiver::start("")?;
    let limit = bare::run(&receiver, options.rows, options.bytes, options.concurrency).await?;
    receiver.reset().await?;
    let holders = [
        (options.snapshot, Holder::Snapshot),
        (options.other_write, Holder::OtherWrite),
    ];
    let work = Work {
        backend,
        rows: Rows {
            from: 1,
            count: options.rows,
            bytes: options.bytes,
            large: options.large,
        },
        concurrency: options.concurrency,
        holders: holders
            .into_iter()
            .filter(|(asked, _)| *asked)
            .map(|(_, holder)| holder)
            .collect(),
    };
    let relay = relayed::run(&work, &receiver).await?;
    Ok(Round { limit, relay })
}
