//! The database in which the rows wait: filled as a pipeline fills it, watched from outside, and disturbed on request.

use std::path::PathBuf;
use std::time::Duration;

use aftercommit::config::{Config, System};
use aftercommit::relay::assemble;
use aftercommit::store::{Database, DatabaseOptions, MissingFile, SqlStore};
use secrecy::SecretString;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, SqliteConnection};

use super::meter;
use super::postgres::Server;

/// Which database the rows wait in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub(crate) enum Backend {
    /// A server of its own, which syncs each commit to disk.
    Postgres,
    /// A file in a temporary directory.
    Sqlite,
}

impl Backend {
    /// As on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::Sqlite => "sqlite",
        }
    }

    /// The one that was asked for, or both.
    pub(crate) fn asked_for(one: Option<Self>) -> Vec<Self> {
        one.map_or_else(|| vec![Self::Postgres, Self::Sqlite], |one| vec![one])
    }
}

/// Synced to disk, otherwise as a default installation.
const SETTINGS: &str = "fsync = on\nfull_page_writes = on\nshared_buffers = 256MB\nmax_wal_size = 4GB\n";

/// Whether the server's package has the extension that counts statements.
const CAN_COUNT: &str =
    "select exists (select from pg_available_extensions where name = 'pg_stat_statements')";

/// Rows that one transaction of the filling commits.
const AT_ONCE: u64 = 250_000;

/// A database with the tables and nothing in them.
pub(crate) struct Base {
    directory: tempfile::TempDir,
    server: Option<Server>,
    url: String,
}

/// Which rows a topic gets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rows {
    /// The number of the first.
    pub(crate) from: u64,
    /// How many.
    pub(crate) count: u64,
    /// Bytes of payload of each.
    pub(crate) bytes: usize,
    /// So many of them are of 1 MiB instead.
    pub(crate) large: u64,
}

/// What PostgreSQL has counted so far.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counters {
    /// Bytes of the write-ahead log.
    pub(crate) wal: i64,
    /// Statements, BEGIN and COMMIT among them, by `pg_stat_statements`, where the server has it.
    pub(crate) statements: Option<i64>,
}

impl Base {
    /// Starts the server or makes the file, and the tables.
    pub(crate) async fn new(backend: Backend) -> anyhow::Result<Self> {
        let directory = tempfile::tempdir()?;
        let (server, url) = match backend {
            Backend::Postgres => {
                let server = Server::own_with(SETTINGS).await;
                let url = server.url();
                (Some(server), url)
            }
            Backend::Sqlite => (
                None,
                format!("sqlite:{}", directory.path().join("base").display()),
            ),
        };
        let base = Self {
            directory,
            server,
            url,
        };
        if let Some(server) = &base.server
            && base.answer::<bool>(CAN_COUNT).await?
        {
            base.execute("alter system set shared_preload_libraries = 'pg_stat_statements'")
                .await?;
            server.stop().await;
            server.start().await;
            base.execute("create extension pg_stat_statements").await?;
        }
        let database = base.connect()?;
        database.migrate("bench").await?;
        database.close().await;
        Ok(base)
    }

    /// Its address.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The server, on PostgreSQL.
    pub(crate) fn server(&self) -> Option<&Server> {
        self.server.as_ref()
    }

    /// A pool of its own.
    pub(crate) fn connect(&self) -> anyhow::Result<Database> {
        let options = DatabaseOptions {
            missing_file: MissingFile::Create,
            ..DatabaseOptions::default()
        };
        Ok(Database::connect(
            &SecretString::from(self.url.clone()),
            &options,
        )?)
    }

    /// Writes topics and routes of a configuration, and leaves it as a file for the relay.
    pub(crate) async fn apply(&self, config: &str) -> anyhow::Result<PathBuf> {
        let path = self.directory.path().join("aftercommit.toml");
        std::fs::write(&path, config)?;
        let config =
            Config::parse(config, &System::beside(&path)).map_err(|faults| anyhow::anyhow!("{faults}"))?;
        let database = self.connect()?;
        SqlStore::new(database.clone())
            .apply(assemble::plan(&config))
            .await?;
        database.close().await;
        Ok(path)
    }

    /// Lets rows of a topic wait, and says how far it is where there are many.
    pub(crate) async fn fill(&self, topic: &str, rows: Rows) -> anyhow::Result<()> {
        let end = rows.from + rows.count;
        let mut from = rows.from;
        while from < end {
            let to = end.min(from + AT_ONCE);
            self.execute(&self.insert(topic, rows, from, to)).await?;
            if rows.count > AT_ONCE {
                eprintln!("{} of {} rows wait", to - rows.from, rows.count);
            }
            from = to;
        }
        self.come_to_rest().await
    }

