//! The relay: rows that wait in a database, drained by the full product.

use std::sync::Arc;
use std::time::Duration;

use aftercommit::clock::{Clock, SystemClock};
use aftercommit::config::{Config, System};
use aftercommit::relay::{Relay, assemble};
use aftercommit::store::{Database, DatabaseOptions, MissingFile, SqlStore};
use secrecy::SecretString;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, SqliteConnection};

use super::figures::{self, Meter, Turn};
use super::receiver::Process;
use crate::postgres::Server;

/// Which database the rows wait in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub(crate) enum Backend {
    /// A server of its own, which syncs each commit to disk.
    Postgres,
    /// A file in a temporary directory.
    Sqlite,
}

/// Synced to disk, otherwise as a default installation.
const SETTINGS: &str = "fsync = on\nfull_page_writes = on\nshared_buffers = 256MB\nmax_wal_size = 4GB\n";

/// A JSON object of about `bytes` bytes.
pub(crate) fn payload(number: u64, bytes: usize) -> String {
    let head = format!(r#"{{"id":{number},"email":"ada@example.com","amount":10.10,"note":""#);
    let fill = bytes.saturating_sub(head.len() + 2);
    format!("{head}{}\"}}", "x".repeat(fill))
}

/// Lets `rows` rows wait, then drains them.
pub(crate) async fn run(
    backend: Backend,
    receiver: &Process,
    rows: u64,
    bytes: usize,
    concurrency: usize,
) -> anyhow::Result<Turn> {
    let directory = tempfile::tempdir()?;
    let server = match backend {
        Backend::Postgres => Some(Server::own_with(SETTINGS).await),
        Backend::Sqlite => None,
    };
    let url = match &server {
        Some(server) => server.url(),
        None => format!(
            "sqlite://{}?mode=rwc",
            directory.path().join("drain.db").display()
        ),
    };
    let options = DatabaseOptions {
        missing_file: MissingFile::Create,
        ..DatabaseOptions::default()
    };
    let database = Database::connect(&SecretString::from(url.clone()), &options)?;
    database.migrate("bench").await?;
    let store = SqlStore::new(database.clone());
    let config = config(&url, receiver.url(), concurrency)?;
    store.apply(assemble::plan(&config)).await?;
    fill(backend, &url, rows, bytes).await?;

    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let context = assemble::context(
        aftercommit::store::RelayId(uuid::Uuid::new_v4()),
        Arc::new(store.clone()),
        &config,
        clock.clone(),
    )
    .await?;
    let mut others = vec![receiver.pid()];
    if backend == Backend::Postgres {
        others.push(postmaster(&url).await?);
    }
    let meter = Meter::start(&others);
    let relay = Relay::start(context, assemble::destinations(&config, &clock)?);
    let mut looks = tokio::time::interval(Duration::from_millis(20));
    while receiver.unique_keys().await? < rows {
        looks.tick().await;
    }
    let turn = meter.stop(rows);
    relay.shutdown(Duration::from_secs(30)).await?;
    database.close().await;
    Ok(turn)
}

/// The process whose children serve the connections.
async fn postmaster(url: &str) -> anyhow::Result<u32> {
    let mut connection = PgConnection::connect(url).await?;
    let backend: i32 = sqlx::query_scalar("select pg_backend_pid()")
        .fetch_one(&mut connection)
        .await?;
    figures::parent_of(u32::try_from(backend)?)
        .ok_or_else(|| anyhow::anyhow!("the server's process is not found"))
}

fn config(database: &str, receiver: &str, concurrency: usize) -> anyhow::Result<Config> {
    let text = format!(
        "[database]\nurl = \"{database}\"\n[topics.bench]\nkind = \"event\"\n[destinations.hook]\ntype = \"webhook\"\n\
         url = \"{receiver}\"\ntopics = [\"bench\"]\nallow_http = true\nallow_networks = [\"127.0.0.0/8\"]\n\
         concurrency = {concurrency}\nsecrets = [\"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\"]\n"
    );
    Config::parse(&text, &System::beside(std::path::Path::new(".")))
        .map_err(|faults| anyhow::anyhow!("{faults}"))
}

/// The rows, as a pipeline commits them.
async fn fill(backend: Backend, url: &str, rows: u64, bytes: usize) -> anyhow::Result<()> {
    let template = payload(0, bytes).replace("\"id\":0", "\"id\":#");
    let columns = "(topic, row_key, op, payload)";
    match backend {
        Backend::Postgres => {
            let sql = format!(
                "insert into aftercommit.outbox {columns} select 'bench', 'row-' || n, 'event', \
                 replace('{template}', '#', n::text)::json from generate_series(1, {rows}) as n"
            );
            let mut connection = PgConnection::connect(url).await?;
            sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await?;
            for settle in ["vacuum analyze", "checkpoint"] {
                sqlx::raw_sql(settle).execute(&mut connection).await?;
            }
        }
        Backend::Sqlite => {
            let sql = format!(
                "insert into outbox {columns} with recursive numbers (n) as \
                 (select 1 union all select n + 1 from numbers where n < {rows}) \
                 select 'bench', 'row-' || n, 'event', replace('{template}', '#', n) from numbers"
            );
            let mut connection = SqliteConnection::connect(url).await?;
            sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await?;
        }
    }
    Ok(())
}
