//! The command line: one file a verb.
//!
//! A verb reads its options, asks the floors below, and prints. What is decided is decided there. Errors travel up to
//! `exit`, which knows the exit code of each.

mod config;
mod exit;
mod init;
mod key;
mod output;
mod settings;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

pub use exit::Exit;

use exit::EXIT_CODES;
use settings::Settings;

/// Tells the outside world what your pipeline has committed, exactly once in effect
#[derive(Parser)]
#[command(name = "aftercommit", version, after_help = EXIT_CODES)]
struct Cli {
    #[command(flatten)]
    settings: Settings,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Write a commented configuration to start with
    #[command(after_help = "Example:\n  aftercommit init")]
    Init(init::Init),

    /// Print the configuration in effect, or every option with its default
    #[command(after_help = "Examples:\n  aftercommit config\n  aftercommit config --defaults")]
    Config(config::ConfigVerb),

    /// Print canonical form, row hash and idempotency key of a row
    #[command(
        after_help = "Example:\n  aftercommit key --namespace prod --destination crm --topic customers --row-key 42 \\\n      --op upsert --version u:-,g:1 --payload '{\"id\": 42}'"
    )]
    Key(key::KeyVerb),
}

/// Runs the command that the process was started with.
pub fn main() -> ExitCode {
    let Cli { settings, verb } = Cli::parse();
    match run(verb, &settings) {
        Ok(exit) => exit.into(),
        Err(error) => exit::report(&error).into(),
    }
}

fn run(verb: Verb, settings: &Settings) -> anyhow::Result<Exit> {
    match verb {
        Verb::Init(verb) => init::run(&verb, settings),
        Verb::Config(verb) => config::run(&verb, settings),
        Verb::Key(verb) => key::run(verb),
    }
}
