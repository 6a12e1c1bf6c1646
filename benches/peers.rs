//! Other senders on the same work, beside the relay in one run: graphile-worker and pg-boss, which run on Node.
//!
//! ```text
//! (cd benches/peers && npm install) && cargo bench --bench peers
//! ```
//!
//! Each turn has a PostgreSQL of its own with the same settings, the same receiver process, and the same rows waiting.
//! Senders take turns in every round. None of the others signs or keeps a record of attempts, none orders or fences.

#[path = "drain/mod.rs"]
#[expect(
    dead_code,
    unused_imports,
    reason = "other benchmarks use what this one does not"
)]
mod drain;

use std::path::Path;
use std::process::Command;

use drain::base::{Backend, Base, Rows};
use drain::child::Process;
use drain::figures::{middle, ratio};
use drain::meter::Turn;
use drain::receiver::Receiver;
use drain::relayed::{self, Holder};
use drain::role::{self, Role};

/// What the command line asks for.
#[derive(Debug, clap::Parser)]
struct Options {
    /// Rows, or jobs, of each turn.
    #[arg(long, default_value_t = 20_000)]
    rows: u64,
    /// Bytes of payload of each.
    #[arg(long, default_value_t = 500)]
    bytes: usize,
    /// Rounds, in each of which every sender has a turn.
    #[arg(long, default_value_t = 3)]
    rounds: u32,
    /// Hold a snapshot open in the same database throughout.
    #[arg(long)]
    snapshot: bool,
    #[command(flatten)]
    role: Role,
}

/// Another sender.
struct Peer {
    name: &'static str,
    /// Its script, and what goes before the arguments that all take.
    command: &'static [&'static str],
    /// Whether it has jobs that are not completed.
    open: &'static str,
}

const PEERS: [Peer; 3] = [
    Peer {
        name: "graphile-worker, local queue, batched completion",
        command: &["graphile-worker.js", "batched"],
        open: "select exists (select from graphile_worker._private_jobs)",
    },
    Peer {
        name: "pg-boss, batches of 500",
        command: &["pg-boss.js"],
        open: "select exists (select from pgboss.job where name = 'post' and state < 'completed')",
    },
    Peer {
        name: "graphile-worker, defaults",
        command: &["graphile-worker.js", "default"],
        open: "select exists (select from graphile_worker._private_jobs)",
    },
];

fn main() -> anyhow::Result<()> {
    let options = <Options as clap::Parser>::parse();
    role::play(&options.role, measure(&options))
}

async fn measure(options: &Options) -> anyhow::Result<()> {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peers");
    anyhow::ensure!(
        scripts.join("node_modules").exists(),
        "the other senders are not installed: run `npm install` in benches/peers"
    );
    let mut ours = Vec::new();
    let mut theirs: [Vec<Turn>; PEERS.len()] = Default::default();
    for _ in 0..options.rounds {
        ours.push(our_turn(options).await?);
        for (peer, turns) in PEERS.iter().zip(&mut theirs) {
            turns.push(peer.turn(&scripts, options).await?);
        }
    }
    println!("                                                            CPU µs a row");
    println!(
        "                                                     rows/s   sender database receiver    of ours"
    );
    line("aftercommit", &ours, &ours);
    for (peer, turns) in PEERS.iter().zip(&theirs) {
        line(peer.name, turns, &ours);
    }
    Ok(())
}

fn line(name: &str, turns: &[Turn], ours: &[Turn]) {
    let turn = middle(turns);
    println!(
        "{name:<50}{:>9.0} {:>8.1} {:>8.1} {:>8.1} {:>10.2}",
        turn.rows_per_s,
        turn.sender_us,
        turn.database_us,
        turn.receiver_us,
        ratio(turns, ours),
    );
}

async fn our_turn(options: &Options) -> anyhow::Result<Turn> {
    let work = relayed::Work {
        backend: Backend::Postgres,
        rows: Rows {
            from: 1,
            count: options.rows,
            bytes: options.bytes,
            large: 0,
        },
        concurrency: 64,
        holders: options.holders(),
    };
    relayed::run(&work, &Receiver::start("")?).await
}

impl Options {
    fn holders(&self) -> Vec<Holder> {
        self.snapshot.then_some(Holder::Snapshot).into_iter().collect()
    }
}

impl Peer {
    async fn turn(&self, scripts: &Path, options: &Options) -> anyhow::Result<Turn> {
        let base = Base::new(Backend::Postgres).await?;
        let receiver = Receiver::start("")?;
        let mut command = Command::new("node");
        command.current_dir(scripts).args(self.command).args([
            base.url(),
            receiver.url(),
            &options.rows.to_string(),
            &options.bytes.to_string(),
        ]);
        let sender = Process::start(&mut command)?;
        base.come_to_rest().await?;
        let mut held = Vec::new();
        for holder in options.holders() {
            held.push(holder.open(&base).await?);
        }
        relayed::drain(&base, &receiver, sender, options.rows, self.open).await
    }
}
