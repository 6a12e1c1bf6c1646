//! PostgreSQL for tests: one server a run with a database for each test, or a server of its own for a test that stops it.
//!
//! It never uses a server that somebody left running, and leaves none behind: `keeper.sh` starts each server and clears
//! it away when the run ends, even by `kill -9`.
//!
//! ```text
//!  cargo test:     the process of the tests ─┐                        ┌─ watches the run
//!  cargo nextest:  a process for each test   ├─ the first one starts ─▶ keeper ─ starts, stops ─▶ server
//!                  (NEXTEST_RUN_ID is one) ──┘    (a file lock)
//! ```

mod pooler;
#[cfg(test)]
mod tests;
mod tools;

use std::fs::File;
use std::os::unix::process::parent_id;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs, process, thread};

use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use uuid::Uuid;

pub(crate) use self::pooler::Pooler;
use self::tools::Tools;

/// Socket only, roomy, and careless: no test of ours pulls the plug of the machine. A server of its own can differ.
const SETTINGS: &str = "
listen_addresses = ''
port = 5432
unix_socket_permissions = 0700
max_connections = 300
fsync = off
full_page_writes = off
";

/// A fresh database with the encoding UTF8 and the locale C, on the server of the run.
pub(crate) async fn database() -> TestDatabase {
    static SERVER: OnceLock<Result<Server, String>> = OnceLock::new();
    let server = tokio::task::spawn_blocking(|| SERVER.get_or_init(server_of_the_run)).await;
    match server.expect("starting the server does not panic") {
        Ok(server) => server.database().await,
        Err(problem) => panic!("{problem}"),
    }
}

/// A database for one test, dropped with the value, whoever is still connected.
pub(crate) struct TestDatabase {
    name: String,
    server: PathBuf,
}

impl TestDatabase {
    /// The address that sqlx parses: the socket's directory is the parameter `host`.
    pub(crate) fn url(&self) -> String {
        url(&self.server, &self.name)
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        let server = url(&self.server, "postgres");
        let statement = format!("drop database if exists {} with (force)", self.name);
        let dropping = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime
                .expect("a runtime for dropping a database")
                .block_on(execute(&server, statement))
        });
        // A test may have stopped its server; then the database goes with the directory.
        let _ = dropping.join();
    }
}

/// A server in a directory of its own, which also holds its log and its socket.
pub(crate) struct Server {
    directory: PathBuf,
    tools: Tools,
}

impl Server {
    /// A server for one test alone, which may stop and restart it. It is gone when the value is dropped.
    pub(crate) async fn own() -> Self {
        Self::own_with("").await
    }

    /// The same with further lines of `postgresql.conf`, such as `fsync = on` for a trial of durability.
    pub(crate) async fn own_with(settings: &str) -> Self {
        let settings = format!("{SETTINGS}{settings}");
        let directory = directory_named(&Uuid::new_v4().to_string());
        let started = tokio::task::spawn_blocking(move || {
            let tools = Tools::find()?;
            tools.make_directory(&directory)?;
            match tools.start_keeper(&directory, process::id(), &settings)? {
                (_, said) if said == "ready" => Ok(Self { directory, tools }),
                (_, problem) => Err(format!(
                    "the PostgreSQL server for this test did not start: {problem}"
                )),
            }
        });
        started
            .await
            .expect("starting the server does not panic")
            .unwrap_or_else(|problem| panic!("{problem}"))
    }

    /// The address of the server's own database `postgres`.
    pub(crate) fn url(&self) -> String {
        url(&self.directory, "postgres")
    }

    /// A fresh database on this server.
    pub(crate) async fn database(&self) -> TestDatabase {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let name = format!("test_{}_{}", process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        // `template0` never has visitors, so that any number of tests can copy it at once.
        execute(&self.url(), format!("create database {name} template template0"))
            .await
            .unwrap_or_else(|error| panic!("cannot create the database {name}: {error}"));
        TestDatabase {
            name,
            server: self.directory.clone(),
        }
    }

    /// Stops the server in good order; open connections are ended.
    pub(crate) async fn stop(&self) {
        self.control(&["stop", "--mode", "fast"]).await;
    }

    /// Starts the server after [`Server::stop`]; returns when it takes connections.
    pub(crate) async fn start(&self) {
        self.control(&["start"]).await;
    }

    /// Stops the server as a crash would, without a checkpoint, and starts it again: it recovers from its log.
    pub(crate) async fn restart_immediately(&self) {
        self.control(&["restart", "--mode", "immediate"]).await;
    }

    async fn control(&self, arguments: &[&str]) {
        let command = self.tools.control(&self.directory, arguments);
        let status = tokio::process::Command::from(command)
            .status()
            .await
            .expect("cannot run pg_ctl");
        let log = self.directory.join("log");
        assert!(
            status.success(),
            "pg_ctl {arguments:?} failed, see {}",
            log.display()
        );
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self
            .tools
            .control(&self.directory, &["stop", "--mode", "immediate"])
            .status();
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// Starts the server of this run, or finds the one that another process of the run has started.
fn server_of_the_run() -> Result<Server, String> {
    let (run, owner) = match env::var("NEXTEST_RUN_ID") {
        Ok(run) => (run, parent_id()),
        Err(_) => (Uuid::new_v4().to_string(), process::id()),
    };
    if owner == 1 {
        return Err("the run of this test has ended: nobody would stop a server that started now".to_owned());
    }
    let tools = Tools::find()?;
    let directory = directory_named(&run);
    tools.make_directory(&directory)?;
    let read = |error| format!("cannot agree on a server in {}: {error}", directory.display());

    // The lock elects who starts the server; the others wait for it and read what came of it.
    let lock = File::create(directory.join("lock")).map_err(read)?;
    lock.lock().map_err(read)?;
    let started = directory.join("started");
    if !started.exists() {
        let (_, said) = tools.start_keeper(&directory, owner, SETTINGS)?;
        fs::write(&started, said).map_err(read)?;
    }
    match fs::read_to_string(&started).map_err(read)?.as_str() {
        "ready" => Ok(Server { directory, tools }),
        problem => Err(format!(
            "the PostgreSQL server for the tests did not start: {problem}"
        )),
    }
}

/// Short, because the path of a socket may have 103 bytes, and open to the account of the server, as `TMPDIR` may not be.
fn directory_named(name: &str) -> PathBuf {
    Path::new("/tmp").join(format!("aftercommit-{name}"))
}

fn url(server: &Path, database: &str) -> String {
    format!(
        "postgres://postgres@localhost:5432/{database}?host={}",
        server.display()
    )
}

async fn execute(url: &str, statement: String) -> Result<(), sqlx::Error> {
    let mut connection = PgConnection::connect(url).await?;
    sqlx::raw_sql(AssertSqlSafe(statement))
        .execute(&mut connection)
        .await?;
    connection.close().await
}
