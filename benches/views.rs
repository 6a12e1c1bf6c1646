//! How long lists and views take over five million deliveries, through the admin API (PostgreSQL).
//!
//! ```text
//! cargo bench --bench views
//! cargo bench --bench views -- --rows 200000 --rounds 20
//! ```
//!
//! Of the deliveries, one in fifty is dead, one in a hundred uncertain, one in twenty owed, for eight reasons and to four
//! destinations; every one of them that has ended has an attempt on record. Each path is asked in turn, and the median and
//! the longest answer are printed.

#[path = "drain/mod.rs"]
#[expect(
    dead_code,
    unused_imports,
    reason = "other benchmarks use what this one does not"
)]
mod drain;

mod views {
    pub(crate) mod asked;
    pub(crate) mod seed;
}

use drain::base::{Backend, Base};
use drain::role::{self, Role};

/// What the command line asks for.
#[derive(Debug, clap::Parser)]
struct Options {
    /// Deliveries.
    #[arg(long, default_value_t = 5_000_000)]
    rows: u64,
    /// How often each path is asked.
    #[arg(long, default_value_t = 15)]
    rounds: usize,
    #[command(flatten)]
    role: Role,
}

fn main() -> anyhow::Result<()> {
    let options = <Options as clap::Parser>::parse();
    role::play(&options.role, measure(&options))
}

async fn measure(options: &Options) -> anyhow::Result<()> {
    let base = Base::new(Backend::Postgres).await?;
    views::seed::fill(&base, options.rows).await?;
    views::asked::run(&base, options.rows, options.rounds).await
}
