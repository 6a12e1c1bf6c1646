//! What several relays on one destination cost: 1, 2, 4 and 8 relays share its eight shards and drain the same backlog.
//!
//! ```text
//! cargo bench --bench relays                       40,000 rows of 500 bytes, three rounds
//! cargo bench --bench relays -- --rows 200000 --relays 1,4 --json
//! ```
//!
//! PostgreSQL only. Each relay is a process, the full product: read the
//! CPU a row, of relays and of PostgreSQL apart. Rows/s add up only as far as the machine has cores for all of them. The
//! backlog waits behind a pause until the relays have shared the shards evenly.

#[path = "drain/mod.rs"]
#[expect(
    dead_code,
    unused_imports,
    reason = "the benchmark of one relay uses what this one does not"
)]
mod drain;

use std::time::Duration;

use drain::base::{Backend, Base, Rows};
use drain::child::Process;
use drain::meter::{self, cpu_of, cpu_of_family};
use drain::receiver::Receiver;
use drain::relay::{self, Hook};
use drain::role::{self, Role};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

/// Into how many the destination is divided.
const SHARDS: i64 = 8;

/// What the command line asks for.
#[derive(Debug, clap::Parser)]
struct Options {
    /// Rows to drain in each turn.
    #[arg(long, default_value_t = 40_000)]
    rows: u64,
    /// Bytes of payload of each row.
    #[arg(long, default_value_t = 500)]
    bytes: usize,
    /// Rounds; the numbers of relays take turns.
    #[arg(long, default_value_t = 3)]
    rounds: u32,
    /// Requests in flight, of all relays together.
    #[arg(long, default_value_t = 64)]
    concurrency: u64,
    /// How many relays.
    #[arg(long, value_delimiter = ',', default_value = "1,2,4,8")]
    relays: Vec<usize>,
    /// One JSON object in place of the table.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    role: Role,
}

/// What one turn came to.
#[derive(Debug, Clone, Copy)]
struct Turn {
    rows_per_s: f64,
    /// CPU, microseconds a row.
    relays_us: f64,
    database_us: f64,
    receiver_us: f64,
}

fn main() -> anyhow::Result<()> {
    let options = <Options as clap::Parser>::parse();
    role::play(&options.role, measure(&options))
}

async fn measure(options: &Options) -> anyhow::Result<()> {
    let mut turns = vec![Vec::new(); options.relays.len()];
    for _ in 0..options.rounds {
        for (turns, relays) in turns.iter_mut().zip(&options.relays) {
            turns.push(drain_with(*relays, options).await?);
        }
    }
    let rows = options.relays.iter().zip(&turns);
    if options.json {
        let of = |(relays, turns): (&usize, &Vec<Turn>)| {
            let figures = serde_json::json!({
                "rows_per_s": median(turns, |turn| turn.rows_per_s),
                "relays_cpu_us": median(turns, |turn| turn.relays_us),
                "database_cpu_us": median(turns, |turn| turn.database_us),
                "receiver_cpu_us": median(turns, |turn| turn.receiver_us),
            });
            (relays.to_string(), figures)
        };
        println!("{}", serde_json::Value::Object(rows.map(of).collect()));
        return Ok(());
    }
    println!("relays     rows/s   CPU µs a row: relays   database   receiver");
    for (relays, turns) in rows {
        println!(
            "{relays:>6} {:>10.0} {:>22.1} {:>10.1} {:>10.1}",
            median(turns, |turn| turn.rows_per_s),
            median(turns, |turn| turn.relays_us),
            median(turns, |turn| turn.database_us),
            median(turns, |turn| turn.receiver_us),
        );
    }
    Ok(())
}

/// Lets the rows wait, lets so many relays share the shards, and then drains them.
async fn drain_with(relays: usize, options: &Options) -> anyhow::Result<Turn> {
    let (base, receiver) = (Base::new(Backend::Postgres).await?, Receiver::start("")?);
    let per_shard = (options.concurrency / SHARDS.unsigned_abs()).max(1);
    let hook = Hook {
        name: "hook".to_owned(),
        url: receiver.url().to_owned(),
        options: format!("concurrency = {per_shard}\nshards = {SHARDS}\n[relay]\nheartbeat = \"500ms\""),
    };
    let config = base.apply(&relay::config(base.url(), &[hook])).await?;
    let rows = Rows {
        from: 1,
        count: options.rows,
        bytes: options.bytes,
        large: 0,
    };
    base.fill("hook", rows).await?;
    base.execute("insert into aftercommit.destination_state (destination, paused_at) values ('hook', now())")
        .await?;
    let arguments = ["--relay", &config.display().to_string()];
    let mut processes = Vec::new();
    for _ in 0..relays {
        processes.push(Process::again(&arguments)?);
    }
    for process in &mut processes {
        process.begin()?;
    }
    shared(&base, relays).await?;

    let postmaster = base.postmaster().await?.unwrap_or_default();
    let relays_cpu = || {
        processes
            .iter()
            .map(|process| cpu_of(process.id()))
            .sum::<Duration>()
    };
    let before = (relays_cpu(), cpu_of_family(postmaster), cpu_of(receiver.id()));
    let start = meter::now();
    base.execute("delete from aftercommit.destination_state").await?;
    let mut looks = tokio::time::interval(Duration::from_millis(20));
    while receiver.unique_keys().await? < options.rows {
        looks.tick().await;
    }
    let took = start.elapsed();
    base.settled("select exists (select from aftercommit.dispatch)")
        .await?;
    #[expect(clippy::cast_precision_loss, reason = "figures for people")]
    let rows = options.rows as f64;
    let us = |after: Duration, before: Duration| after.saturating_sub(before).as_secs_f64() * 1e6 / rows;
    let turn = Turn {
        rows_per_s: rows / took.as_secs_f64(),
        relays_us: us(relays_cpu(), before.0),
        database_us: us(cpu_of_family(postmaster), before.1),
        receiver_us: us(cpu_of(receiver.id()), before.2),
    };
    for process in processes {
        process.stop()?;
    }
    Ok(turn)
}

/// Waits until every shard has an owner, and no relay has two more than another.
async fn shared(base: &Base, relays: usize) -> anyhow::Result<()> {
    let mut connection = PgConnection::connect(base.url()).await?;
    let relays = i64::try_from(relays)?;
    let (least, total) = ((SHARDS + 1) / relays, SHARDS + 1);
    let even = format!(
        "select count(*) = {relays} and sum(owned) = {total} and min(owned) >= {least} and max(owned) <= {least} + 1
         from (select count(*) as owned from aftercommit.lease where owner is not null group by owner) as share"
    );
    let mut looks = tokio::time::interval(Duration::from_millis(50));
    while sqlx::query_scalar::<_, Option<bool>>(AssertSqlSafe(even.clone()))
        .fetch_one(&mut connection)
        .await?
        != Some(true)
    {
        looks.tick().await;
    }
    Ok(())
}

fn median(turns: &[Turn], figure: impl Fn(&Turn) -> f64) -> f64 {
    let mut values: Vec<f64> = turns.iter().map(figure).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
