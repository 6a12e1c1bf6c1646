//! The way in from Rust: rows go into the outbox inside the caller's own transaction.
//!
//! What becomes of a row is decided by the triggers, as for a plain `insert` from any other language. Nothing here
//! commits: that is the caller's to do, together with what the rows tell of.

use std::ops::AddAssign;

use sqlx::postgres::{PgConnection, Postgres};
use sqlx::sqlite::{Sqlite, SqliteConnection};

use super::StoreError;
use super::database::postgres::{self, Prepared};
use super::database::{Args, Batch, Database, Row, Statement, Transaction, only, sql, sqlite};
use crate::core::row::{NewRow, TopicKind};

/// Rows that travel in one statement at most.
const CHUNK_ROWS: usize = 1_000;
/// Bytes of payload that travel in one statement at most, but for a single row that has more.
const CHUNK_BYTES: usize = 4 << 20;

/// The outbox, as a pipeline that is written in Rust uses it.
///
/// ```no_run
/// # use aftercommit::core::row::{NewRow, Op};
/// # use aftercommit::store::{Outbox, StoreError};
/// # async fn pay(pool: sqlx::PgPool) -> Result<(), StoreError> {
/// let mut transaction = pool.begin().await?;
/// sqlx::query("update invoice set paid = true where id = 7").execute(&mut *transaction).await?;
/// let row = NewRow {
///     topic: "invoices".into(),
///     row_key: "7".into(),
///     row_version: None,
///     op: Op::Upsert,
///     payload: r#"{"id": 7, "paid": true}"#.into(),
///     headers: None,
/// };
/// Outbox::enqueue(&mut transaction, &row).await?;
/// transaction.commit().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Outbox;

/// What became of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// It will be delivered once the transaction commits.
    Admitted {
        /// The outbox id.
        id: i64,
    },
    /// The ledger knows its content already: nothing will be sent.
    Unchanged,
    /// The ledger knows a newer version of it, with another content: nothing will be sent.
    Stale,
}

/// What became of many rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Enqueued {
    /// Rows that will be delivered once the transaction commits.
    pub admitted: u64,
    /// Rows whose content the ledger knew already.
    pub unchanged: u64,
    /// Rows that were older than what the ledger knew, and of another content.
    pub stale: u64,
}

/// A connection to either database; a transaction of sqlx, or a connection, turns into one.
#[derive(Debug)]
pub struct OutboxConnection<'c>(Kind<'c>);

#[derive(Debug)]
enum Kind<'c> {
    Postgres(&'c mut PgConnection),
    Sqlite(&'c mut SqliteConnection),
    /// One of the store's own, which waits no longer than it may.
    Own(&'c mut Transaction),
}

impl Outbox {
    /// Puts one row into the outbox, within the transaction that is open on the connection.
    ///
    /// A row that the outbox does not take (see the rules of the triggers) is [`StoreError::Refused`]; the transaction
    /// must then be rolled back.
    pub async fn enqueue<'c>(
        connection: impl Into<OutboxConnection<'c>>,
        row: &NewRow,
    ) -> Result<Admission, StoreError> {
        let args = Args::new()
            .text(&row.topic)
            .text(&row.row_key)
            .int(row.row_version)
            .text(row.op.as_str())
            .text(&row.payload)
            .opt_text(row.headers.as_deref());
        let answer = only(connection.into().rows(sql!("enqueue"), args).await?)?;
        Ok(match (answer.opt_int("id")?, answer.int::<u64>("stale")?) {
            (Some(id), _) => Admission::Admitted { id },
            (None, 0) => Admission::Unchanged,
            (None, _) => Admission::Stale,
        })
    }

    /// Puts many rows into the outbox, in few statements. Rows of one key keep their order.
    ///
    /// They are written in the order of topic and row key, so that two transactions that do so do not deadlock.
    pub async fn enqueue_all<'c>(
        connection: impl Into<OutboxConnection<'c>>,
        rows: &[NewRow],
    ) -> Result<Enqueued, StoreError> {
        let mut connection = connection.into();
        let mut enqueued = Enqueued::default();
        for round in rounds(rows) {
            let mut rest = round.as_slice();
            while !rest.is_empty() {
                let (chunk, after) = rest.split_at(chunk_length(rest));
                let args = Args::new().batch(batch(chunk));
                let answer = only(connection.rows(sql!("enqueue_all"), args).await?)?;
                enqueued += Enqueued::of(chunk.len() as u64, answer.int("admitted")?, answer.int("stale")?);
                rest = after;
            }
        }
        Ok(enqueued)
    }
}

