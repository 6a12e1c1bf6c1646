//! What a topic holds, page by page, for whoever compares it with what it held before.
//!
//! Reads, and tries out in a transaction that is rolled back: nothing here commits.

use std::path::Path;

use super::database::{Args, Database, Engine, Row, Transaction, only, sql};
use super::{Outbox, StoreError};
use crate::core::row::{NewRow, Op};

/// A topic, and the database that holds it.
#[derive(Debug)]
pub(crate) struct Topic {
    pub(crate) database: Database,
    pub(crate) name: String,
}

/// An outbox row.
#[derive(Debug, Clone)]
pub(crate) struct HeldRow {
    pub(crate) id: i64,
    pub(crate) row_key: String,
    pub(crate) row_version: Option<i64>,
    pub(crate) op: Op,
    pub(crate) payload: String,
    /// To how many destinations it is or was to go, whatever became of that.
    pub(crate) deliveries: u64,
}

/// An entry of the ledger.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) identity: String,
    pub(crate) row_version: Option<i64>,
    pub(crate) op: Op,
    pub(crate) fingerprint: String,
}

/// What the ledger holds of a row with a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Newest {
    pub(crate) row_key: String,
    pub(crate) row_version: i64,
    pub(crate) op: Op,
    pub(crate) payload: String,
    generation: i64,
    outbox_id: i64,
}

/// A change that came after some moment.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    pub(crate) row_key: String,
    pub(crate) payload: String,
    /// What the row held before; none if it is new.
    pub(crate) before: Option<String>,
}

/// Another session of this database.
#[derive(Debug, Clone)]
pub(crate) struct Session {
    pub(crate) id: i64,
    /// The transaction that it has open.
    pub(crate) transaction: Option<String>,
    /// Whether that has written something.
    pub(crate) writes: bool,
}

/// What would have come of rows.
#[derive(Debug)]
pub(crate) struct TriedOut {
    pub(crate) admitted: u64,
    /// The newest rows as they would have been.
    pub(crate) newest: Vec<Newest>,
}

impl Topic {
    /// Its first outbox rows, by row key and id; at most `limit`.
    pub(crate) async fn first_rows(&self, limit: u32) -> Result<Vec<HeldRow>, StoreError> {
        let args = rows_args(&self.name, ("", 0), limit);
        let rows = self.database.read(sql!(shared "topic_rows"), args).await?;
        rows.iter().map(HeldRow::read).collect()
    }

    /// Whether its rows come from a source that is attached to it.
    pub(crate) async fn has_source(&self) -> Result<bool, StoreError> {
        let rows = self.database.read(sql!("source"), Args::new().text(&self.name));
        Ok(!rows.await?.is_empty())
    }

    /// What the ledger holds of rows with a version; at most `limit`.
    pub(crate) async fn newest(&self, limit: u32) -> Result<Vec<Newest>, StoreError> {
        let rows = self
            .database
            .read(sql!(shared "topic_newest"), newest_args(&self.name, limit));
        rows.await?.iter().map(Newest::read).collect()
    }

    /// Changes since `mark` was the last outbox id, the oldest first; at most `limit`.
    pub(crate) async fn changes(&self, mark: i64, limit: u32) -> Result<Vec<Change>, StoreError> {
        let args = Args::new().text(&self.name).int(mark).int(i64::from(limit));
        let rows = self.database.read(sql!(shared "topic_changes"), args).await?;
        rows.iter().map(Change::read).collect()
    }

    /// The last outbox id of the database, whatever its topic; 0 if there is none. Cheap.
    pub(crate) async fn mark(&self) -> Result<i64, StoreError> {
        let rows = self.database.read(sql!(shared "last_outbox_id"), Args::new());
        Ok(only(rows.await?)?.opt_int("id")?.unwrap_or(0))
    }

    /// Opens the connections that a look takes, so that none of them comes while sessions are watched.
    pub(crate) async fn warm_up(&self) -> Result<(), StoreError> {
        self.database.snapshot(|_| Box::pin(async { Ok(()) })).await
    }

