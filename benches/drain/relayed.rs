//! The relay's turn: rows that wait in a database, drained by the full product.

use std::time::Duration;

use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

use super::base::{Backend, Base, Rows};
use super::child::Process;
use super::meter::{Meter, Parties, Turn};
use super::receiver::Receiver;
use super::relay::{Hook, config};
use crate::postgres::TestDatabase;

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

    let mut relay = Process::start(&["--relay", &config.display().to_string()])?;
    let parties = Parties {
        sender: relay.id(),
        database: base.postmaster().await?,
        receiver: receiver.id(),
    };
    let meter = Meter::start(parties, Some(&base)).await?;
    relay.begin()?;
    let mut arrivals = Arrivals::default();
    let mut looks = tokio::time::interval(Duration::from_millis(20));
    while arrivals.last() < work.rows.count {
        looks.tick().await;
        arrivals.note(meter.elapsed(), receiver.unique_keys().await?);
    }
    let took = meter.elapsed();
    base.settled().await?;
    let mut turn = meter.stop(work.rows.count, took, Some(&base)).await?;
    turn.last_tenth = arrivals.last_tenth();
    relay.stop()?;
    Ok(turn)
}

/// How many rows had arrived, and when.
#[derive(Debug, Default)]
struct Arrivals(Vec<(Duration, u64)>);

impl Arrivals {
    fn note(&mut self, at: Duration, rows: u64) {
        self.0.push((at, rows));
    }

    fn last(&self) -> u64 {
        self.0.last().map_or(0, |(_, rows)| *rows)
    }

    /// The speed of the last tenth as a share of that of the first, which begins with the first arrival.
    fn last_tenth(&self) -> Option<f64> {
        let rows = self.last();
        let when = |wanted: u64| self.0.iter().find(|(_, seen)| *seen >= wanted).map(|(at, _)| *at);
        let took = |from: u64, to: u64| Some(when(to)?.saturating_sub(when(from)?).as_secs_f64());
        Some(took(1, rows / 10)? / took(rows - rows / 10, rows)?)
    }
}

/// Held until it is dropped.
struct Held {
    _connection: PgConnection,
    _other: Option<TestDatabase>,
}

impl Holder {
    async fn open(self, base: &Base) -> anyhow::Result<Held> {
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
