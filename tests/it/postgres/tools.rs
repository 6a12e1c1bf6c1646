//! The programs of a PostgreSQL server, and who runs them. Nothing here knows of databases or of tests.

use std::io::Read as _;
use std::os::unix::fs::{DirBuilderExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::{env, fs};

const KEEPER: &str = include_str!("keeper.sh");
const POOLER: &str = include_str!("pooler.sh");

/// The server's programs, and the account that runs them: PostgreSQL refuses to run as root.
pub(super) struct Tools {
    bin: PathBuf,
    account: Option<(u32, u32)>,
}

impl Tools {
    pub(super) fn find() -> Result<Self, String> {
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

    pub(super) fn control(&self, directory: &Path, arguments: &[&str]) -> Command {
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
    pub(super) fn make_directory(&self, directory: &Path) -> Result<(), String> {
        let made = fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory);
        let (user, group) = self.account.unzip();
        made.and_then(|()| chown(directory, user, group))
            .map_err(|error| format!("cannot make {}: {error}", directory.display()))
    }

    /// Starts a server and the process that clears it away when `owner` ends, and returns what that process says:
    /// `ready`, or the problem.
    pub(super) fn start_keeper(
        &self,
        directory: &Path,
        owner: u32,
        settings: &str,
    ) -> Result<(Child, String), String> {
        let settings = format!("unix_socket_directories = '{}'{settings}", directory.display());
        let mut keeper = self.command("sh");
        keeper
            .args(["-c", KEEPER, "keeper"])
            .arg(&self.bin)
            .arg(directory)
            .arg(owner.to_string())
            .arg(settings);
        start(keeper)
    }

    /// Starts pgbouncer and the process that clears it away when `owner` ends or the directory is gone, and returns what
    /// that process says: `ready`, or the problem.
    pub(super) fn start_pooler(
        &self,
        program: &Path,
        directory: &Path,
        owner: u32,
    ) -> Result<String, String> {
        let mut keeper = self.command("sh");
        keeper
            .args(["-c", POOLER, "pooler"])
            .arg(program)
            .arg(directory)
            .arg(owner.to_string());
        start(keeper).map(|(_, said)| said)
    }
}

/// Starts a process that clears away, and returns what it says first.
fn start(mut keeper: Command) -> Result<(Child, String), String> {
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
    Ok((keeper, said.trim().to_owned()))
}

/// `PG_BIN`, else the newest version where Debian keeps them, else the path.
fn find_programs() -> Option<PathBuf> {
    let candidates: Vec<PathBuf> = if let Some(named) = env::var_os("PG_BIN") {
        vec![named.into()]
    } else {
        let versions = fs::read_dir("/usr/lib/postgresql")
            .into_iter()
            .flatten()
            .flatten();
        let newest = versions.max_by_key(|version| version.file_name().to_string_lossy().parse::<u32>().ok());
        let path = env::var_os("PATH").unwrap_or_default();
        newest
            .map(|version| version.path().join("bin"))
            .into_iter()
            .chain(env::split_paths(&path))
            .collect()
    };
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