    /// Does what PostgreSQL would otherwise do later, in the middle of the drain.
    pub(crate) async fn come_to_rest(&self) -> anyhow::Result<()> {
        if self.server.is_some() {
            self.execute("vacuum analyze").await?;
            self.execute("checkpoint").await?;
        }
        Ok(())
    }

    /// Commits rows of a topic, as a pipeline does, in one transaction.
    pub(crate) async fn commit(&self, topic: &str, rows: Rows) -> anyhow::Result<()> {
        let to = rows.from + rows.count;
        self.execute(&self.insert(topic, rows, rows.from, to)).await
    }

    /// Rows `from` to before `to`; the large ones stand at even distances.
    fn insert(&self, topic: &str, rows: Rows, from: u64, to: u64) -> String {
        let every = rows.count.checked_div(rows.large).unwrap_or(0).max(1);
        let large = if rows.large == 0 {
            "false"
        } else {
            &format!("n % {every} = 0")
        };
        let head = r#","email":"ada@example.com","amount":10.10,"note":""#;
        // Around it stand 8 bytes and the digits of the number.
        let rest = head.len() + 13;
        let (usual, huge) = (rows.bytes.saturating_sub(rest), (1 << 20) - rest - 5);
        let size = format!("case when {large} then {huge} else {usual} end");
        let columns = "(topic, row_key, op, payload)";
        if self.server.is_some() {
            format!(
                "insert into aftercommit.outbox {columns} select '{topic}', 'row-' || n, 'event', \
                 ('{{\"id\":' || n || '{head}' || repeat('x', {size}) || '\"}}')::json \
                 from generate_series({from}, {}) as n",
                to - 1
            )
        } else {
            format!(
                "insert into outbox {columns} with recursive numbers (n) as \
                 (select {from} union all select n + 1 from numbers where n < {}) \
                 select '{topic}', 'row-' || n, 'event', \
                 '{{\"id\":' || n || '{head}' || printf('%.*c', {size}, 'x') || '\"}}' from numbers",
                to - 1
            )
        }
    }

    /// Runs statements on a connection of their own.
    pub(crate) async fn execute(&self, sql: &str) -> anyhow::Result<()> {
        let sql = sqlx::raw_sql(AssertSqlSafe(sql.to_owned()));
        if self.server.is_some() {
            sql.execute(&mut PgConnection::connect(&self.url).await?).await?;
        } else {
            sql.execute(&mut SqliteConnection::connect(&self.url).await?)
                .await?;
        }
        Ok(())
    }

    /// The one value that a query gives.
    async fn answer<T>(&self, sql: &'static str) -> anyhow::Result<T>
    where
        T: Send + Unpin,
        for<'r> T: sqlx::Decode<'r, sqlx::Postgres> + sqlx::Type<sqlx::Postgres>,
        for<'r> T: sqlx::Decode<'r, sqlx::Sqlite> + sqlx::Type<sqlx::Sqlite>,
    {
        Ok(if self.server.is_some() {
            let mut connection = PgConnection::connect(&self.url).await?;
            sqlx::query_scalar(sql).fetch_one(&mut connection).await?
        } else {
            let mut connection = SqliteConnection::connect(&self.url).await?;
            sqlx::query_scalar(sql).fetch_one(&mut connection).await?
        })
    }

    /// The process whose children serve the connections, on PostgreSQL.
    pub(crate) async fn postmaster(&self) -> anyhow::Result<Option<u32>> {
        if self.server.is_none() {
            return Ok(None);
        }
        let mut connection = PgConnection::connect(&self.url).await?;
        let child: i32 = sqlx::query_scalar("select pg_backend_pid()")
            .fetch_one(&mut connection)
            .await?;
        let postmaster = meter::parent_of(u32::try_from(child)?);
        Ok(Some(postmaster.ok_or_else(|| {
            anyhow::anyhow!("the server's process is not found")
        })?))
    }

    /// What PostgreSQL has counted.
    pub(crate) async fn counters(&self) -> anyhow::Result<Option<Counters>> {
        if self.server.is_none() {
            return Ok(None);
        }
        let wal = self
            .answer("select (pg_current_wal_lsn() - '0/0')::bigint")
            .await?;
        let counted = "select to_regclass('pg_stat_statements') is not null";
        let statements = if self.answer::<bool>(counted).await? {
            let calls = "select coalesce(sum(calls), 0)::bigint from pg_stat_statements";
            Some(self.answer(calls).await?)
        } else {
            None
        };
        Ok(Some(Counters { wal, statements }))
    }

    /// Waits until a query for what the sender has still open finds nothing.
    pub(crate) async fn settled(&self, open: &'static str) -> anyhow::Result<()> {
        let mut looks = tokio::time::interval(Duration::from_millis(5));
        while self.answer::<bool>(open).await? {
            looks.tick().await;
        }
        Ok(())
    }
}
