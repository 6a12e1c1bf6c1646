//! Sources on SQLite: row triggers that insert into the outbox, and a comparison made of statements.

use sqlx::{AssertSqlSafe, Row as _, SqliteConnection};

use super::sqlite_text::{Reading, quoted, trigger_names};
use super::{Captured, Deletes, Extent, Former, Place, Source, Way};
use crate::store::error::StoreError;

/// Takes down what was attached to the topic before, looks whether the source can be read as it is described, and puts up the
/// triggers of one that is seen by them.
pub(super) async fn attach(
    connection: &mut SqliteConnection,
    source: &Source,
    former: Former,
) -> Result<(), StoreError> {
    let kind = "select kind from topic where name = $1";
    let kind: Option<String> = sqlx::query_scalar(kind)
        .bind(&source.topic)
        .fetch_optional(&mut *connection)
        .await?;
    if kind.as_deref() == Some("event") {
        return Err(StoreError::Refused(format!(
            "topic \"{}\" is of kind event; a table is attached to a state topic: choose another topic",
            source.topic
        )));
    }
    if former == Former::Kept {
        keep_former(connection, source).await?;
    }
    take_down_triggers(connection, &source.topic).await?;
    let reading = match (reading(connection, source).await, source.way) {
        (Ok(reading), _) => reading,
        // It may come later.
        (Err(_), Way::Capture) if !exists(connection, source).await? => return Ok(()),
        (Err(error), _) => return Err(error),
    };
    if let Some(query) = reading.bad_version()
        && let Some(value) = first_text(connection, query).await?
    {
        return Err(StoreError::Refused(format!(
            "topic \"{}\": the version column \"{}\" holds {value}: a row version is a whole number or a time such as \
             2026-11-29 18:05:37; use such a column, or leave the version out",
            source.topic,
            source.version.as_deref().unwrap_or_default(),
        )));
    }
    match source.way {
        Way::Capture => Ok(()),
        Way::Trigger => put_up_triggers(connection, &reading).await,
    }
}

/// Refuses another source than the topic has.
async fn keep_former(connection: &mut SqliteConnection, source: &Source) -> Result<(), StoreError> {
    let other = "select coalesce(relation, 'a query') from source \
         where topic = $1 and not (relation is $2 collate nocase and query is $3)";
    let other: Option<String> = sqlx::query_scalar(other)
        .bind(&source.topic)
        .bind(source.place.table())
        .bind(source.place.query())
        .fetch_optional(&mut *connection)
        .await?;
    match other {
        None => Ok(()),
        Some(other) => Err(StoreError::Refused(format!(
            "topic \"{}\" has its rows in {other} already: choose another topic, or detach this one first; to put another \
             table in its place on purpose, replace it (--replace)",
            source.topic
        ))),
    }
}

async fn put_up_triggers(connection: &mut SqliteConnection, reading: &Reading<'_>) -> Result<(), StoreError> {
    let table = reading.source.place.table().unwrap_or_default();
    let kind = "select type from sqlite_master where name = $1 collate nocase";
    let kind: Option<String> = sqlx::query_scalar(kind)
        .bind(table)
        .fetch_optional(&mut *connection)
        .await?;
    if kind.as_deref() != Some("table") {
        return Err(StoreError::Refused(format!(
            "{table} is no table: triggers see tables only; attach it by capture"
        )));
    }
    for (_, made) in reading.triggers() {
        execute(connection, made).await?;
    }
    Ok(())
}

pub(super) async fn take_down_triggers(
    connection: &mut SqliteConnection,
    topic: &str,
) -> Result<(), StoreError> {
    for name in trigger_names(topic) {
        execute(connection, format!("drop trigger if exists {}", quoted(&name))).await?;
    }
    Ok(())
}

