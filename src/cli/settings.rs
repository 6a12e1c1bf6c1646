//! The options of every verb: which configuration, which database.
//!
//! Where there is no configuration file and none was named, a database address is enough: everything else has a
//! default.

use std::env::{self, VarError};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use secrecy::{ExposeSecret as _, SecretString};

use super::exit::Problem;
use crate::config::{Config, DATABASE_URL, Sources, System};

/// The configuration where none is named.
const DEFAULT_PATH: &str = "aftercommit.toml";

/// Options of every verb.
#[derive(clap::Args)]
pub(super) struct Settings {
    /// The configuration file [default: aftercommit.toml]
    #[arg(
        long,
        short,
        global = true,
        env = "AFTERCOMMIT_CONFIG",
        value_name = "PATH",
        help_heading = "Options of every verb"
    )]
    config: Option<PathBuf>,

    // No doc comment, in which the address would be a link.
    #[arg(
        long,
        global = true,
        value_name = "URL",
        help = "The database, in place of the one in the configuration: sqlite:PATH or postgres://user@host/database",
        help_heading = "Options of every verb"
    )]
    database: Option<SecretString>,
}

/// The same options at a verb that has no use for them: taken, for whoever gives them to every verb, and not shown.
#[derive(clap::Args)]
pub(super) struct Unused {
    #[arg(long, short, global = true, hide = true)]
    config: Option<PathBuf>,
    #[arg(long, global = true, hide = true)]
    database: Option<SecretString>,
}

impl Settings {
    /// The path of the configuration file.
    pub(super) fn path(&self) -> &Path {
        self.config.as_deref().unwrap_or(Path::new(DEFAULT_PATH))
    }

    /// The address that `--database` gave.
    pub(super) fn database(&self) -> Option<&SecretString> {
        self.database.as_ref()
    }

    /// Reads the configuration, with the database that was named on the command line.
    pub(super) fn read(&self) -> anyhow::Result<Config> {
        if let Some(url) = &self.database {
            check_scheme(url)?;
        }
        let named = || self.database.is_some() || env::var_os(DATABASE_URL).is_some();
        match fs::read_to_string(self.path()) {
            Ok(text) => Ok(Config::parse(&text, &self.sources())?),
            Err(error) if error.kind() == io::ErrorKind::NotFound && self.config.is_none() && named() => {
                Ok(Config::parse("", &self.sources())?)
            }
            // It says in its own words why the file cannot be read.
            Err(_) => Ok(Config::read(self.path())?),
        }
    }

    fn sources(&self) -> WithDatabase<'_> {
        WithDatabase {
            system: System::beside(self.path()),
            url: self.database.as_ref(),
        }
    }
}

/// Here, and not by the reader of configurations: what is wrong is the option.
fn check_scheme(url: &SecretString) -> Result<(), Problem> {
    let known = ["sqlite:", "postgres://", "postgresql://"];
    if known.iter().any(|scheme| url.expose_secret().starts_with(scheme)) {
        Ok(())
    } else {
        Err(Problem::BadInput(
            "the address in --database is none; begin it with sqlite: or postgres://".to_owned(),
        ))
    }
}

/// The process's environment and files, with the address that was named on the command line.
struct WithDatabase<'a> {
    system: System,
    url: Option<&'a SecretString>,
}

impl Sources for WithDatabase<'_> {
    fn name(&self) -> String {
        self.system.name()
    }

    fn variable(&self, name: &str) -> Result<String, VarError> {
        match self.url {
            Some(url) if name == DATABASE_URL => Ok(url.expose_secret().to_owned()),
            _ => self.system.variable(name),
        }
    }

    fn file(&self, path: &Path) -> io::Result<String> {
        self.system.file(path)
    }
}
