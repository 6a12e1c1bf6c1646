//! Whether bad destinations are alone, and whether a long backlog is.
//!
//! ```text
//! cargo bench --bench fairness
//! cargo bench --bench fairness -- --backlog 1000000
//! ```
//!
//! *Sick*: rows wait for twenty destinations, of which one never answers, one answers 429, and one takes two seconds. What the
//! other seventeen reach is put beside two turns of the same rows: all twenty well, and nothing owed to those three.
//!
//! *Backlog*: one destination has a long backlog. Meanwhile single rows are committed for another, and the time from
//! commit to arrival is measured.

#[path = "drain/mod.rs"]
#[expect(
    dead_code,
    unused_imports,
    reason = "other benchmarks use what this one does not"
)]
mod drain;

mod fairness {
    pub(crate) mod backlog;
    pub(crate) mod sick;
}

use drain::base::Backend;
use drain::role::{self, Role};
use fairness::{backlog, sick};

/// What the command line asks for.
#[derive(Debug, clap::Parser)]
struct Options {
    /// `postgres` or `sqlite`.
    #[arg(long, default_value = "postgres")]
    backend: Backend,
    /// Rows that wait for each of the twenty.
    #[arg(long, default_value_t = 2_000)]
    rows: u64,
    /// Rounds, in each of which the three turns are taken.
    #[arg(long, default_value_t = 3)]
    rounds: u32,
    /// Rows that wait for the destination with a long backlog.
    #[arg(long, default_value_t = 100_000)]
    backlog: u64,
    #[command(flatten)]
    role: Role,
}

fn main() -> anyhow::Result<()> {
    let options = <Options as clap::Parser>::parse();
    role::play(&options.role, measure(&options))
}

async fn measure(options: &Options) -> anyhow::Result<()> {
    sick::run(options.backend, options.rows, options.rounds).await?;
    backlog::run(options.backend, options.backlog).await
}
