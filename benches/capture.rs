//! What it costs a pipeline that its table is attached or captured, beside the same pipeline alone (PostgreSQL).
//!
//! ```text
//! cargo bench --bench capture                              1,000,000 rows of 500 bytes, three rounds
//! cargo bench --bench capture -- --large 10000000          and one capture of so many rows of which 1 % has changed
//! cargo bench --bench capture -- --rows 100000 --rounds 5
//! ```
//!
//! Each pipeline inserts the rows, then runs again over equal data (deletes all, inserts all, in one transaction), then again
//! with 1 % of the rows changed. In a round all take turns, each on a table of its own. Read the ratios.

#[path = "drain/mod.rs"]
#[expect(
    dead_code,
    unused_imports,
    reason = "the benchmark of one relay uses what this one does not"
)]
mod drain;

use std::time::Duration;

use aftercommit::clock::{Clock as _, SystemClock};
use aftercommit::store::{Database, DatabaseOptions};
use clap::Parser as _;
use drain::figures::median;
use drain::meter::private_kib;
use drain::postgres::Server;
use secrecy::SecretString;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

/// Synced to disk, otherwise as a default installation.
const SETTINGS: &str = "fsync = on\nfull_page_writes = on\nshared_buffers = 1GB\nmax_wal_size = 8GB\n";

/// What the command line asks for.
#[derive(Debug, clap::Parser)]
struct Options {
    /// Rows of each table.
    #[arg(long, default_value_t = 1_000_000)]
    rows: u64,
    /// Rounds.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Rows of one further table, of which 1 % changes before it is captured; 0: none.
    #[arg(long, default_value_t = 0)]
    large: u64,
    /// Given by `cargo bench`, and of no meaning here.
    #[arg(long, hide = true)]
    bench: bool,
}

/// Who looks at the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Watch {
    Nobody,
    Trigger,
    Capture,
}

/// Seconds of each run of one pipeline.
#[derive(Debug, Clone, Copy)]
struct Turn {
    first: f64,
    equal: f64,
    changed: f64,
}

const WATCHES: [Watch; 3] = [Watch::Nobody, Watch::Trigger, Watch::Capture];

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    let server = Server::own_with(SETTINGS).await;
    let database = Database::connect(&SecretString::from(server.url()), &DatabaseOptions::default())?;
    database.migrate("bench").await?;
    let mut bench = Bench {
        clock: SystemClock::start(),
        session: PgConnection::connect(&server.url()).await?,
    };
    let mut turns = vec![Vec::new(); WATCHES.len()];
    for round in 0..options.rounds {
        for (watch, turns) in WATCHES.into_iter().zip(&mut turns) {
            turns.push(bench.turn(watch, round, options.rows).await?);
        }
    }
    print(&turns);
    if options.large > 0 {
        bench.large(options.large).await?;
    }
    Ok(())
}

struct Bench {
    clock: SystemClock,
    session: PgConnection,
}

impl Bench {
    async fn turn(&mut self, watch: Watch, round: usize, rows: u64) -> anyhow::Result<Turn> {
        let table = format!("{watch:?}_{round}").to_lowercase();
        self.run(&format!(
            "create table {table} (id bigint primary key, name text, note text, updated_at timestamptz)"
        ))
        .await?;
        if watch != Watch::Nobody {
            self.attach(&table, watch).await?;
        }
        let insert = insert(&table, rows);
        let capture = match watch {
            Watch::Capture => format!("select aftercommit.capture('{table}');"),
            _ => String::new(),
        };
        let again = format!("begin; delete from {table}; {insert}; {capture} commit");
        let turn = Turn {
            first: self.timed(&format!("begin; {insert}; {capture} commit")).await?,
            equal: self.timed(&again).await?,
            changed: self
                .timed(&again.replace(
                    "'customer ' ||",
                    "case when id % 100 = 0 then 'new ' else 'customer ' end ||",
                ))
                .await?,
        };
        if watch != Watch::Nobody {
            let admitted: i64 =
                sqlx::query_scalar("select count(*) from aftercommit.outbox where topic = $1")
                    .bind(&table)
                    .fetch_one(&mut self.session)
                    .await?;
            anyhow::ensure!(
                admitted.unsigned_abs() == rows + rows / 100,
                "{table}: {admitted} rows reached the outbox"
            );
        }
        self.run(&format!(
            "drop table {table}; truncate aftercommit.outbox, aftercommit.owed, aftercommit.ledger"
        ))
        .await?;
        Ok(turn)
    }

