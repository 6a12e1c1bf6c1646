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

use std::fs::{DirBuilder, File};
use std::io::Read as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::process::{CommandExt as _, parent_id};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs, process, thread};

use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use uuid::Uuid;

/// Socket only, roomy, and careless: no test of ours pulls the plug of the machine. A server of its own can differ.
const SETTINGS: &str = "
listen_addresses = ''
port = 5432
unix_socket_permissions = 0700
max_connections = 300
fsync = off
full_page_writes = off
";

const KEEPER: &str = include_str!("keeper.sh");

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
            match tools.start_keeper(&directory, process::id(), &settings)?.as_str() {
                "ready" => Ok(Self { directory, tools }),
                problem => Err(format!(
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

/// The server's programs, and the account that runs them: PostgreSQL refuses to run as root.
struct Tools {
    bin: PathBuf,
    account: Option<(u32, u32)>,
}

impl Tools {
    fn find() -> Result<Self, String> {
        let bin = find_programs().ok_or(
            "PostgreSQL's server programs (initdb, pg_ctl) are not on this machine: install them, for example with \
             `apt-get install postgresql`, or name their directory in PG_BIN",
        )?;
        let account = match id_of(&["-u"])? {
            0 => Some(account_for_root()?),
            _ => None,
        };
        Ok(Self { bin, account })
    }

    /// A command as the server's account, without the caller's environment: `PGDATA` or `PGPORT` have no say here.
    fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command
            .env_clear()
            .envs(env::var_os("PATH").map(|path| ("PATH", path)))
            .env("LC_ALL", "C");
        command
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        if let Some((user, group)) = self.account {
            command.uid(user).gid(group);
        }
        command
    }

    fn control(&self, directory: &Path, arguments: &[&str]) -> Command {
        let mut command = self.command(self.bin.join("pg_ctl"));
        command
            .args(arguments)
            .arg("--pgdata")
            .arg(directory.join("data"));
        command
            .arg("--log")
            .arg(directory.join("log"))
            .args(["--wait", "--timeout", "60"]);
        command
    }

    /// Makes the directory of a server, closed to other accounts.
    fn make_directory(&self, directory: &Path) -> Result<(), String> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(directory);
        let (user, group) = self.account.unzip();
        made.and_then(|()| std::os::unix::fs::chown(directory, user, group))
            .map_err(|error| format!("cannot make {}: {error}", directory.display()))
    }

    /// Starts a server and the process that clears it away when `owner` ends. Answers `ready`, or the problem.
    fn start_keeper(&self, directory: &Path, owner: u32, settings: &str) -> Result<String, String> {
        let settings = format!("unix_socket_directories = '{}'{settings}", directory.display());
        let mut keeper = self.command("sh");
        keeper
            .args(["-c", KEEPER, "keeper"])
            .arg(&self.bin)
            .arg(directory)
            .arg(owner.to_string())
            .arg(settings);
        let mut keeper = keeper
            .process_group(0)
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot run sh: {error}"))?;
        let mut said = String::new();
        if let Some(mut output) = keeper.stdout.take() {
            output
                .read_to_string(&mut said)
                .map_err(|error| format!("cannot hear the keeper: {error}"))?;
        }
        Ok(said.trim().to_owned())
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
        fs::write(&started, tools.start_keeper(&directory, owner, SETTINGS)?).map_err(read)?;
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

/// `PG_BIN`, else the newest version where Debian keeps them, else the path.
fn find_programs() -> Option<PathBuf> {
    if let Some(named) = env::var_os("PG_BIN") {
        return Some(PathBuf::from(named));
    }
    let versions = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten();
    let newest = versions.max_by_key(|version| version.file_name().to_string_lossy().parse::<u32>().ok());
    let path = env::var_os("PATH").unwrap_or_default();
    let candidates = newest
        .map(|version| version.path().join("bin"))
        .into_iter()
        .chain(env::split_paths(&path));
    candidates
        .into_iter()
        .find(|bin| bin.join("initdb").exists() && bin.join("pg_ctl").exists())
}

fn account_for_root() -> Result<(u32, u32), String> {
    let account = |name| Ok((id_of(&["-u", name])?, id_of(&["-g", name])?));
    account("postgres").or_else(|_: String| account("nobody"))
}

fn id_of(arguments: &[&str]) -> Result<u32, String> {
    let output = Command::new("id")
        .args(arguments)
        .output()
        .map_err(|error| format!("cannot run id: {error}"))?;
    let said = String::from_utf8_lossy(&output.stdout);
    said.trim()
        .parse()
        .map_err(|_| format!("`id {}` names no account", arguments.join(" ")))
}

async fn execute(url: &str, statement: String) -> Result<(), sqlx::Error> {
    let mut connection = PgConnection::connect(url).await?;
    sqlx::raw_sql(AssertSqlSafe(statement))
        .execute(&mut connection)
        .await?;
    connection.close().await
}

#[cfg(test)]
mod tests {
    use super::{Server, database};
    use sqlx::{Connection as _, PgConnection};

    #[tokio::test]
    async fn two_databases_of_a_run_do_not_see_each_other() {
        let (one, two) = (database().await, database().await);
        let mut here = PgConnection::connect(&one.url()).await.unwrap();
        let mut there = PgConnection::connect(&two.url()).await.unwrap();

        sqlx::raw_sql("create table mark ()")
            .execute(&mut here)
            .await
            .unwrap();

        let seen = "select to_regclass('mark') is not null";
        assert!(
            sqlx::query_scalar::<_, bool>(seen)
                .fetch_one(&mut here)
                .await
                .unwrap()
        );
        assert!(
            !sqlx::query_scalar::<_, bool>(seen)
                .fetch_one(&mut there)
                .await
                .unwrap()
        );
    }

    #[tokio::test]
    async fn a_dropped_database_is_gone_even_while_somebody_is_connected() {
        let (kept, dropped) = (database().await, database().await);
        let _guest = PgConnection::connect(&dropped.url()).await.unwrap();
        let name = dropped.name.clone();
        drop(dropped);

        let mut connection = PgConnection::connect(&kept.url()).await.unwrap();
        let left: i64 = sqlx::query_scalar("select count(*) from pg_database where datname = $1")
            .bind(name)
            .fetch_one(&mut connection)
            .await
            .unwrap();
        assert_eq!(left, 0);
    }

    #[tokio::test]
    async fn text_is_utf8_and_sorts_bytewise() {
        let database = database().await;
        let mut connection = PgConnection::connect(&database.url()).await.unwrap();
        let sorts: (String, String) = sqlx::query_as(
            "select pg_encoding_to_char(encoding), datcollate from pg_database where datname = current_database()",
        )
        .fetch_one(&mut connection)
        .await
        .unwrap();
        assert_eq!(sorts, ("UTF8".to_owned(), "C".to_owned()));
    }

    #[tokio::test]
    async fn a_server_of_its_own_keeps_what_was_committed_through_a_crash_and_a_stop() {
        let server = Server::own_with("fsync = on").await;
        let database = server.database().await;
        let mut connection = PgConnection::connect(&database.url()).await.unwrap();
        sqlx::raw_sql("create table mark as select 7 as number")
            .execute(&mut connection)
            .await
            .unwrap();

        server.restart_immediately().await;
        assert!(
            connection.ping().await.is_err(),
            "the connection outlived the crash"
        );
        server.stop().await;
        assert!(
            PgConnection::connect(&database.url()).await.is_err(),
            "the server still answers"
        );
        server.start().await;

        let mut connection = PgConnection::connect(&database.url()).await.unwrap();
        let number: i32 = sqlx::query_scalar("select number from mark")
            .fetch_one(&mut connection)
            .await
            .unwrap();
        assert_eq!(number, 7);
    }

    #[tokio::test]
    async fn a_server_of_its_own_leaves_nothing_behind() {
        let server = Server::own().await;
        let directory = server.directory.clone();
        assert!(directory.exists());
        drop(server);
        assert!(!directory.exists(), "{} is still there", directory.display());
    }
}
