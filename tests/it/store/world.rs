//! A database with the schema in it, and words to speak about what it holds.
//!
//! `on_both!` makes two tests of a story. What a story looks at, it looks at through a connection of its own.

use aftercommit::store::{Database, DatabaseOptions, MissingFile, database::in_sqlite};
use secrecy::SecretString;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, SqliteConnection};

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
        Self {
            backend,
            database: connect(&url),
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

    /// The one number that a query brings.
    pub(crate) async fn number(&self, sql: &str) -> i64 {
        let text = self.text(sql).await.unwrap_or_else(|| panic!("no number: {sql}"));
        text.parse()
            .unwrap_or_else(|_| panic!("{text} is no number: {sql}"))
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
            #[expect(unused_imports, reason = "not every story needs everything of its file")]
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
