//! `aftercommit config`: every option with its default, or the configuration as it is in effect.
//!
//! Secrets are left out.

use super::exit::Exit;
use super::output::{Format, OutputArgs};
use super::settings::Settings;
use crate::config::Config;

#[derive(clap::Args)]
pub(super) struct ConfigVerb {
    /// Print every option, commented, with its default
    #[arg(long)]
    defaults: bool,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(verb: &ConfigVerb, settings: &Settings) -> anyhow::Result<Exit> {
    let text = if verb.defaults {
        Config::defaults_text().to_owned()
    } else {
        settings.read()?.to_string()
    };
    let mut output = verb.output.open();
    match output.format() {
        Format::People => output.line(text.trim_end())?,
        Format::Json => output.json_line(&toml::from_str::<serde_json::Value>(&text)?)?,
    }
    Ok(Exit::Done)
}
