//! A database with the schema and a route in it, and a relay on it: the full product.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use aftercommit::clock::{Clock, SystemClock};
use aftercommit::config::{Config, System, WakeupMode};
use aftercommit::relay::{Relay, assemble};
use aftercommit::store::{Database, DatabaseOptions, MissingFile, RelayId, SqlStore};
use secrecy::SecretString;
use sqlx::{Connection as _, PgConnection};

use super::cpu;
use crate::postgres::Server;

/// Which database it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub(crate) enum Backend {
    /// A server of its own.
    Postgres,
    /// A file in a temporary directory.
    Sqlite,
}

/// A database and a relay on it.
pub(crate) struct Place {
    pub(crate) backend: Backend,
    pub(crate) url: String,
    database: Database,
    relay: Relay,
    /// The server's first process.
    pub(crate) server: Option<u32>,
    _server: Option<Server>,
    _directory: tempfile::TempDir,
}

impl Place {
    /// Starts all of it; what is committed goes to `receiver`.
    pub(crate) async fn start(
        backend: Backend,
        settings: &str,
        wakeup: WakeupMode,
        receiver: &str,
    ) -> anyhow::Result<Self> {
        let directory = tempfile::tempdir()?;
        let server = match backend {
            Backend::Postgres => Some(Server::own_with(settings).await),
            Backend::Sqlite => None,
        };
        let url = match &server {
            Some(server) => server.url(),
            None => format!(
                "sqlite://{}?mode=rwc",
                directory.path().join("latency.db").display()
            ),
        };
        let options = DatabaseOptions {
            missing_file: MissingFile::Create,
            ..DatabaseOptions::default()
        };
        let database = Database::connect(&SecretString::from(url.clone()), &options)?;
        database.migrate("bench").await?;
        let store = SqlStore::new(database.clone());
        let mut config = config(&url, receiver)?;
        config.relay.wakeup = wakeup;
        store.apply(assemble::plan(&config)).await?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
        let id = RelayId(uuid::Uuid::new_v4());
        let context = assemble::context(id, Arc::new(store), &config, clock.clone()).await?;
        let relay = Relay::start(context, assemble::destinations(&config, &clock)?);
        Ok(Self {
            server: match backend {
                Backend::Postgres => Some(postmaster(&url).await?),
                Backend::Sqlite => None,
            },
            backend,
            url,
            database,
            relay,
            _server: server,
            _directory: directory,
        })
    }

    /// Ends the relay.
    pub(crate) async fn stop(self) -> anyhow::Result<()> {
        self.relay.shutdown(Duration::from_secs(30)).await?;
        self.database.close().await;
        Ok(())
    }
}

/// The process whose children serve the connections.
async fn postmaster(url: &str) -> anyhow::Result<u32> {
    let mut connection = PgConnection::connect(url).await?;
    let session: i32 = sqlx::query_scalar("select pg_backend_pid()")
        .fetch_one(&mut connection)
        .await?;
    cpu::parent_of(u32::try_from(session)?)
        .ok_or_else(|| anyhow::anyhow!("the server's process is not found"))
}

fn config(database: &str, receiver: &str) -> anyhow::Result<Config> {
    let text = format!(
        "[database]\nurl = \"{database}\"\n[topics.bench]\nkind = \"event\"\n[destinations.hook]\ntype = \"webhook\"\n\
         url = \"{receiver}\"\ntopics = [\"bench\"]\nallow_http = true\nallow_networks = [\"127.0.0.0/8\"]\n\
         secrets = [\"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\"]\n"
    );
    Config::parse(&text, &System::beside(Path::new("."))).map_err(|faults| anyhow::anyhow!("{faults}"))
}
