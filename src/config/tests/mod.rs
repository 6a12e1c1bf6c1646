//! What the reader takes, what it refuses and in which words.

mod changes;
mod crm;
mod defaults;
mod faults;
mod fits;
mod hubspot;
mod limits;
mod secrets;

use std::collections::BTreeMap;
use std::env::VarError;
use std::ffi::OsString;
use std::io;
use std::path::Path;

use super::{Config, Sources};

/// Environment and files that a test makes up.
#[derive(Default)]
struct World {
    variables: BTreeMap<&'static str, OsString>,
    files: BTreeMap<&'static str, String>,
}

impl World {
    fn with_variable(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.variables.insert(name, value.into());
        self
    }

    fn with_file(mut self, path: &'static str, text: &str) -> Self {
        self.files.insert(path, text.to_owned());
        self
    }

    fn read(&self, text: &str) -> Config {
        Config::parse(text, self).unwrap()
    }

    /// What is printed of the faults in `text`.
    fn complaint(&self, text: &str) -> String {
        Config::parse(text, self).unwrap_err().to_string()
    }
}

impl Sources for World {
    fn name(&self) -> String {
        "aftercommit.toml".to_owned()
    }

    fn variable(&self, name: &str) -> Result<String, VarError> {
        let value = self.variables.get(name).ok_or(VarError::NotPresent)?;
        value.clone().into_string().map_err(VarError::NotUnicode)
    }

    fn file(&self, path: &Path) -> io::Result<String> {
        let path = path.to_str().unwrap_or_default();
        self.files
            .get(path)
            .cloned()
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// A destination with what is required of it and `more`; its header is line 1, `more` begins in line 5.
fn destination(more: &str) -> String {
    let required = "type = \"webhook\"\nurl = \"https://crm.example.com/hook\"\ntopics = [\"customers\"]";
    format!("[destinations.crm]\n{required}\n{more}\n")
}