/// What is wrong with a source now.
pub(super) async fn problem(
    connection: &mut SqliteConnection,
    source: &Source,
) -> Result<Option<String>, StoreError> {
    let Some(table) = source.place.table() else {
        return Ok(None);
    };
    if !exists(connection, source).await? {
        return Ok(Some(format!(
            "there is no {table} now: create it, or attach another table"
        )));
    }
    if source.way == Way::Capture {
        return Ok(None);
    }
    let wanted = match reading(connection, source).await {
        Ok(reading) => reading.triggers(),
        Err(error) => return Ok(Some(error.to_string())),
    };
    let mut gone = 0;
    let mut old = 0;
    for (name, made) in wanted {
        let found: Option<String> =
            sqlx::query_scalar("select sql from sqlite_master where type = 'trigger' and name = $1")
                .bind(name)
                .fetch_optional(&mut *connection)
                .await?;
        match found {
            None => gone += 1,
            // SQLite keeps the text, but for the case of its first words.
            Some(found) if !found.eq_ignore_ascii_case(&made) => old += 1,
            Some(_) => {}
        }
    }
    Ok(match (gone, old) {
        (0, 0) => None,
        (0, _) => {
            Some("its columns have changed, and a payload has those of before: attach it again".to_owned())
        }
        (gone, _) => Some(format!(
            "{gone} of its 3 triggers are gone, so changes go unseen: attach it again, then capture"
        )),
    })
}

/// Compares the source with the ledger. Rows that equal what the ledger holds are left out beforehand; the triggers of the
/// outbox decide about the rest.
pub(super) async fn capture(
    connection: &mut SqliteConnection,
    source: &Source,
    extent: &Extent,
) -> Result<Captured, StoreError> {
    let reading = reading(connection, source).await?;
    let partition = extent.partition.as_deref();
    let topic = &source.topic;
    if source.version.is_none()
        && let Some(row_key) = first_text(connection, reading.ambiguous(partition)).await?
    {
        return Err(StoreError::Refused(format!(
            "topic \"{topic}\": several rows with different content have the row key \"{row_key}\": name the columns that tell \
             rows apart as the key, or a version column: then the newest counts"
        )));
    }
    let seen = number(connection, reading.count(partition), topic).await?;
    let rows = reading.rows(partition);
    let stale = format!(
        "select count(*) from ({rows}) as here join ledger on topic = $1 and identity = here.row_key \
         where here.row_version < ledger.row_version"
    );
    let stale = number(connection, stale, topic).await?;
    let known = "select count(*) from ledger where topic = $1 and op = 'upsert'".to_owned();
    let known = number(connection, known, topic).await?;
    let last_id: i64 = sqlx::query_scalar("select coalesce(max(id), 0) from outbox")
        .fetch_one(&mut *connection)
        .await?;
    let upserts = format!(
        "insert into outbox (topic, row_key, row_version, op, payload)\n\
         select $1, here.row_key, here.row_version, 'upsert', here.payload\n\
         from ({rows}) as here left join ledger as known on known.topic = $1 and known.identity = here.row_key\n\
         where known.identity is null or (known.fingerprint, known.op) <> (here.payload, 'upsert')\n\
             or here.row_version > known.row_version or (known.row_version is null and here.row_version is not null)\n\
         order by here.row_key"
    );
    execute_for(connection, upserts, topic).await?;
    let written = format!("select count(*) from outbox where topic = $1 and id > {last_id}");
    let admitted = number(connection, written, topic).await?;
    let deleted = match extent.deletes {
        Deletes::Kept => 0,
        Deletes::UpTo(ratio) => {
            let gone = reading.gone(partition);
            let count = number(connection, format!("select count(*) from ({gone})"), topic).await?;
            let there = if partition.is_some() { seen + count } else { known };
            refuse_too_many(topic, count, there, seen, ratio)?;
            let deletes = format!(
                "insert into outbox (topic, row_key, op) select $1, row_key, 'delete' from ({gone}) order by 2"
            );
            execute_for(connection, deletes, topic).await?;
            count
        }
    };
    Ok(Captured {
        admitted,
        unchanged: seen.saturating_sub(admitted + stale),
        stale,
        deleted,
    })
}

