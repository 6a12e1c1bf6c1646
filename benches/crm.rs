//! How fast rows become records at a CRM, beside a loop that sends the very same requests with no database.
//!
//! ```text
//! cargo bench --bench crm                                  50,000 rows to each mock, PostgreSQL and SQLite, three rounds
//! cargo bench --bench crm -- --json
//! cargo bench --bench crm -- --crm hubspot --backend postgres --rounds 1 --rows 10000 --delays 0,500
//! ```
//!
//! The mock answers 200 records within two milliseconds, where no row could be recorded durably in the same time; a CRM
//! takes some hundred. So each case is measured twice: with answers at once, which shows what a row costs, and after
//! 200 ms, which shows what the relay adds.
//!
//! Relay and loop take turns in one run, since machines are noisy: read the ratio and the CPU, not the rows/s. The loop
//! sends what the mock wrote down of the relay's turn, byte for byte, with a client like the relay's; jobs it looks at as
//! often as the relay first does. Relay and mock are
//! processes of their own; the relay is the full product on the runtime of `aftercommit run`, and the database syncs
//! each commit to disk. CPU is counted until the last outcome is settled.

#[path = "crm/case.rs"]
mod case;
#[path = "drain/mod.rs"]
#[expect(
    dead_code,
    unused_imports,
    reason = "other benchmarks use what this one does not"
)]
mod drain;
#[path = "crm/figures.rs"]
mod figures;
#[path = "crm/jobs.rs"]
mod jobs;
#[path = "crm/mock.rs"]
mod mock;
#[path = "crm/turns.rs"]
mod turns;

use case::Case;
use drain::base::Backend;
use drain::role::{self, Role};
use figures::Summary;
use turns::Work;

/// What the command line asks for.
#[derive(Debug, clap::Parser)]
struct Options {
    /// Rows of each turn.
    #[arg(long, default_value_t = 50_000)]
    rows: u64,
    /// Rounds; relay and loop take turns.
    #[arg(long, default_value_t = 3)]
    rounds: u32,
    /// Requests in flight.
    #[arg(long, default_value_t = 8)]
    concurrency: usize,
    /// `collections` or `bulk` (of Salesforce), or `hubspot`; all if absent.
    #[arg(long)]
    crm: Option<Case>,
    /// `postgres`, `sqlite`, or both if absent.
    #[arg(long)]
    backend: Option<Backend>,
    /// Milliseconds after which the mock answers.
    #[arg(long, value_delimiter = ',', default_values_t = [0, 200])]
    delays: Vec<u64>,
    /// One JSON object in place of the table.
    #[arg(long)]
    json: bool,
    /// Be the mock of this case.
    #[arg(long, hide = true)]
    mock: Option<Case>,
    #[command(flatten)]
    role: Role,
}

impl Options {
    /// What is to be measured, in the order of the table.
    fn works(&self) -> Vec<Work> {
        let backends = self
            .backend
            .map_or(vec![Backend::Postgres, Backend::Sqlite], |one| vec![one]);
        let cases = self.crm.map_or(Case::ALL.to_vec(), |one| vec![one]);
        let mut works = Vec::new();
        for backend in backends {
            for case in &cases {
                works.extend(self.delays.iter().map(|delay| Work {
                    backend,
                    case: *case,
                    delay: *delay,
                    rows: self.rows,
                    concurrency: self.concurrency,
                }));
            }
        }
        works
    }
}

fn main() -> anyhow::Result<()> {
    let options = <Options as clap::Parser>::parse();
    role::play(&options.role, measure(&options))
}

async fn measure(options: &Options) -> anyhow::Result<()> {
    if let Some(case) = options.mock {
        return mock::serve(case).await;
    }
    let mut summary = Summary::default();
    for work in options.works() {
        for _ in 0..options.rounds {
            let mock = mock::Mock::start(work.case, work.delay).await?;
            let relay = turns::relay(&work, &mock).await?;
            let bare = turns::bare(&work, &mock).await?;
            summary.add(work, bare, relay);
        }
    }
    if options.json {
        summary.print_json();
    } else {
        summary.print_table();
    }
    Ok(())
}
