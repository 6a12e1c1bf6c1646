//! Logs: one line for a person, fields for a machine. And traces.
//!
//! Sets the process's subscriber up, once, and holds no other state. What is logged, and what never is, is decided
//! where it happens.

mod lines;
pub mod traces;

use std::env;
use std::io::{self, IsTerminal};

use tracing::Subscriber;
use tracing::subscriber::SetGlobalDefaultError;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;
use tracing_subscriber::fmt::MakeWriter;

use crate::config::{LogConfig, LogFormat};
use lines::OneLine;

/// The environment variable that goes before `log.filter`.
pub const LOG: &str = "AFTERCOMMIT_LOG";

/// Why logs cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// A filter that is none.
    #[error("the log filter `{filter}` ({source_name}) is none: {error}")]
    Filter {
        /// The filter.
        filter: String,
        /// Where it stands.
        source_name: &'static str,
        /// What is wrong with it.
        error: ParseError,
    },
    /// A collector is named to which no traces can be sent.
    #[error("cannot send traces: {0}; correct OTEL_EXPORTER_OTLP_ENDPOINT, or unset it")]
    Traces(String),
    /// The process has a subscriber already.
    #[error("logs are set up already; set them up once, at the start")]
    Again(#[from] SetGlobalDefaultError),
}

/// Sends the process's logs to standard error, as `config` and the variable [`LOG`] say.
pub fn init(config: &LogConfig) -> Result<(), TelemetryError> {
    let filter = filter(config, env::var(LOG).ok())?;
    match config.format {
        LogFormat::Text => tracing::subscriber::set_global_default(text(filter, io::stderr, ansi()))?,
        LogFormat::Json => tracing::subscriber::set_global_default(json(filter, io::stderr))?,
    }
    Ok(())
}

/// Whether lines are coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ansi {
    Colours,
    Plain,
}

fn ansi() -> Ansi {
    if io::stderr().is_terminal() {
        Ansi::Colours
    } else {
        Ansi::Plain
    }
}

/// An empty variable says nothing.
fn filter(config: &LogConfig, variable: Option<String>) -> Result<EnvFilter, TelemetryError> {
    let (filter, source_name) = match variable {
        Some(filter) if !filter.is_empty() => (filter, LOG),
        _ => (config.filter.clone(), "log.filter"),
    };
    EnvFilter::try_new(&filter).map_err(|error| TelemetryError::Filter {
        filter,
        source_name,
        error,
    })
}

fn text<W>(filter: EnvFilter, writer: W, ansi: Ansi) -> impl Subscriber + Send + Sync
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(OneLine::of(writer))
        .with_ansi(ansi == Ansi::Colours)
        .with_target(false)
        .finish()
}

fn json<W>(filter: EnvFilter, writer: W) -> impl Subscriber + Send + Sync
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_span_list(false)
        .with_env_filter(filter)
        .with_writer(writer)
        .finish()
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    use super::*;

    /// Keeps what is logged.
    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Kept {
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }
    }

    fn config(filter: &str) -> LogConfig {
        LogConfig {
            format: LogFormat::Text,
            filter: filter.to_owned(),
        }
    }

    fn log_two_lines(subscriber: impl Subscriber + Send + Sync + 'static) {
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!(destination = "crm", retry_in_ms = 250, "will try again");
            tracing::debug!("too fine");
        });
    }

    #[test]
    fn a_line_for_a_person_has_no_colours_where_nobody_looks() {
        let kept = Kept::default();
        let writer = kept.clone();
        log_two_lines(text(
            filter(&config("info"), None).unwrap(),
            move || writer.clone(),
            Ansi::Plain,
        ));
        let text = kept.text();
        assert!(
            text.ends_with(" INFO will try again destination=\"crm\" retry_in_ms=250\n"),
            "{text}"
        );
        assert!(!text.contains('\u{1b}') && text.lines().count() == 1, "{text}");
    }

    #[test]
    fn an_error_of_several_lines_stands_on_one() {
        let kept = Kept::default();
        let writer = kept.clone();
        let text = text(
            filter(&config("info"), None).unwrap(),
            move || writer.clone(),
            Ansi::Plain,
        );
        tracing::subscriber::with_default(
            text,
            || tracing::error!(error = %"first\r\nsecond\n", "failed\nbadly"),
        );
        let text = kept.text();
        assert!(
            text.ends_with("ERROR failed\\nbadly error=first\\r\\nsecond\\n\n"),
            "{text}"
        );
        assert_eq!(text.lines().count(), 1);
    }

    #[test]
    fn a_line_for_a_machine_is_one_object_with_its_fields() {
        let kept = Kept::default();
        let writer = kept.clone();
        log_two_lines(json(filter(&config("info"), None).unwrap(), move || {
            writer.clone()
        }));
        let line: serde_json::Value = serde_json::from_str(&kept.text()).unwrap();
        assert_eq!(line["message"], "will try again");
        assert_eq!(line["destination"], "crm");
        assert_eq!(line["retry_in_ms"], 250);
        assert_eq!(line["level"], "INFO");
    }

    #[test]
    fn the_variable_goes_before_the_configuration_unless_it_is_empty() {
        let shown = |variable: Option<&str>| {
            filter(&config("warn"), variable.map(str::to_owned))
                .unwrap()
                .to_string()
        };
        assert_eq!(shown(None), "warn");
        assert_eq!(shown(Some("")), "warn");
        assert_eq!(shown(Some("aftercommit=trace")), "aftercommit=trace");
    }

    #[test]
    fn a_filter_that_cannot_be_read_names_where_it_stands() {
        let error = filter(&config("info"), Some("aftercommit=loud".to_owned())).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the log filter `aftercommit=loud` (AFTERCOMMIT_LOG) is none: error parsing level filter: expected one of \
             \"off\", \"error\", \"warn\", \"info\", \"debug\", \"trace\", or a number 0-5"
        );
    }
}
