//! Where a configuration takes what does not stand in its text: environment variables and files.
//!
//! A parameter of the reader, so that a test needs neither. Nothing is written here.

use std::env::{self, VarError};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// What a configuration can refer to.
pub trait Sources {
    /// What faults call the configuration, such as `aftercommit.toml`.
    fn name(&self) -> String;

    /// The value of an environment variable.
    fn variable(&self, name: &str) -> Result<String, VarError>;

    /// The text of a file; a relative path starts where the configuration is.
    fn file(&self, path: &Path) -> io::Result<String>;
}

/// The environment and the files of this process, beside a configuration file.
#[derive(Debug, Clone)]
pub struct System {
    config: PathBuf,
}

impl System {
    /// For the configuration file `config`.
    pub fn beside(config: &Path) -> Self {
        Self {
            config: config.to_owned(),
        }
    }
}

impl Sources for System {
    fn name(&self) -> String {
        self.config.display().to_string()
    }

    fn variable(&self, name: &str) -> Result<String, VarError> {
        env::var(name)
    }

    fn file(&self, path: &Path) -> io::Result<String> {
        let folder = self.config.parent().unwrap_or(Path::new(""));
        fs::read_to_string(folder.join(path))
    }
}
