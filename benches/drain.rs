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

#[path = "drain/mod.rs"]
#[expect(
    dead_code,
    unused_imports,
    reason = "other benchmarks use what this one does not"
)]
mod drain;

use drain::base::{Backend, Rows};
use drain::figures::Summary;
use drain::meter::Turn;
use drain::receiver::Receiver;
use drain::relayed::{Holder, Work};
use drain::role::{self, Role};
use drain::{bare, fetch, relayed};

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
    #[command(flatten)]
    role: Role,
}

fn main() -> anyhow::Result<()> {
    let options = <Options as clap::Parser>::parse();
    role::play(&options.role, measure(&options))
}

async fn measure(options: &Options) -> anyhow::Result<()> {
    let backends = Backend::asked_for(options.backend);
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
            let (limit, relay) = round(options, backend).await?;
            summary.add(backend, limit, relay);
        }
    }
    if options.json {
        summary.print_json();
    } else {
        summary.print_table();
    }
    Ok(())
}

/// A turn of the loop, and one of the relay.
async fn round(options: &Options, backend: Backend) -> anyhow::Result<(Turn, Turn)> {
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
    Ok((limit, relay))
}