    /// The file that holds SQLite's locks; `None` on PostgreSQL.
    pub(crate) fn lock_file(&self) -> Option<&Path> {
        match &self.database.engine {
            Engine::Sqlite(sqlite) => Some(sqlite.lock_file()),
            Engine::Postgres(_) => None,
        }
    }

    /// The other sessions of this database; `None` where it has no such thing (SQLite).
    pub(crate) async fn sessions(&self) -> Result<Option<Vec<Session>>, StoreError> {
        if matches!(self.database.engine, Engine::Sqlite(_)) {
            return Ok(None);
        }
        let rows = self.database.read(sql!("sessions"), Args::new()).await?;
        rows.iter().map(Session::read).collect::<Result<_, _>>().map(Some)
    }

    /// Puts `rows` into the outbox, looks at the `limit` first of the newest rows, and rolls back.
    pub(crate) async fn try_out(&self, rows: Vec<NewRow>, limit: u32) -> Result<TriedOut, StoreError> {
        let name = self.name.clone();
        self.database
            .try_out(move |transaction| {
                Box::pin(async move { tried_out(transaction, &rows, newest_args(&name, limit)).await })
            })
            .await
    }
}

/// Outbox rows of `topic` after this row key and id, by row key and id; at most `limit`.
pub(crate) async fn rows(
    transaction: &mut Transaction,
    topic: &str,
    after: (&str, i64),
    limit: u32,
) -> Result<Vec<HeldRow>, StoreError> {
    let args = rows_args(topic, after, limit);
    let rows = transaction.rows(sql!(shared "topic_rows"), args).await?;
    rows.iter().map(HeldRow::read).collect()
}

/// The ledger of `topic` after this identity, by identity; at most `limit` entries.
pub(crate) async fn ledger(
    transaction: &mut Transaction,
    topic: &str,
    after: &str,
    limit: u32,
) -> Result<Vec<Entry>, StoreError> {
    let args = Args::new().text(topic).text(after).int(i64::from(limit));
    let rows = transaction.rows(sql!("topic_ledger"), args).await?;
    rows.iter().map(Entry::read).collect()
}

fn rows_args(topic: &str, after: (&str, i64), limit: u32) -> Args {
    let args = Args::new().text(topic).text(after.0).int(after.1);
    args.int(i64::from(limit))
}

async fn tried_out(
    transaction: &mut Transaction,
    rows: &[NewRow],
    newest: Args,
) -> Result<TriedOut, StoreError> {
    let admitted = Outbox::enqueue_all(&mut *transaction, rows).await?.admitted;
    let rows = transaction.rows(sql!(shared "topic_newest"), newest).await?;
    Ok(TriedOut {
        admitted,
        newest: rows.iter().map(Newest::read).collect::<Result<_, _>>()?,
    })
}

fn newest_args(topic: &str, limit: u32) -> Args {
    Args::new().text(topic).int(i64::from(limit))
}

impl HeldRow {
    fn read(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.int("id")?,
            row_key: row.text("row_key")?.to_owned(),
            row_version: row.opt_int("row_version")?,
            op: row.word("op")?,
            payload: row.json("payload")?.to_owned(),
            deliveries: row.int("deliveries")?,
        })
    }
}

impl Entry {
    fn read(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            identity: row.text("identity")?.to_owned(),
            row_version: row.opt_int("row_version")?,
            op: row.word("op")?,
            fingerprint: row.text("fingerprint")?.to_owned(),
        })
    }
}

impl Newest {
    fn read(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            row_key: row.text("row_key")?.to_owned(),
            row_version: row.int("row_version")?,
            op: row.word("op")?,
            payload: row.json("payload")?.to_owned(),
            generation: row.int("generation")?,
            outbox_id: row.int("outbox_id")?,
        })
    }
}

impl Change {
    fn read(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            row_key: row.text("row_key")?.to_owned(),
            payload: row.json("payload")?.to_owned(),
            before: row.opt_json("payload_before")?.map(str::to_owned),
        })
    }
}

impl Session {
    fn read(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.int("pid")?,
            transaction: row.opt_text("transaction")?.map(str::to_owned),
            writes: row.bool("writes")?,
        })
    }
}
