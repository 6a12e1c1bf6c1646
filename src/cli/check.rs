//! `aftercommit check`: looks at receivers before a row is sent, as `run` does, and changes nothing.

use std::sync::Arc;

use serde::Serialize;

use super::exit::Exit;
use super::output::OutputArgs;
use super::preview;
use super::settings::Settings;
use crate::clock::{Clock, SystemClock};
use crate::core::time::Timestamp;
use crate::destination::preflight::{Finding, Grade};
use crate::relay::assemble;

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
    if let Some(name) = &verb.destination
        && !config.destinations.contains_key(name)
    {
        return Err(preview::unknown(name, &config).into());
    }
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let destinations = assemble::destinations(&config, &clock)?;
    let mut output = verb.output.open();
    let mut exit = Exit::Done;
    let wanted = |name: &str| verb.destination.as_deref().is_none_or(|wanted| wanted == name);
    for (destination, active) in destinations.iter().filter(|(name, _)| wanted(name)) {
        let mut findings = active.destination.preflight(NOBODY_WAITS).await;
        let doubts = config.doubts().into_iter();
        let doubts = doubts.filter(|doubt| doubt.destination == **destination);
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
