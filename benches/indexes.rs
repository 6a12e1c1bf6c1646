//! What the indexes that only people's questions need cost the drain.
//!
//! ```text
//! cargo bench --bench indexes                       100,000 rows a turn, PostgreSQL and SQLite
//! cargo bench --bench indexes -- --backend postgres --rows 20000 --rounds 5
//! ```
//!
//! The hot path needs the primary keys and `outbox_row`. `settled_trouble` is for lists, counts and replays of what is dead or
//! uncertain. A relay drains a backlog with that index and without it, in turns, since machines are noisy: once where every
//! row is accepted, which never enters the index, and once where every row is refused, which always does.

#[path = "drain/mod.rs"]
#[expect(
    dead_code,
    unused_imports,
    reason = "other benchmarks use what this one does not"
)]
mod drain;

use std::time::Duration;

use drain::base::{Backend, Base, Rows};
use drain::child::Process;
use drain::figures::median;
use drain::meter::now;
use drain::receiver::Receiver;
use drain::relay::{Hook, config};
use drain::role::{self, Role};

/// Indexes that no statement of the hot path uses.
const OF_VIEWS: [&str; 1] = ["settled_trouble"];

/// What the receiver does with every row, and its rules for that.
const ANSWERS: [(&str, &str); 2] = [("accepted", ""), ("refused", "fail=400")];

/// What the command line asks for.
#[derive(Debug, clap::Parser)]
struct Options {
    /// Rows that wait in each turn.
    #[arg(long, default_value_t = 100_000)]
    rows: u64,
    /// Rounds, in each of which a turn with and one without the indexes are taken.
    #[arg(long, default_value_t = 5)]
    rounds: u32,
    /// `postgres`, `sqlite`, or both if absent.
    #[arg(long)]
    backend: Option<Backend>,
    #[command(flatten)]
    role: Role,
}

/// Whether the indexes are there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Indexes {
    Kept,
    Dropped,
}

fn main() -> anyhow::Result<()> {
    let options = <Options as clap::Parser>::parse();
    role::play(&options.role, measure(&options))
}

async fn measure(options: &Options) -> anyhow::Result<()> {
    let backends = Backend::asked_for(options.backend);
    for backend in backends {
        for (answer, rules) in ANSWERS {
            let (mut shares, mut kept) = (vec![], vec![]);
            for _ in 0..options.rounds {
                let without = turn(backend, rules, options.rows, Indexes::Dropped).await?;
                let with = turn(backend, rules, options.rows, Indexes::Kept).await?;
                shares.push(with / without);
                kept.push(with);
            }
            println!(
                "{}, every row {answer}: {:.0} rows/s, {:.2} of what it is without the indexes",
                backend.name(),
                median(kept.into_iter()),
                median(shares.into_iter())
            );
        }
    }
    Ok(())
}

/// Rows a second.
#[expect(clippy::cast_precision_loss, reason = "figures for people")]
async fn turn(backend: Backend, rules: &str, rows: u64, indexes: Indexes) -> anyhow::Result<f64> {
    let receiver = Receiver::start(rules)?;
    let base = Base::new(backend).await?;
    let hook = Hook {
        name: "hook".to_owned(),
        url: receiver.url().to_owned(),
        options: String::new(),
    };
    let config = base.apply(&config(base.url(), &[hook])).await?;
    if indexes == Indexes::Dropped {
        let schema = if base.server().is_some() {
            "aftercommit."
        } else {
            ""
        };
        for index in OF_VIEWS {
            base.execute(&format!("drop index {schema}{index}")).await?;
        }
    }
    let wait = Rows {
        from: 1,
        count: rows,
        bytes: 200,
        large: 0,
    };
    base.fill("hook", wait).await?;
    let mut relay = Process::again(&["--relay", &config.display().to_string()])?;
    let start = now();
    relay.begin()?;
    let mut looks = tokio::time::interval(Duration::from_millis(20));
    while receiver.requests().await? < rows {
        looks.tick().await;
    }
    Ok(rows as f64 / start.elapsed().as_secs_f64())
}
