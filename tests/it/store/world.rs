//! A database with the schema in it, and words to speak about what it holds.
//!
//! `on_both!` makes two tests of a story. What a story looks at, it looks at through a connection of its own.

use std::time::Duration;

use aftercommit::core::row::{NewRow, Op, TopicKind};
use aftercommit::store::database::in_sqlite;
use aftercommit::store::{
    Admission, Database, DatabaseOptions, Enqueued, FetchLimits, Fetched, Lease, MissingFile, Outbox, Plan,
    RelayId, Route, Shard, SqlStore, Store as _,
};
use secrecy::SecretString;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, SqliteConnection};
use uuid::Uuid;

/// Which database a story runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Backend {
    Postgres,
    Sqlite,
}

/// A database for one story; gone when dropped.
pub(crate) struct World {
    pub(crate) backend: Backend,
    pub(crate) url: String,
    pub(crate) database: Database,
    pub(crate) store: SqlStore,
    _keep: Keep,
}

#[expect(dead_code, reason = "held until the story ends, never looked at")]
enum Keep {
    Postgres(crate::postgres::TestDatabase),
    Sqlite(crate::sqlite::TestDatabase),
}

impl World {
    /// A database without a schema.
    pub(crate) async fn empty(backend: Backend) -> Self {
        let (url, keep) = match backend {
            Backend::Postgres => {
                let database = crate::postgres::database().await;
                (database.url(), Keep::Postgres(database))
            }
            Backend::Sqlite => {
                let database = crate::sqlite::database();
                (database.url(), Keep::Sqlite(database))
            }
        };
        Self::at(backend, url, keep)
    }

    /// A database of a server of the story's own, without a schema.
    pub(crate) fn on(database: crate::postgres::TestDatabase) -> Self {
        Self::at(Backend::Postgres, database.url(), Keep::Postgres(database))
    }

    fn at(backend: Backend, url: String, keep: Keep) -> Self {
        let database = connect(&url);
        Self {
            backend,
            store: SqlStore::new(database.clone()),
            database,
            url,
            _keep: keep,
        }
    }

    /// A database with the schema.
    pub(crate) async fn migrated(backend: Backend) -> Self {
        let world = Self::empty(backend).await;
        world.database.migrate("test").await.unwrap();
        world
    }

    /// A database in which the event topic `orders` goes to `hook`.
    pub(crate) async fn routed(backend: Backend) -> Self {
        let world = Self::migrated(backend).await;
        world
            .apply(&[("orders", TopicKind::Event)], &[("orders", "hook")])
            .await;
        world
    }

    /// Applies a configuration.
    pub(crate) async fn apply(&self, topics: &[(&str, TopicKind)], routes: &[(&str, &str)]) {
        self.store.apply(plan(topics, routes)).await.unwrap();
    }

    /// Commits an event of each row key to `orders`. Their outbox ids are 1, 2, 3 … where nothing came before.
    pub(crate) async fn commit(&self, row_keys: &[&str]) {
        let rows: Vec<NewRow> = row_keys.iter().map(|row_key| event(row_key)).collect();
        self.commit_rows(&rows).await;
    }

    /// Commits as many events.
    pub(crate) async fn commit_many(&self, count: usize) {
        let rows: Vec<NewRow> = (0..count).map(|number| event(&format!("{number:07}"))).collect();
        self.commit_rows(&rows).await;
    }

    /// Commits rows in one transaction.
    pub(crate) async fn commit_rows(&self, rows: &[NewRow]) -> Enqueued {
        match self.backend {
            Backend::Postgres => {
                let mut connection = PgConnection::connect(&self.url).await.unwrap();
                let mut transaction = connection.begin().await.unwrap();
                let enqueued = Outbox::enqueue_all(&mut transaction, rows).await.unwrap();
                transaction.commit().await.unwrap();
                connection.close().await.unwrap();
                enqueued
            }
            Backend::Sqlite => {
                let mut connection = SqliteConnection::connect(&self.url).await.unwrap();
                let mut transaction = connection.begin().await.unwrap();
                let enqueued = Outbox::enqueue_all(&mut transaction, rows).await.unwrap();
                transaction.commit().await.unwrap();
                connection.close().await.unwrap();
                enqueued
            }
        }
    }

