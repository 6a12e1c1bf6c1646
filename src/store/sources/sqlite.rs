//! Sources on SQLite: row triggers that insert into the outbox, and a comparison made of statements.

use sqlx::{AssertSqlSafe, Row as _, SqliteConnection};

use super::sqlite_text::{Reading, VERSION, quoted, trigger_names};
use super::{Captured, Deletes, Extent, Former, Place, Source, Way};
use crate::store::error::{Objection, StoreError};

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
        return Err(StoreError::Refused(Objection::new(
            format!(
                "topic \"{}\" is of kind event, and a table is attached to a state topic",
                source.topic
            ),
            "choose another topic",
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
    refuse_bad_version(connection, &reading, "true").await?;
    match source.way {
        Way::Capture => Ok(()),
        Way::Trigger => put_up_triggers(connection, &reading).await,
    }
}

/// A version that orders nothing is named with its column: the outbox, which would refuse it too, does not know that.
async fn refuse_bad_version(
    connection: &mut SqliteConnection,
    reading: &Reading<'_>,
    condition: &str,
) -> Result<(), StoreError> {
    let Some(query) = reading.bad_version(condition) else {
        return Ok(());
    };
    match first_text(connection, query).await? {
        None => Ok(()),
        Some(value) => Err(StoreError::Refused(Objection::new(
            format!("{} holds {value}", reading.version_column()),
            VERSION,
        ))),
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
        Some(other) => Err(StoreError::Refused(Objection::new(
            format!("topic \"{}\" has its rows in {other} already", source.topic),
            "choose another topic, or detach this one first. To put another table in its place on purpose, replace it (--replace)",
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
        return Err(StoreError::Refused(Objection::new(
            format!("{table} is no table, and triggers see tables only"),
            "attach it by capture",
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
    let topic = &source.topic;
    let slice = match &extent.partition {
        None => None,
        Some(text) => Some(
            reading
                .condition(text, extent.deletes)
                .map_err(StoreError::Refused)?,
        ),
    };
    let condition = slice.as_deref().unwrap_or("true");
    if source.version.is_none()
        && let Some(row_key) = first_text(connection, reading.ambiguous(condition)).await?
    {
        return Err(StoreError::Refused(Objection::new(
            format!("topic \"{topic}\": several rows with different content have the row key \"{row_key}\""),
            "name the columns that tell rows apart as the key, or a version column: then the newest counts",
        )));
    }
    refuse_bad_version(connection, &reading, condition).await?;
    let seen = number(connection, reading.count(condition), topic).await?;
    let rows = reading.rows(condition);
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
            let gone = reading.gone(slice.as_deref());
            let count = number(connection, format!("select count(*) from ({gone})"), topic).await?;
            let there = if slice.is_some() { seen + count } else { known };
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
        return Err(StoreError::Declined(Objection::new(
            format!("topic \"{topic}\": all {gone} rows would be deleted; nothing was captured"),
            "is the source empty by mistake? Without deletes, capture it again",
        )));
    }
    if part > ratio {
        let allowed = ratio * 100.0;
        return Err(StoreError::Declined(Objection::new(
            format!(
                "topic \"{topic}\": {gone} of {there} rows would be deleted, more than the {allowed:.1} % allowed; nothing was \
                 captured"
            ),
            "if that is meant, raise max_delete_ratio",
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
        return Err(StoreError::Missing(Objection::new(
            format!("topic \"{}\": its source, {name}, does not exist", source.topic),
            "create it, or attach another table to the topic",
        )));
    }
    let mut named = source.key.iter().chain(&source.version).chain(&source.excluded);
    if let Some(missing) = named.find(|name| !columns.contains(name)) {
        return Err(StoreError::Refused(Objection::new(
            format!(
                "topic \"{}\": {name} has no column \"{missing}\" (it has {})",
                source.topic,
                columns.join(", ")
            ),
            "correct the name, or attach the table again if the column has gone",
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
            StoreError::Refused(answer.message().to_owned().into())
        }
        _ => error.into(),
    }
}
