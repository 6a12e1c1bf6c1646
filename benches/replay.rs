//! How fast a replay makes deliveries due again, and what that costs the others.
//!
//! ```text
//! cargo bench --bench replay                        1,000,000 deliveries, PostgreSQL and SQLite
//! cargo bench --bench replay -- --backend postgres --rows 200000 --rounds 5
//! ```
//!
//! *Alone*: a relay that has nothing else to do. *Beside*: a relay drains a
//! backlog for one destination; in every other turn it works off a replay meanwhile, of another destination, which is paused,
//! so that what becomes due stays there. Turns alternate, since machines are noisy: read the ratio.

#[path = "drain/mod.rs"]
#[expect(
    dead_code,
    unused_imports,
    reason = "other benchmarks use what this one does not"
)]
mod drain;

mod replay {
    pub(crate) mod alone;
    pub(crate) mod beside;
    pub(crate) mod place;
}

use drain::base::Backend;
use drain::role::{self, Role};
use replay::{alone, beside};

/// What the command line asks for.
#[derive(Debug, clap::Parser)]
struct Options {
    /// Deliveries that have ended, and are replayed.
    #[arg(long, default_value_t = 1_000_000)]
    rows: u64,
    /// Rows that wait for the other destination in each turn.
    #[arg(long, default_value_t = 100_000)]
    drained: u64,
    /// Rounds, in each of which a turn without a replay and one beside it are taken.
    #[arg(long, default_value_t = 3)]
    rounds: u32,
    /// `postgres`, `sqlite`, or both if absent.
    #[arg(long)]
    backend: Option<Backend>,
    #[command(flatten)]
    role: Role,
}

fn main() -> anyhow::Result<()> {
    let options = <Options as clap::Parser>::parse();
    role::play(&options.role, measure(&options))
}

async fn measure(options: &Options) -> anyhow::Result<()> {
    let backends = Backend::asked_for(options.backend);
    for backend in backends {
        println!("{}", backend.name());
        alone::run(backend, options.rows).await?;
        beside::run(backend, options.rows, options.drained, options.rounds).await?;
    }
    Ok(())
}
