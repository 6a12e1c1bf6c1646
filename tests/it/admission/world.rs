//! A database with the tables of Aftercommit in it, and a pipeline that writes to its outbox. Speaks the words of the
//! stories; knows nothing of the code in `src`, as a pipeline does not.

use std::path::Path;
use std::str::FromStr as _;
use std::{fs, path};

use sqlx::postgres::PgConnectOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{AssertSqlSafe, ConnectOptions as _, PgConnection, SqliteConnection};

use crate::{postgres, sqlite};

/// One database. Its own session serves the stories that need no second one.
pub(super) struct World {
    pub(super) pipeline: Session,
    database: Database,
}

enum Database {
    Postgres(postgres::TestDatabase),
    Sqlite(sqlite::TestDatabase),
}

/// A connection, as a pipeline has one.
pub(super) enum Session {
    Postgres(PgConnection),
    Sqlite(SqliteConnection),
}

impl World {
    pub(super) async fn on_postgres() -> Self {
        let database = Database::Postgres(postgres::database().await);
        let mut pipeline = database.connect().await;
        pipeline.run("create schema aftercommit").await;
        Self::migrated(pipeline, database, "migrations/postgres").await
    }

    pub(super) async fn on_sqlite() -> Self {
        let database = Database::Sqlite(sqlite::database());
        let pipeline = database.connect().await;
        Self::migrated(pipeline, database, "migrations/sqlite").await
    }

    async fn migrated(mut pipeline: Session, database: Database, migrations: &str) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(migrations);
        let mut files: Vec<path::PathBuf> = fs::read_dir(folder)
            .expect("the migrations can be read")
            .map(|entry| entry.expect("the migrations can be read").path())
            .collect();
        files.sort();
        for file in files {
            pipeline
                .run(&fs::read_to_string(file).expect("the migrations can be read"))
                .await;
        }
        Self { pipeline, database }
    }

    /// A further session of the pipeline.
    pub(super) async fn session(&self) -> Session {
        self.database.connect().await
    }

    /// Commits rows in one statement, and returns how many of them were admitted.
    pub(super) async fn commit(&mut self, rows: &[Row]) -> u64 {
        self.pipeline.insert(rows).await.expect("the rows are sound")
    }

    /// What was admitted of a row, oldest first: generation, op and content of each, such as `2 upsert B`.
    pub(super) async fn history(&mut self, row_key: &str) -> Vec<String> {
        let query = format!(
            "select generation || ' ' || op || ' ' || replace(cast(payload as text), '\"', '')
            from outbox where row_key = {} order by id",
            quoted(row_key)
        );
        self.pipeline.lines(&query).await
    }

    /// What is owed: destination and row key of each delivery.
    pub(super) async fn owed(&mut self) -> Vec<String> {
        let query = "select destination || ' <- ' || row_key from owed join outbox on id = outbox_id
            order by destination, outbox_id";
        self.pipeline.lines(query).await
    }

    /// How many rows a table holds.
    pub(super) async fn count(&mut self, table: &str) -> usize {
        self.pipeline
            .number(&format!("select count(*) from {table}"))
            .await
    }
}

impl Database {
    async fn connect(&self) -> Session {
        match self {
            Self::Postgres(database) => {
                let options = PgConnectOptions::from_str(&database.url()).expect("a sound address");
                // So that both databases know the tables by their bare names.
                let options = options.options([("search_path", "aftercommit")]);
                Session::Postgres(options.connect().await.expect("the server takes connections"))
            }
            Self::Sqlite(database) => {
                let options = SqliteConnectOptions::from_str(&database.url()).expect("a sound address");
                let options = options
                    .journal_mode(SqliteJournalMode::Wal)
                    .synchronous(SqliteSynchronous::Off);
                Session::Sqlite(options.connect().await.expect("the file can be opened"))
            }
        }
    }
}