    /// Enqueues one row, and commits or rolls back.
    pub(crate) async fn enqueue(
        &self,
        row: &NewRow,
        end: End,
    ) -> Result<Admission, aftercommit::store::StoreError> {
        macro_rules! enqueue {
            ($connection:ty) => {{
                let mut connection = <$connection>::connect(&self.url).await.unwrap();
                let mut transaction = connection.begin().await.unwrap();
                let admission = Outbox::enqueue(&mut transaction, row).await;
                match end {
                    End::Commit => transaction.commit().await.unwrap(),
                    End::Rollback => transaction.rollback().await.unwrap(),
                }
                admission
            }};
        }
        match self.backend {
            Backend::Postgres => enqueue!(PgConnection),
            Backend::Sqlite => enqueue!(SqliteConnection),
        }
    }

    /// Takes the lease of the one shard of `hook` for a relay that lives.
    pub(crate) async fn lease(&self, relay: RelayId) -> Lease {
        self.store.beat(&relay, TTL).await.unwrap();
        self.store
            .acquire(&hook(), &relay, TTL)
            .await
            .unwrap()
            .expect("the lease is free")
    }

    /// Takes the lease from whoever has it: their heart has stopped.
    pub(crate) async fn take_from(&self, old: RelayId, new: RelayId) -> Lease {
        self.store.leave(&old).await.unwrap();
        self.lease(new).await
    }

    /// Everything that is owed to `hook`.
    pub(crate) async fn owed(&self) -> Fetched {
        self.store.fetch(&hook(), 0, LIMITS).await.unwrap()
    }

    /// `state reason` of a delivery to `hook`, for example `delivered accepted`; a pending one has no reason.
    pub(crate) async fn state(&self, outbox_id: i64) -> String {
        let state = format!(
            "select state || coalesce(' ' || reason, '') from aftercommit.delivery
             where outbox_id = {outbox_id} and destination = 'hook'"
        );
        self.text(&state).await.unwrap_or_else(|| "gone".to_owned())
    }

    /// The outcomes of the attempts of a delivery to `hook`, in order, for example `unknown,accepted`.
    pub(crate) async fn outcomes(&self, outbox_id: i64) -> String {
        let gather = match self.backend {
            Backend::Postgres => "string_agg",
            Backend::Sqlite => "group_concat",
        };
        let outcomes = format!(
            "select {gather}(outcome, ',') from (select outcome from aftercommit.attempt
             where outbox_id = {outbox_id} and destination = 'hook' order by number) as history"
        );
        self.text(&outcomes).await.unwrap_or_default()
    }

    /// Runs statements, written as for PostgreSQL where both speak them.
    pub(crate) async fn execute(&self, sql: &str) {
        self.try_execute(sql)
            .await
            .unwrap_or_else(|error| panic!("{error}: {sql}"));
    }

    /// The same where the story expects a refusal.
    pub(crate) async fn try_execute(&self, sql: &str) -> Result<(), sqlx::Error> {
        match self.backend {
            Backend::Postgres => {
                let mut connection = PgConnection::connect(&self.url).await?;
                sqlx::raw_sql(AssertSqlSafe(sql.to_owned()))
                    .execute(&mut connection)
                    .await?;
                connection.close().await
            }
            Backend::Sqlite => {
                let mut connection = SqliteConnection::connect(&self.url).await?;
                sqlx::raw_sql(AssertSqlSafe(in_sqlite(sql)))
                    .execute(&mut connection)
                    .await?;
                connection.close().await
            }
        }
    }

    /// The one text that a query brings, for example `select state from …`; nothing if it brings no row or null.
    pub(crate) async fn text(&self, sql: &str) -> Option<String> {
        let sql = format!("select cast(({sql}) as text)");
        match self.backend {
            Backend::Postgres => {
                let mut connection = PgConnection::connect(&self.url).await.unwrap();
                sqlx::query_scalar(AssertSqlSafe(sql))
                    .fetch_one(&mut connection)
                    .await
                    .unwrap()
            }
            Backend::Sqlite => {
                let mut connection = SqliteConnection::connect(&self.url).await.unwrap();
                let sql = in_sqlite(&sql);
                sqlx::query_scalar(AssertSqlSafe(sql))
                    .fetch_one(&mut connection)
                    .await
                    .unwrap()
            }
        }
    }

    /// What the attempts of the rows with this row key met, in their order: `outcome status, outcome status`.
    pub(crate) async fn history(&self, row_key: &str) -> String {
        let gather = match self.backend {
            Backend::Postgres => "string_agg",
            Backend::Sqlite => "group_concat",
        };
        let attempts = format!(
            "select {gather}(met, ', ') from
             (select attempt.outcome || ' ' || coalesce(cast(http_status as text), '-') as met
              from aftercommit.attempt join aftercommit.outbox on outbox.id = attempt.outbox_id
              where outbox.row_key = '{row_key}' order by attempt.outbox_id, attempt.number) as history"
        );
        self.text(&attempts).await.unwrap_or_default()
    }

    /// The one number that a query brings.
    pub(crate) async fn number(&self, sql: &str) -> i64 {
        let text = self.text(sql).await.unwrap_or_else(|| panic!("no number: {sql}"));
        text.parse()
            .unwrap_or_else(|_| panic!("{text} is no number: {sql}"))
    }
}

