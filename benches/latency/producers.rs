//! Producers: each has a connection and commits one row a transaction.

use std::time::{Duration, Instant};

use sqlx::{Connection as _, PgConnection, SqliteConnection};

use super::place::{Backend, Place};

const PAYLOAD: &str = r#"{"id":1,"email":"ada@example.com","amount":10.10,"note":"a row of some size"}"#;

/// A connection of a pipeline.
pub(crate) enum Producer {
    Postgres(PgConnection),
    Sqlite(SqliteConnection),
}

impl Producer {
    /// Connects.
    pub(crate) async fn at(place: &Place) -> anyhow::Result<Self> {
        Ok(match place.backend {
            Backend::Postgres => Self::Postgres(PgConnection::connect(&place.url).await?),
            Backend::Sqlite => Self::Sqlite(SqliteConnection::connect(&place.url).await?),
        })
    }

    /// Commits one row; returns when that was acknowledged.
    pub(crate) async fn commit(&mut self, row_key: &str) -> anyhow::Result<Instant> {
        match self {
            Self::Postgres(connection) => {
                let insert = "insert into aftercommit.outbox (topic, row_key, op, payload)
                    values ('bench', $1, 'event', $2::text::json)";
                let row = sqlx::query(insert).bind(row_key).bind(PAYLOAD);
                row.execute(connection).await?;
            }
            Self::Sqlite(connection) => {
                let insert =
                    "insert into outbox (topic, row_key, op, payload) values ('bench', $1, 'event', $2)";
                let row = sqlx::query(insert).bind(row_key).bind(PAYLOAD);
                row.execute(connection).await?;
            }
        }
        Ok(now())
    }
}

/// Now, for a deadline.
pub(crate) fn now() -> Instant {
    #[expect(clippy::disallowed_methods, reason = "a benchmark measures")]
    Instant::now()
}

/// Commits `rows` rows, one every `pace`; says when each was committed.
pub(crate) async fn at_a_pace(
    mut producer: Producer,
    name: u32,
    rows: u32,
    pace: Duration,
) -> anyhow::Result<Vec<(String, Instant)>> {
    let mut ticks = tokio::time::interval(pace);
    let mut committed = Vec::new();
    for number in 0..rows {
        ticks.tick().await;
        let row_key = format!("{name}-{number}");
        let at = producer.commit(&row_key).await?;
        committed.push((row_key, at));
    }
    Ok(committed)
}

/// Commits as fast as it can; says how often that was.
pub(crate) async fn in_a_crowd(mut producer: Producer, name: u32, until: Instant) -> anyhow::Result<u32> {
    let mut commits = 0;
    while producer.commit(&format!("{name}-{commits}")).await? < until {
        commits += 1;
    }
    Ok(commits)
}
