//! How the command ends: exit codes that scripts can trust, and errors that a person can act on.
//!
//! The one place that says which error ends with which code. Nothing here shows a backtrace or a secret.

use std::io::{self, ErrorKind, Write as _};
use std::process::ExitCode;

use crate::capture::CaptureError;
use crate::config::ConfigFaults;
use crate::relay::assemble::AssembleError;
use crate::store::admin::AdminError;
use crate::store::{Objection, StoreError};
use crate::verify::VerifyError;

/// What the exit codes mean; every `--help` shows it.
pub(super) const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  failed, or the answer is no
  2  wrong usage or bad input: an option, the configuration, a row
  3  the database cannot be reached, is not migrated, or has another version
  4  there is no such thing";

/// An exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// What was asked for is done.
    Done = 0,
    /// It failed, or the answer is no.
    Failed = 1,
    /// Wrong usage or bad input: an option, the configuration, a row.
    BadInput = 2,
    /// The database cannot be reached or is not fit.
    Database = 3,
    /// There is no such delivery, destination or replay.
    NotFound = 4,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// What went wrong in the command itself. The message is `what; way out`, as everywhere.
#[derive(Debug, thiserror::Error)]
pub(super) enum Problem {
    /// It failed, or the answer is no.
    #[error("{0}")]
    Failed(String),
    /// Wrong usage or bad input.
    #[error("{0}")]
    BadInput(String),
    /// There is no such thing.
    #[error("{0}")]
    NotFound(String),
}

/// The code with which `error` ends the command.
fn exit_of(error: &anyhow::Error) -> Exit {
    error.chain().find_map(exit_of_cause).unwrap_or(Exit::Failed)
}

fn exit_of_cause(cause: &(dyn std::error::Error + 'static)) -> Option<Exit> {
    if let Some(problem) = cause.downcast_ref() {
        return Some(match problem {
            Problem::Failed(_) => Exit::Failed,
            Problem::BadInput(_) => Exit::BadInput,
            Problem::NotFound(_) => Exit::NotFound,
        });
    }
    if let Some(error) = cause.downcast_ref() {
        return Some(match error {
            AdminError::Store(error) => exit_of_store(error),
            AdminError::UnknownDestination { .. }
            | AdminError::UnknownDelivery(_)
            | AdminError::UnknownRow(_)
            | AdminError::NotConfigured { .. }
            | AdminError::UnknownReplay(_)
            | AdminError::UnknownToken(_) => Exit::NotFound,
            AdminError::NoRequest { .. } => Exit::Failed,
            _ => Exit::BadInput,
        });
    }
    if let Some(error) = cause.downcast_ref() {
        return Some(match error {
            CaptureError::Store(error) => exit_of_store(error),
            CaptureError::Line(_) | CaptureError::Broken(_) | CaptureError::Read { .. } => Exit::BadInput,
            CaptureError::SetAside(_) => Exit::Failed,
        });
    }
    if let Some(error) = cause.downcast_ref() {
        return Some(match error {
            VerifyError::Store(error) => exit_of_store(error),
            VerifyError::Command { .. } | VerifyError::NotReset { .. } => Exit::BadInput,
            VerifyError::Nothing { .. } => Exit::NotFound,
            _ => Exit::Failed,
        });
    }
    if cause.is::<ConfigFaults>() || cause.is::<AssembleError>() {
        return Some(Exit::BadInput);
    }
    if let Some(error) = cause.downcast_ref() {
        return Some(exit_of_store(error));
    }
    let broken = cause.downcast_ref::<io::Error>()?.kind() == ErrorKind::BrokenPipe;
    // Whoever read the output has seen enough of it.
    broken.then_some(Exit::Done)
}

fn exit_of_store(error: &StoreError) -> Exit {
    match error {
        StoreError::Unavailable(_)
        | StoreError::TimedOut(_)
        | StoreError::NotMigrated
        | StoreError::TooOld { .. }
        | StoreError::TooNew { .. } => Exit::Database,
        StoreError::Refused(_) | StoreError::Duplicate(_) => Exit::BadInput,
        StoreError::Missing(_) => Exit::NotFound,
        StoreError::Declined(_) | StoreError::Unexpected(_) => Exit::Failed,
    }
}

/// Tells what went wrong, and returns the code to end with.
pub(super) fn report(error: &anyhow::Error) -> Exit {
    let exit = exit_of(error);
    if exit != Exit::Done {
        // Where standard error is closed there is nobody left to tell.
        let _ = io::stderr().write_all(text_of(error).as_bytes());
    }
    exit
}

fn text_of(error: &anyhow::Error) -> String {
    if let Some(faults) = error.downcast_ref::<ConfigFaults>()
        && faults.faults().len() > 1
    {
        let count = faults.faults().len();
        return format!("error: the configuration has {count} faults\n{faults}\n");
    }
    let text = format!("{error:#}");
    match apart(error, &text) {
        Some((what, way_out)) => format!("error: {what}\nhelp: {way_out}\n"),
        None => format!("error: {text}\n"),
    }
}

/// What went wrong, and the way out of it, in the `text` of an error.
fn apart<'t>(error: &anyhow::Error, text: &'t str) -> Option<(&'t str, &'t str)> {
    let Some(objection) = error.chain().find_map(objection) else {
        return apart_outside_quotes(text);
    };
    let what = text.strip_suffix(objection.way_out.as_deref()?)?;
    Some((what.strip_suffix("; ")?, &text[what.len()..]))
}

