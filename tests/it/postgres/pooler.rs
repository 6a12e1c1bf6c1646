//! pgbouncer in transaction mode before the test server. Nothing here knows of tests.
//!
//! Two sessions for everybody: whoever relies on one of its own soon meets another's.

use std::path::{Path, PathBuf};
use std::{env, fs, process};

use uuid::Uuid;

use super::tools::Tools;
use super::{TestDatabase, directory_named};

/// A pooler before one database. It is gone when the value is dropped.
pub(crate) struct Pooler {
    directory: PathBuf,
}

impl Pooler {
    /// Starts one before `database`.
    pub(crate) async fn before(database: &TestDatabase) -> Self {
        let server = database.server.clone();
        let started = tokio::task::spawn_blocking(move || start(&server));
        started
            .await
            .expect("starting the pooler does not panic")
            .unwrap_or_else(|problem| panic!("{problem}"))
    }

    /// The address of the database behind the pooler.
    pub(crate) fn url(&self, database: &TestDatabase) -> String {
        format!(
            "postgres://postgres@localhost:6432/{}?host={}",
            database.name,
            self.directory.display()
        )
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}

fn start(server: &Path) -> Result<Pooler, String> {
    let program = find().ok_or(
        "pgbouncer is not on this machine: install it, for example with `apt-get install pgbouncer`",
    )?;
    let tools = Tools::find()?;
    let directory = directory_named(&Uuid::new_v4().to_string());
    tools.make_directory(&directory)?;
    let settings = format!(
        "[databases]\n* = host={server} port=5432 user=postgres\n\
         [pgbouncer]\npool_mode = transaction\ndefault_pool_size = 2\nauth_type = any\nlisten_port = 6432\n\
         unix_socket_dir = {directory}\n",
        server = server.display(),
        directory = directory.display(),
    );
    fs::write(directory.join("pgbouncer.ini"), settings)
        .map_err(|error| format!("cannot write {}: {error}", directory.display()))?;
    match tools.start_pooler(&program, &directory, process::id())? {
        said if said == "ready" => Ok(Pooler { directory }),
        problem => Err(format!("pgbouncer did not start: {problem}")),
    }
}

/// In the path, or where Debian keeps it, which is not in every account's path.
fn find() -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let candidates = env::split_paths(&path).chain(["/usr/sbin".into()]);
    candidates
        .map(|folder| folder.join("pgbouncer"))
        .find(|program| program.exists())
}
