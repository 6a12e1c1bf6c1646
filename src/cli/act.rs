//! Who changes something, and why: for the audit.

use std::env;

use crate::store::admin::{Act, Actor, AdminError};

/// The option of every verb that changes something.
#[derive(clap::Args)]
pub(super) struct ReasonArgs {
    /// Why; goes on record
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

impl ReasonArgs {
    /// What the person at this command line does.
    pub(super) fn act(&self) -> Result<Act, AdminError> {
        act(&self.reason)
    }
}

/// The option of every verb that changes something, or only says what it would change.
#[derive(clap::Args)]
pub(super) struct DryReasonArgs {
    /// Why; goes on record. Needed without --dry-run
    #[arg(long, value_name = "TEXT", required_unless_present = "dry_run")]
    reason: Option<String>,
}

impl DryReasonArgs {
    /// What the person at this command line does.
    pub(super) fn act(&self) -> Result<Act, AdminError> {
        act(self.reason.as_deref().unwrap_or_default())
    }
}

/// What the person at this command line does, for `reason`.
pub(super) fn act(reason: &str) -> Result<Act, AdminError> {
    Act::new(actor(), reason)
}

/// The person at this command line.
pub(super) fn actor() -> Actor {
    let user = env::var("USER").or_else(|_| env::var("LOGNAME"));
    let name = user.map_or_else(|_| "cli".to_owned(), |user| format!("cli {user}"));
    Actor::new(name, "command line")
}