    /// One capture of a table of which 1 % has changed, with the memory that it took.
    async fn large(&mut self, rows: u64) -> anyhow::Result<()> {
        let table = "large";
        self.run("create table large (id bigint primary key, name text, note text, updated_at timestamptz)")
            .await?;
        self.attach(table, Watch::Capture).await?;
        let insert = self.timed(&insert(table, rows)).await?;
        let first = self.timed("select aftercommit.capture('large')").await?;
        self.run("update large set name = 'new' where id % 100 = 0")
            .await?;
        self.run("vacuum analyze large, aftercommit.ledger").await?;
        let pid: i32 = sqlx::query_scalar("select pg_backend_pid()")
            .fetch_one(&mut self.session)
            .await?;
        let (captured, peak) = {
            let capture = self.timed("select aftercommit.capture('large')");
            tokio::pin!(capture);
            let mut peak = 0;
            loop {
                tokio::select! {
                    captured = &mut capture => break (captured?, peak),
                    () = tokio::time::sleep(Duration::from_millis(100)) => peak = peak.max(private_kib(pid.unsigned_abs())),
                }
            }
        };
        println!(
            "\n{rows} rows: inserted in {insert:.0} s, captured first in {first:.0} s; with 1 % changed captured in {captured:.1} s, \
             with {} MiB of memory of its own at the most",
            peak / 1024
        );
        Ok(())
    }

    async fn attach(&mut self, table: &str, watch: Watch) -> anyhow::Result<()> {
        let way = if watch == Watch::Trigger {
            "trigger"
        } else {
            "capture"
        };
        self.run(&format!(
            "insert into aftercommit.topic (name, kind, max_payload_bytes) values ('{table}', 'state', 1048576);
             insert into aftercommit.route (topic, destination) values ('{table}', 'hook');
             select aftercommit.attach('{table}', '{table}', '{{id}}', 'updated_at', way => '{way}')"
        ))
        .await
    }

    async fn timed(&mut self, sql: &str) -> anyhow::Result<f64> {
        self.run("checkpoint").await?;
        let started = self.clock.monotonic();
        self.run(sql).await?;
        Ok(self.clock.monotonic().saturating_sub(started).as_secs_f64())
    }

    async fn run(&mut self, sql: &str) -> anyhow::Result<()> {
        sqlx::raw_sql(AssertSqlSafe(sql.to_owned()))
            .execute(&mut self.session)
            .await?;
        Ok(())
    }
}

/// The pipeline: rows of 500 bytes.
fn insert(table: &str, rows: u64) -> String {
    format!(
        "insert into {table} select id, 'customer ' || id, rpad(md5(id::text), 440, md5((id * 7)::text)),
             '2025-05-18'::timestamptz + id * interval '1 s' from generate_series(1, {rows}) as id"
    )
}

fn print(turns: &[Vec<Turn>]) {
    println!(
        "{:<10}{:>12}{:>18}{:>20}",
        "", "first run", "run again, equal", "again, 1 % changed"
    );
    let of = |turns: &[Turn]| {
        [
            median(turns.iter().map(|turn| turn.first)),
            median(turns.iter().map(|turn| turn.equal)),
            median(turns.iter().map(|turn| turn.changed)),
        ]
    };
    let alone = of(&turns[0]);
    for (watch, turns) in WATCHES.iter().zip(turns) {
        let seconds = of(turns);
        let cell = |run: usize| format!("{:.2} s {:>5.2}", seconds[run], seconds[run] / alone[run]);
        println!(
            "{:<10}{:>12}{:>18}{:>20}",
            format!("{watch:?}").to_lowercase(),
            cell(0),
            cell(1),
            cell(2)
        );
    }
}