/// Fails if a comparison would delete all rows, or more of them than it may.
fn refuse_too_many(topic: &str, gone: u64, there: u64, seen: u64, ratio: f64) -> Result<(), StoreError> {
    #[expect(
        clippy::cast_precision_loss,
        reason = "a ratio of numbers of rows needs no more digits"
    )]
    let part = gone as f64 / there.max(1) as f64;
    if gone > 0 && seen == 0 {
        return Err(StoreError::Refused(format!(
            "topic \"{topic}\": all {gone} rows would be deleted; nothing was captured: is the source empty by mistake? \
             Without deletes, capture it again"
        )));
    }
    if part > ratio {
        return Err(StoreError::Refused(format!(
            "topic \"{topic}\": {gone} of {there} rows would be deleted, more than the {:.1} % allowed; nothing was captured: \
             if that is meant, raise max_delete_ratio",
            ratio * 100.0
        )));
    }
    Ok(())
}

/// The source with the columns that it has now; an error if one that it names is missing.
async fn reading<'s>(
    connection: &mut SqliteConnection,
    source: &'s Source,
) -> Result<Reading<'s>, StoreError> {
    let (name, view) = match &source.place {
        Place::Table(name) => (name.as_str(), None),
        Place::Query(text) => ("aftercommit_query", Some(text)),
    };
    if let Some(text) = view {
        execute(connection, format!("create temp view {} as {text}", quoted(name))).await?;
    }
    let columns: Vec<String> =
        sqlx::query_scalar("select name from pragma_table_xinfo($1) where hidden <> 1 order by cid")
            .bind(name)
            .fetch_all(&mut *connection)
            .await?;
    if view.is_some() {
        execute(connection, format!("drop view temp.{}", quoted(name))).await?;
    }
    if columns.is_empty() {
        return Err(StoreError::Refused(format!(
            "topic \"{}\": its source, {name}, does not exist: create it, or attach another table",
            source.topic
        )));
    }
    let mut named = source.key.iter().chain(&source.version).chain(&source.excluded);
    if let Some(missing) = named.find(|name| !columns.contains(name)) {
        return Err(StoreError::Refused(format!(
            "topic \"{}\": {name} has no column \"{missing}\" (it has {}): correct the name, or attach the table again if \
             the column has gone",
            source.topic,
            columns.join(", ")
        )));
    }
    Ok(Reading { source, columns })
}

async fn exists(connection: &mut SqliteConnection, source: &Source) -> Result<bool, StoreError> {
    let Some(table) = source.place.table() else {
        return Ok(true);
    };
    Ok(
        sqlx::query_scalar("select count(*) > 0 from pragma_table_xinfo($1)")
            .bind(table)
            .fetch_one(connection)
            .await?,
    )
}

async fn execute(connection: &mut SqliteConnection, text: String) -> Result<(), StoreError> {
    sqlx::query(AssertSqlSafe(text))
        .execute(connection)
        .await
        .map_err(of_their_own)?;
    Ok(())
}

/// Runs a statement whose one argument is the topic.
async fn execute_for(connection: &mut SqliteConnection, text: String, topic: &str) -> Result<(), StoreError> {
    sqlx::query(AssertSqlSafe(text))
        .bind(topic)
        .execute(connection)
        .await
        .map_err(of_their_own)?;
    Ok(())
}

async fn number(connection: &mut SqliteConnection, text: String, topic: &str) -> Result<u64, StoreError> {
    let query = sqlx::query_scalar::<_, i64>(AssertSqlSafe(text)).bind(topic);
    let number = query.fetch_one(connection).await.map_err(of_their_own)?;
    Ok(number.unsigned_abs())
}

async fn first_text(connection: &mut SqliteConnection, text: String) -> Result<Option<String>, StoreError> {
    let row = sqlx::query(AssertSqlSafe(text))
        .fetch_optional(connection)
        .await
        .map_err(of_their_own)?;
    let value = row.map(|row| row.try_get_unchecked::<String, _>(0));
    Ok(value.transpose()?)
}

/// A fault in names or queries that people gave is no fault of the program.
fn of_their_own(error: sqlx::Error) -> StoreError {
    match &error {
        sqlx::Error::Database(answer) if answer.code().as_deref() == Some("1") => {
            StoreError::Refused(answer.message().to_owned())
        }
        _ => error.into(),
    }
}