impl Database {
    /// The kind of a topic that is known, by `apply` or by its first row.
    pub async fn topic_kind(&self, topic: &str) -> Result<Option<TopicKind>, StoreError> {
        let rows = self
            .read(sql!(shared "topic_kind"), Args::new().text(topic))
            .await?;
        rows.first().map(|row| row.word("kind")).transpose()
    }
}

impl Enqueued {
    /// How many rows there were.
    pub fn total(&self) -> u64 {
        self.admitted + self.unchanged + self.stale
    }

    fn of(rows: u64, admitted: u64, stale: u64) -> Self {
        Self {
            admitted,
            unchanged: rows.saturating_sub(admitted + stale),
            stale,
        }
    }
}

impl AddAssign for Enqueued {
    fn add_assign(&mut self, other: Self) {
        self.admitted += other.admitted;
        self.unchanged += other.unchanged;
        self.stale += other.stale;
    }
}

impl OutboxConnection<'_> {
    async fn rows(&mut self, statement: &'static Statement, args: Args) -> Result<Vec<Row>, StoreError> {
        match &mut self.0 {
            Kind::Postgres(connection) => postgres::rows(connection, statement, &args, Prepared::Kept).await,
            Kind::Sqlite(connection) => sqlite::rows(connection, statement, &args).await,
            Kind::Own(transaction) => transaction.rows(statement, args).await,
        }
    }
}

impl<'c> From<&'c mut PgConnection> for OutboxConnection<'c> {
    fn from(connection: &'c mut PgConnection) -> Self {
        Self(Kind::Postgres(connection))
    }
}

impl<'c> From<&'c mut SqliteConnection> for OutboxConnection<'c> {
    fn from(connection: &'c mut SqliteConnection) -> Self {
        Self(Kind::Sqlite(connection))
    }
}

impl<'c> From<&'c mut sqlx::Transaction<'_, Postgres>> for OutboxConnection<'c> {
    fn from(transaction: &'c mut sqlx::Transaction<'_, Postgres>) -> Self {
        Self(Kind::Postgres(transaction))
    }
}

impl<'c> From<&'c mut sqlx::Transaction<'_, Sqlite>> for OutboxConnection<'c> {
    fn from(transaction: &'c mut sqlx::Transaction<'_, Sqlite>) -> Self {
        Self(Kind::Sqlite(transaction))
    }
}

impl<'c> From<&'c mut Transaction> for OutboxConnection<'c> {
    fn from(transaction: &'c mut Transaction) -> Self {
        Self(Kind::Own(transaction))
    }
}

/// The rows in the order in which they are written: sorted, and of a state's key one row a round.
///
/// Whether a row is stale is told by what the ledger knows once its statement has run, so that no later row of its key may
/// be in it. What a round locks, the rounds before it have locked already, but for the first.
fn rounds(rows: &[NewRow]) -> Vec<Vec<&NewRow>> {
    let mut sorted: Vec<&NewRow> = rows.iter().collect();
    sorted.sort_by_key(|row| (&row.topic, &row.row_key));
    let mut rounds: Vec<Vec<&NewRow>> = vec![];
    let same_key =
        |one: &&NewRow, other: &&NewRow| (&one.topic, &one.row_key) == (&other.topic, &other.row_key);
    for of_one_key in sorted.chunk_by(same_key) {
        for (number, row) in of_one_key.iter().enumerate() {
            let round = match row.op.kind() {
                TopicKind::State => number,
                // Each is a fact of its own, and none is ever stale.
                TopicKind::Event => 0,
            };
            if rounds.len() <= round {
                rounds.resize_with(round + 1, Vec::new);
            }
            rounds[round].push(row);
        }
    }
    rounds
}

/// How many of the rows go into the next statement: at least one.
fn chunk_length(rows: &[&NewRow]) -> usize {
    let mut bytes = 0;
    let fits = |row: &&&NewRow| {
        bytes += row.payload.len();
        bytes <= CHUNK_BYTES
    };
    rows.iter().take(CHUNK_ROWS).take_while(fits).count().max(1)
}

fn batch(rows: &[&NewRow]) -> Batch {
    Batch::new()
        .texts("topic", rows.iter().map(|row| row.topic.as_str()))
        .texts("row_key", rows.iter().map(|row| row.row_key.as_str()))
        .ints("row_version", rows.iter().map(|row| row.row_version))
        .texts("op", rows.iter().map(|row| row.op.as_str()))
        .texts("payload", rows.iter().map(|row| row.payload.as_str()))
        .texts("headers", rows.iter().map(|row| row.headers.as_deref()))
}
