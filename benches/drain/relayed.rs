//! The relay's turn: rows that wait in a database, drained by the full product.

use std::time::Duration;

use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

use super::base::{Backend, Base, Rows};
use super::child::Process;
use super::meter::{Meter, Parties, Turn};
use super::postgres::TestDatabase;
use super::receiver::Receiver;
use super::relay::{Hook, config};

/// Who holds something open while the relay drains, on PostgreSQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holder {
    /// A snapshot, in the same database.
    Snapshot,
    /// A transaction that has written, in another database of the server.
    OtherWrite,
}

/// What waits, and how it is drained.
#[derive(Debug, Clone)]
pub(crate) struct Work {
    pub(crate) backend: Backend,
    pub(crate) rows: Rows,
    pub(crate) concurrency: usize,
    pub(crate) holders: Vec<Holder>,
}

/// Lets the rows wait, then drains them.
pub(crate) async fn run(work: &Work, receiver: &Receiver) -> anyhow::Result<Turn> {
    let base = Base::new(work.backend).await?;
    let hook = Hook {
        name: "hook".to_owned(),
        url: receiver.url().to_owned(),
        options: format!("concurrency = {}", work.concurrency),
    };
    let config = base.apply(&config(base.url(), &[hook])).await?;
    base.fill("hook", work.rows).await?;
    let mut held = Vec::new();
    for holder in &work.holders {
        held.push(holder.open(&base).await?);
    }

    let relay = Process::again(&["--relay", &config.display().to_string()])?;
    drain(&base, receiver, relay, work.rows.count, work.backend.in_flight()).await
}

/// Lets a sender send the rows that wait, and measures it until the query `open` says that nothing is open any more.
pub(crate) async fn drain(
    base: &Base,
    receiver: &Receiver,
    mut sender: Process,
    rows: u64,
    open: &'static str,
) -> anyhow::Result<Turn> {
    let parties = Parties {
        sender: sender.id(),
        database: base.postmaster().await?,
        receiver: receiver.id(),
    };
    let meter = Meter::start(parties, Some(base)).await?;
    sender.begin()?;
    let mut tenths = Tenths::of(rows);
    let mut looks = tokio::time::interval(Duration::from_millis(20));
    loop {
        looks.tick().await;
        let arrived = receiver.unique_keys().await?;
        tenths.note(arrived, &meter);
        if arrived >= rows {
            break;
        }
    }
    let took = meter.elapsed();
    base.settled(open).await?;
    let mut turn = meter.stop(rows, took, Some(base)).await?;
    (turn.last_tenth, turn.last_tenth_cpu) = tenths.compare().unzip();
    sender.stop()?;
    Ok(turn)
}

impl Backend {
    /// Whether the relay has something on record that is not settled.
    pub(crate) fn in_flight(self) -> &'static str {
        match self {
            Self::Postgres => "select exists (select from aftercommit.dispatch)",
            Self::Sqlite => "select exists (select 1 from dispatch)",
        }
    }
}

/// The first and the last tenth of a drain; the first begins with the first arrival.
struct Tenths {
    rows: u64,
    passed: Vec<Passed>,
}

/// The state of a drain as it passed an end of a tenth.
struct Passed {
    arrived: u64,
    at: Duration,
    cpu: Duration,
}

impl Tenths {
    fn of(rows: u64) -> Self {
        let passed = Vec::new();
        Self { rows, passed }
    }

    fn note(&mut self, arrived: u64, meter: &Meter) {
        let tenth = self.rows / 10;
        let ends = [1, tenth, self.rows - tenth, self.rows];
        let seen = |end: &u64| arrived >= *end;
        while ends.get(self.passed.len()).is_some_and(seen) {
            self.passed.push(Passed {
                arrived,
                at: meter.elapsed(),
                cpu: meter.cpu(),
            });
        }
    }

    /// Speed and CPU a row of the last tenth, each as a share of the first's. Of few rows they would say nothing.
    fn compare(&self) -> Option<(f64, f64)> {
        let [start, first, last, end] = &*self.passed else {
            return None;
        };
        if self.rows < 100_000 {
            return None;
        }
        let (a, b) = (first.since(start), end.since(last));
        Some((a.0 / b.0, b.1 / a.1))
    }
}

impl Passed {
    /// Time and CPU a row.
    #[expect(clippy::cast_precision_loss, reason = "figures for people")]
    fn since(&self, earlier: &Self) -> (f64, f64) {
        let rows = (self.arrived - earlier.arrived) as f64;
        let a_row = |now: Duration, then: Duration| now.saturating_sub(then).as_secs_f64() / rows;
        (a_row(self.at, earlier.at), a_row(self.cpu, earlier.cpu))
    }
}

/// Held until it is dropped.
pub(crate) struct Held {
    _connection: PgConnection,
    _other: Option<TestDatabase>,
}

impl Holder {
    /// Begins.
    pub(crate) async fn open(self, base: &Base) -> anyhow::Result<Held> {
        let server = base
            .server()
            .ok_or_else(|| anyhow::anyhow!("only PostgreSQL knows snapshots and other databases"))?;
        let (other, sql) = match self {
            Self::Snapshot => (
                None,
                "begin isolation level repeatable read; select count(*) from pg_class",
            ),
            Self::OtherWrite => (
                Some(server.database().await),
                "begin; create table written (by_whom text)",
            ),
        };
        let url = other
            .as_ref()
            .map_or_else(|| base.url().to_owned(), TestDatabase::url);
        let mut connection = PgConnection::connect(&url).await?;
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await?;
        Ok(Held {
            _connection: connection,
            _other: other,
        })
    }
}