impl Session {
    /// Executes one or more statements as text, and returns how many rows they wrote.
    pub(super) async fn execute(&mut self, sql: &str) -> Result<u64, sqlx::Error> {
        let statement = sqlx::raw_sql(AssertSqlSafe(sql.to_owned()));
        Ok(match self {
            Self::Postgres(session) => statement.execute(session).await?.rows_affected(),
            Self::Sqlite(session) => statement.execute(session).await?.rows_affected(),
        })
    }

    /// The same for what cannot fail.
    pub(super) async fn run(&mut self, sql: &str) -> u64 {
        self.execute(sql)
            .await
            .unwrap_or_else(|error| panic!("{error}\n{sql}"))
    }

    /// Inserts rows in one statement, and returns how many of them were admitted.
    pub(super) async fn insert(&mut self, rows: &[Row]) -> Result<u64, sqlx::Error> {
        self.execute(&insert(rows)).await
    }

    /// The only column of a query, which is text.
    pub(super) async fn lines(&mut self, query: &str) -> Vec<String> {
        let statement = sqlx::query_scalar(AssertSqlSafe(query.to_owned()));
        let lines = match self {
            Self::Postgres(session) => statement.fetch_all(session).await,
            Self::Sqlite(session) => {
                sqlx::query_scalar(AssertSqlSafe(query.to_owned()))
                    .fetch_all(session)
                    .await
            }
        };
        lines.unwrap_or_else(|error| panic!("{error}\n{query}"))
    }

    /// The only value of a query, which is a count.
    pub(super) async fn number(&mut self, query: &str) -> usize {
        let lines = self.lines(&format!("select cast(({query}) as text)")).await;
        lines[0].parse().expect("a count")
    }

    /// What starts a transaction that is going to write.
    pub(super) fn begin(&self) -> &'static str {
        match self {
            Self::Postgres(_) => "begin",
            Self::Sqlite(_) => "begin immediate",
        }
    }
}

/// A row on its way into the outbox.
#[derive(Clone)]
#[expect(
    clippy::struct_field_names,
    reason = "the fields bear the names of the columns"
)]
pub(super) struct Row {
    topic: String,
    row_key: String,
    row_version: Option<i64>,
    op: &'static str,
    payload: Option<String>,
}

/// A row of the state topic `customers` has this content now.
pub(super) fn upsert(row_key: &str, content: &str) -> Row {
    Row::new("customers", row_key, "upsert", Some(format!("\"{content}\"")))
}

/// A row of the state topic `customers` is gone.
pub(super) fn delete(row_key: &str) -> Row {
    Row::new("customers", row_key, "delete", None)
}

/// Something happened in the event topic `orders`.
pub(super) fn event(row_key: &str, content: &str) -> Row {
    Row::new("orders", row_key, "event", Some(format!("\"{content}\"")))
}

impl Row {
    fn new(topic: &str, row_key: &str, op: &'static str, payload: Option<String>) -> Self {
        let (topic, row_key) = (topic.to_owned(), row_key.to_owned());
        Self {
            topic,
            row_key,
            row_version: None,
            op,
            payload,
        }
    }

    pub(super) fn version(self, row_version: i64) -> Self {
        Self {
            row_version: Some(row_version),
            ..self
        }
    }

    pub(super) fn topic(self, topic: &str) -> Self {
        Self {
            topic: topic.to_owned(),
            ..self
        }
    }

    /// Replaces the payload by JSON text, or by what ought to be JSON text.
    pub(super) fn payload(self, payload: &str) -> Self {
        Self {
            payload: Some(payload.to_owned()),
            ..self
        }
    }

    fn values(&self) -> String {
        let version = self
            .row_version
            .map_or("null".to_owned(), |version| version.to_string());
        let payload = self.payload.as_deref().map_or("null".to_owned(), quoted);
        let (topic, row_key) = (quoted(&self.topic), quoted(&self.row_key));
        format!("({topic}, {row_key}, {version}, '{}', {payload})", self.op)
    }
}

/// The statement that any pipeline can write.
pub(super) fn insert(rows: &[Row]) -> String {
    let values: Vec<String> = rows.iter().map(Row::values).collect();
    format!(
        "insert into outbox (topic, row_key, row_version, op, payload) values {}",
        values.join(", ")
    )
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
