//! Sources: tables whose committed changes become outbox rows by themselves.
//!
//! On PostgreSQL this is done by functions of the schema (migrations `0003` to `0005`), which pipelines call too;
//! on SQLite, which has none, by statements that the module `sqlite` makes.

mod slice;
mod sqlite;
mod sqlite_text;
mod types;

pub use types::{Attached, Captured, Deletes, Extent, Former, Place, Source, UnknownWay, Way};

use super::admin::Actor;
use super::database::{Args, Database, Row, Transaction, only, sql};
use super::error::{Objection, StoreError};
use super::pauses;

/// What surprises whoever attaches a table before he has named its topic in a destination.
const NO_ROUTE: &str = "no destination takes this topic: its rows are kept, and sent once one does (name the topic in a destination, \
                        then `aftercommit apply`)";

impl Database {
    /// Says where the rows of a topic are found, and puts up triggers if they are to be seen by those; `actor` goes on record.
    /// The same source can be attached again at any time. Rows that are there already are not admitted: [`Database::capture`]
    /// does that.
    pub async fn attach(&self, source: Source, former: Former, actor: &Actor) -> Result<(), StoreError> {
        let actor = actor.clone();
        self.write(move |transaction| {
            Box::pin(async move {
                refuse_missing_table(transaction, &source).await?;
                let args = Args::new()
                    .text(&source.topic)
                    .opt_text(source.place.table())
                    .opt_text(source.place.query())
                    .text(&names(&source.key))
                    .opt_text(source.version.as_deref())
                    .text(&names(&source.excluded))
                    .text(source.way.as_str())
                    .int(i64::from(former == Former::Replaced));
                if let Transaction::Sqlite(connection) = transaction {
                    sqlite::attach(connection, &source, former).await?;
                }
                let attached = transaction.rows(sql!("attach"), args).await;
                attached.map_err(of_their_own)?;
                pauses::audit(transaction, &actor, "attach", &source.topic, None).await
            })
        })
        .await
    }

    /// Takes down the triggers of a topic and forgets its source; the ledger and what is owed stay. Says whether there was
    /// one; `actor` goes on record then.
    pub async fn detach(&self, topic: &str, actor: &Actor) -> Result<bool, StoreError> {
        let (topic, actor) = (topic.to_owned(), actor.clone());
        self.write(move |transaction| {
            Box::pin(async move {
                if source_of(transaction, &topic).await?.is_none() {
                    return Ok(false);
                }
                if let Transaction::Sqlite(connection) = transaction {
                    sqlite::take_down_triggers(connection, &topic).await?;
                }
                transaction.rows(sql!("detach"), Args::new().text(&topic)).await?;
                pauses::audit(transaction, &actor, "detach", &topic, None).await?;
                Ok(true)
            })
        })
        .await
    }

    /// All sources by topic, each with what is wrong with it.
    pub async fn attached(&self) -> Result<Vec<Attached>, StoreError> {
        self.write(|transaction| {
            Box::pin(async move {
                let mut attached = attached(transaction).await?;
                if let Transaction::Sqlite(connection) = transaction {
                    for one in &mut attached {
                        one.problem = sqlite::problem(connection, &one.source).await?;
                    }
                }
                Ok(attached)
            })
        })
        .await
    }

    /// What will surprise whoever has attached a table to the topic, a sentence each.
    pub async fn surprises(&self, topic: &str) -> Result<Vec<String>, StoreError> {
        let rows = self.read(sql!("surprises"), Args::new().text(topic)).await?;
        let surprises = rows.iter().map(|row| Ok(row.text("surprise")?.to_owned()));
        let mut surprises: Vec<String> = surprises.collect::<Result<_, StoreError>>()?;
        let routes = self.read(sql!(shared "routes_of"), Args::new().text(topic));
        if routes.await?.is_empty() {
            surprises.push(NO_ROUTE.to_owned());
        }
        Ok(surprises)
    }

    /// Compares a source with the ledger and admits what differs, in a transaction of its own.
    pub async fn capture(&self, topic: &str, extent: Extent) -> Result<Captured, StoreError> {
        let topic = topic.to_owned();
        self.write(move |transaction| Box::pin(async move { capture(transaction, &topic, &extent).await }))
            .await
    }
}

