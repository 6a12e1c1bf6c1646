//! `aftercommit check`: looks at receivers before a row is sent, as `run` does, and changes nothing.

use serde::Serialize;

use super::database;
use super::exit::Exit;
use super::output::OutputArgs;
use super::settings::Settings;
use crate::core::time::Timestamp;
use crate::destination::preflight::{Finding, Grade};
use crate::relay::Active;

/// Waits that a receiver asks for are printed at most, so it does not matter what they count from.
const NOBODY_WAITS: Timestamp = Timestamp::from_micros(0);

#[derive(clap::Args)]
pub(super) struct Check {
    /// The destination; all of them, if none is named
    destination: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
}

/// One line of the output.
#[derive(Serialize)]
struct Line<'a> {
    destination: &'a str,
    #[serde(flatten)]
    finding: Finding,
}

pub(super) async fn run(verb: &Check, settings: &Settings) -> anyhow::Result<Exit> {
    let config = settings.read()?;
    let receivers = database::receivers(&config)?;
    let wanted: Vec<(&str, &Active)> = match &verb.destination {
        Some(name) => vec![(name, receivers.active(name)?)],
        None => receivers.iter().collect(),
    };
    let mut output = verb.output.open();
    let mut exit = Exit::Done;
    for (destination, active) in wanted {
        let mut findings = active.destination.preflight(NOBODY_WAITS).await;
        let doubts = config.doubts().into_iter();
        let doubts = doubts.filter(|doubt| doubt.destination == destination);
        if findings.is_empty() {
            findings.push(Finding::good(
                "its configuration can be used; there is nothing to look at beforehand",
            ));
        }
        findings.extend(doubts.map(|doubt| Finding::unclear(doubt.to_string())));
        for finding in findings {
            if finding.grade == Grade::Refused {
                exit = Exit::Failed;
            }
            let line = Line { destination, finding };
            output.print(&line, |line| text_of(line))?;
        }
    }
    Ok(exit)
}

fn text_of(Line { destination, finding }: &Line<'_>) -> String {
    let grade = match finding.grade {
        Grade::Good => "good",
        Grade::Unclear => "unclear",
        Grade::Refused => "refused",
    };
    format!("{destination}: {grade}: {}", finding.sentence)
}
