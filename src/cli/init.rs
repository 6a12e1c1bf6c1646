//! `aftercommit init`: a configuration to start with, and the admin token that it refers to.
//!
//! Overwrites nothing.

use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use anyhow::Context as _;
use serde::Serialize;
use uuid::Uuid;

use super::exit::{Exit, Problem};
use super::output::OutputArgs;
use super::settings::Settings;
use crate::config::{Config, INIT_TOKEN_FILE};

#[derive(clap::Args)]
pub(super) struct Init {
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Serialize)]
struct Written {
    configuration: String,
    token: String,
}

/// Who may read a file.
#[derive(Clone, Copy)]
enum Readers {
    Everybody = 0o644,
    Owner = 0o600,
}

pub(super) fn run(init: &Init, settings: &Settings) -> anyhow::Result<Exit> {
    let path = settings.path();
    write_new(path, Config::init_text(), Readers::Everybody).map_err(|error| already_there(&error, path))?;
    let token_path = path.with_file_name(INIT_TOKEN_FILE);
    // Two random ids: 244 bits that nobody guesses.
    let token = format!("{}{}\n", Uuid::new_v4().simple(), Uuid::new_v4().simple());
    match write_new(&token_path, &token, Readers::Owner) {
        // The token of an earlier try is as good.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        written => written.with_context(|| format!("cannot write {}", token_path.display()))?,
    }
    let written = Written {
        configuration: path.display().to_string(),
        token: token_path.display().to_string(),
    };
    init.output.open().print(&written, |written| {
        format!(
            "wrote {} and the admin token in {}\n\n\
             next:\n  \
             aftercommit migrate         # makes the tables\n  \
             aftercommit apply           # puts topics and routes into the database\n  \
             aftercommit mock receiver   # a receiver to try with, in another terminal\n  \
             aftercommit run             # delivers what is committed",
            written.configuration, written.token
        )
    })?;
    Ok(Exit::Done)
}

fn write_new(path: &Path, text: &str, readers: Readers) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(readers as u32)
        .open(path)?;
    file.write_all(text.as_bytes())
}

fn already_there(error: &io::Error, path: &Path) -> anyhow::Error {
    if error.kind() == ErrorKind::AlreadyExists {
        let path = path.display();
        return Problem::Failed(format!(
            "{path} is there already; name another file with --config, or delete it"
        ))
        .into();
    }
    Problem::Failed(format!("cannot write {}: {error}", path.display())).into()
}