async fn capture(
    transaction: &mut Transaction,
    topic: &str,
    extent: &Extent,
) -> Result<Captured, StoreError> {
    refuse_missing_source(transaction, topic).await?;
    if matches!(transaction, Transaction::Sqlite(_))
        && let Some(source) = source_of(transaction, topic).await?
        // Asked anew: the look for the source had the transaction to itself.
        && let Transaction::Sqlite(connection) = transaction
    {
        return sqlite::capture(connection, &source, extent).await;
    }
    let (deletes, ratio) = match extent.deletes {
        Deletes::Kept => (0, 0.0),
        Deletes::UpTo(ratio) => (1, ratio),
    };
    let args = Args::new()
        .text(topic)
        .opt_text(extent.partition.as_deref())
        .int(deletes)
        .text(&ratio.to_string());
    let rows = transaction.rows(sql!(postgres "capture"), args).await;
    let row = only(rows.map_err(of_their_own)?)?;
    Ok(Captured {
        admitted: row.int("admitted")?,
        unchanged: row.int("unchanged")?,
        stale: row.int("stale")?,
        deleted: row.int("deleted")?,
    })
}

/// Triggers stand at a table: it must be there.
async fn refuse_missing_table(transaction: &mut Transaction, source: &Source) -> Result<(), StoreError> {
    let (Place::Table(table), Way::Trigger) = (&source.place, source.way) else {
        return Ok(());
    };
    let rows = transaction.rows(sql!("table_is_there"), Args::new().text(table));
    if only(rows.await.map_err(of_their_own)?)?.bool("is_there")? {
        return Ok(());
    }
    Err(StoreError::Missing(Objection::new(
        format!("there is no table {table}"),
        "create it first: only by capture can a table be attached that comes later",
    )))
}

async fn refuse_missing_source(transaction: &mut Transaction, topic: &str) -> Result<(), StoreError> {
    let rows = transaction.rows(sql!("source"), Args::new().text(topic)).await?;
    let Some(row) = rows.first() else {
        return Err(StoreError::Missing(Objection::new(
            format!("topic \"{topic}\" has no source"),
            format!(
                "say once where its rows are: aftercommit attach TABLE --topic {topic} --key COLUMN --by capture"
            ),
        )));
    };
    if row.bool("is_there")? {
        return Ok(());
    }
    let relation = row.opt_text("relation")?.unwrap_or_default();
    Err(StoreError::Missing(Objection::new(
        format!("topic \"{topic}\": its source, {relation}, does not exist"),
        "create it, or attach another table to the topic",
    )))
}

async fn source_of(transaction: &mut Transaction, topic: &str) -> Result<Option<Source>, StoreError> {
    let attached = attached(transaction).await?;
    let mut sources = attached.into_iter().map(|one| one.source);
    Ok(sources.find(|source| source.topic == topic))
}

async fn attached(transaction: &mut Transaction) -> Result<Vec<Attached>, StoreError> {
    let rows = transaction.rows(sql!("attached"), Args::new()).await?;
    rows.iter().map(Attached::read).collect()
}

impl Attached {
    fn read(row: &Row) -> Result<Self, StoreError> {
        let place = match row.opt_text("query")? {
            Some(query) => Place::Query(query.to_owned()),
            None => Place::Table(row.text("relation")?.to_owned()),
        };
        Ok(Self {
            source: Source {
                topic: row.text("topic")?.to_owned(),
                place,
                key: read_names(row.text("key_columns")?)?,
                version: row.opt_text("version_column")?.map(str::to_owned),
                excluded: read_names(row.text("excluded")?)?,
                way: row.word("way")?,
            },
            problem: row.opt_text("problem")?.map(str::to_owned),
        })
    }
}

/// Names as a JSON list.
fn names(names: &[String]) -> String {
    serde_json::Value::from(names).to_string()
}

fn read_names(json: &str) -> Result<Vec<String>, StoreError> {
    serde_json::from_str(json)
        .map_err(|error| StoreError::Unexpected(format!("a list of names is none: {error}")))
}

/// A fault in names or queries that people gave is no fault of the program.
fn of_their_own(error: StoreError) -> StoreError {
    match error {
        StoreError::Unexpected(problem) => StoreError::Refused(problem.into()),
        other => other,
    }
}