/// What the store objects to; in it the database's words, and whatever a user wrote, stand apart from the way out.
fn objection<'e>(cause: &'e (dyn std::error::Error + 'static)) -> Option<&'e Objection> {
    match cause.downcast_ref()? {
        StoreError::Refused(objection)
        | StoreError::Duplicate(objection)
        | StoreError::Missing(objection)
        | StoreError::Declined(objection) => Some(objection),
        _ => None,
    }
}

/// `what; way out`, as messages of this program are. What a user wrote stands in quotes there, and is not looked into.
fn apart_outside_quotes(text: &str) -> Option<(&str, &str)> {
    let separators = text.rmatch_indices("; ").map(|(place, _)| place);
    let is_outside = |place: &usize| {
        let closed = |quote| text[..*place].matches(quote).count() % 2 == 0;
        closed('`') && closed('"')
    };
    let place = { separators }.find(is_outside)?;
    Some((&text[..place], &text[place + 2..]))
}

#[cfg(test)]
mod tests {
    use anyhow::Context as _;

    use super::*;

    #[test]
    fn the_help_names_every_exit_code() {
        for exit in [
            Exit::Done,
            Exit::Failed,
            Exit::BadInput,
            Exit::Database,
            Exit::NotFound,
        ] {
            assert!(EXIT_CODES.contains(&format!("\n  {}  ", exit as u8)), "{exit:?}");
        }
    }

    #[test]
    fn an_error_ends_with_the_code_of_its_cause_whatever_was_said_around_it() {
        let exit = |error: StoreError| exit_of(&Err::<(), _>(error).context("around it").unwrap_err());
        assert_eq!(exit(StoreError::NotMigrated), Exit::Database);
        let no = || Objection::from("no".to_owned());
        assert_eq!(exit(StoreError::Refused(no())), Exit::BadInput);
        assert_eq!(exit(StoreError::Missing(no())), Exit::NotFound);
        assert_eq!(exit(StoreError::Declined(no())), Exit::Failed);
        assert_eq!(exit(StoreError::Unexpected("what".to_owned())), Exit::Failed);
        assert_eq!(exit_of(&anyhow::anyhow!("nobody knows")), Exit::Failed);
        let broken = io::Error::from(ErrorKind::BrokenPipe);
        assert_eq!(exit_of(&broken.into()), Exit::Done);
    }

    #[test]
    fn an_error_is_one_line_and_its_way_out_another() {
        let text = text_of(&StoreError::NotMigrated.into());
        assert_eq!(
            text,
            "error: the database is not migrated\nhelp: run `aftercommit migrate`\n"
        );
        assert_eq!(text_of(&anyhow::anyhow!("it broke")), "error: it broke\n");
    }

    #[test]
    fn what_a_user_wrote_is_no_way_out_whatever_stands_in_it() {
        let objection = Objection::from("not understood: a = 1; drop table b".to_owned());
        let text = text_of(&StoreError::Refused(objection.clone()).into());
        assert_eq!(text, "error: not understood: a = 1; drop table b\n");
        let way_out = Some("write columns; nothing else".to_owned());
        let text = text_of(&StoreError::Refused(Objection { way_out, ..objection }).into());
        assert_eq!(
            text,
            "error: not understood: a = 1; drop table b\nhelp: write columns; nothing else\n"
        );
        let text = text_of(&anyhow::anyhow!("there is no field `a; b`"));
        assert_eq!(text, "error: there is no field `a; b`\n");
    }
}
