//! `aftercommit status --watch`: the status again and again, in place on a terminal, one block after the other elsewhere.

use std::io::{IsTerminal as _, Write as _, stderr, stdout};
use std::str::FromStr;
use std::time::Duration;

use super::{Configuration, text};
use crate::cli::exit::Exit;
use crate::cli::output::{Format, Output};
use crate::cli::signals::Signals;
use crate::store::StoreError;
use crate::store::admin::{AdminStore, Status};

/// The shortest interval: more often, a person sees nothing and a database notices it.
const SHORTEST: Duration = Duration::from_millis(100);

/// To the upper left, and what was there is gone.
const CLEAR: &str = "\u{1b}[H\u{1b}[2J";
/// To the upper left. What is written over need not be cleared first, so nothing flickers.
const HOME: &str = "\u{1b}[H";
/// Nothing is left of the line, or of the screen, from here on.
const REST_OF_LINE: &str = "\u{1b}[K";
const REST_OF_SCREEN: &str = "\u{1b}[J";

/// How often the status is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) struct Interval(Duration);

impl FromStr for Interval {
    type Err = String;

    fn from_str(span: &str) -> Result<Self, String> {
        let parsed = span.parse::<jiff::SignedDuration>().ok();
        let parsed = parsed.and_then(|span| Duration::try_from(span).ok());
        parsed
            .filter(|span| *span >= SHORTEST)
            .map(Self)
            .ok_or_else(|| "write a span of 100ms at least, such as 2s or 1m".to_owned())
    }
}

/// Shows the status until the process is asked to end. A database that is away for a while ends nothing.
pub(super) async fn run(
    store: &AdminStore,
    configured: &[String],
    Interval(interval): Interval,
    output: &mut Output,
) -> anyhow::Result<Exit> {
    let mut signals = Signals::listen()?;
    let mut screen = (output.format() == Format::People && stdout().is_terminal()).then_some(CLEAR);
    loop {
        match store.status(configured).await {
            Ok(status) => print(&status, configured, screen, output)?,
            Err(error) if error.is_transient() => complain(&error, screen, output)?,
            Err(error) => return Err(error.into()),
        }
        screen = screen.map(|_| HOME);
        tokio::select! {
            _ = signals.next() => return Ok(Exit::Done),
            () = tokio::time::sleep(interval) => {}
        }
    }
}

fn print(
    status: &Status,
    configured: &[String],
    screen: Option<&str>,
    output: &mut Output,
) -> std::io::Result<()> {
    output.print(status, |status| {
        block(&text(status, &Configuration::of(configured)), screen)
    })
}

/// What was shown last stays in sight of a person, but for the first line.
fn complain(error: &StoreError, screen: Option<&str>, output: &mut Output) -> std::io::Result<()> {
    match (output.format(), screen) {
        (Format::People, Some(_)) => output.line(&format!("{HOME}{error}; asked again{REST_OF_LINE}")),
        (Format::People, None) => output.line(&format!("{error}; asked again\n")),
        // A line that is no status would be none that a program can read.
        (Format::Json, _) => writeln!(stderr(), "{error}; asked again"),
    }
}

/// The text in place of what the screen showed, or followed by an empty line.
fn block(text: &str, screen: Option<&str>) -> String {
    let Some(begin) = screen else {
        return format!("{text}\n");
    };
    let lines: Vec<String> = text.lines().map(|line| format!("{line}{REST_OF_LINE}")).collect();
    format!("{begin}{}\n{REST_OF_SCREEN}", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_a_span_that_a_person_can_follow() {
        assert_eq!("2s".parse(), Ok(Interval(Duration::from_secs(2))));
        assert_eq!("250ms".parse(), Ok(Interval(Duration::from_millis(250))));
        for bad in ["0s", "50ms", "-2s", "often"] {
            assert!(bad.parse::<Interval>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_screen_is_written_over_line_by_line_and_a_pipe_gets_blocks() {
        assert_eq!(block("a\nb", None), "a\nb\n");
        assert_eq!(
            block("a\nb", Some(HOME)),
            "\u{1b}[Ha\u{1b}[K\nb\u{1b}[K\n\u{1b}[J"
        );
    }
}