/// How a story ends a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Commit,
    Rollback,
}

/// Longer than any story.
pub(crate) const TTL: Duration = Duration::from_mins(10);

/// More than any story needs.
pub(crate) const LIMITS: FetchLimits = FetchLimits {
    rows: 10_000,
    bytes: 1 << 30,
};

/// What a fetch brought, by outbox id.
pub(crate) trait FetchedIds {
    fn ids(&self) -> Vec<i64>;
}

impl FetchedIds for Fetched {
    fn ids(&self) -> Vec<i64> {
        self.owed.iter().map(|owed| owed.row.id).collect()
    }
}

/// The one shard of `hook`.
pub(crate) fn hook() -> Shard {
    shard("hook", 0, 1)
}

pub(crate) fn shard(destination: &str, number: u32, of: u32) -> Shard {
    Shard {
        destination: destination.into(),
        number,
        of,
    }
}

pub(crate) fn relay(number: u128) -> RelayId {
    RelayId(Uuid::from_u128(number))
}

pub(crate) fn plan(topics: &[(&str, TopicKind)], routes: &[(&str, &str)]) -> Plan {
    let route = |&(topic, destination): &(&str, &str)| Route {
        topic: topic.to_owned(),
        destination: destination.to_owned(),
    };
    Plan {
        topics: topics
            .iter()
            .map(|&(name, kind)| (name.to_owned(), kind))
            .collect(),
        routes: routes.iter().map(route).collect(),
        max_payload_bytes: 1 << 20,
        namespace: None,
    }
}

/// An event of `orders`.
pub(crate) fn event(row_key: &str) -> NewRow {
    NewRow {
        topic: "orders".to_owned(),
        row_key: row_key.to_owned(),
        row_version: None,
        op: Op::Event,
        payload: format!(r#"{{"key":"{row_key}"}}"#),
        headers: None,
    }
}

/// A version of a row of the state topic `customers`.
pub(crate) fn upsert(row_key: &str, row_version: i64, payload: &str) -> NewRow {
    NewRow {
        topic: "customers".to_owned(),
        row_key: row_key.to_owned(),
        row_version: Some(row_version),
        op: Op::Upsert,
        payload: payload.to_owned(),
        headers: None,
    }
}

/// A further way into the database of a world, as another process would have.
pub(crate) fn connect(url: &str) -> Database {
    let options = DatabaseOptions {
        missing_file: MissingFile::Create,
        ..DatabaseOptions::default()
    };
    Database::connect(&SecretString::from(url), &options).unwrap()
}

/// Makes two tests of each story: `story::postgres` and `story::sqlite`.
macro_rules! on_both {
    ($($(#[$doc:meta])* async fn $story:ident($backend:ident: Backend) $body:block)+) => {$(
        $(#[$doc])*
        mod $story {
            use super::*;

            async fn story($backend: Backend) $body

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn postgres() {
                story(Backend::Postgres).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn sqlite() {
                story(Backend::Sqlite).await;
            }
        }
    )+};
}
pub(crate) use on_both;
