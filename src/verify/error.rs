//! Why a verification stops before its verdict.

use std::io;
use std::time::Duration;

use crate::config::ConfigFaults;
use crate::mock::receiver::ReceiverError;
use crate::relay::RelayError;
use crate::relay::assemble::AssembleError;
use crate::store::StoreError;

/// Why a verification stops before its verdict. Nothing of its own is left in the database.
#[derive(Debug, thiserror::Error)]
pub(crate) enum VerifyError {
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A command cannot be started or signalled.
    #[error("`{command}` cannot be run: {source}")]
    Command {
        /// Its program.
        command: String,
        /// What the system said.
        source: io::Error,
    },
    /// A command that was left to run to its end failed there.
    #[error("{what} ended with {status}{after}; {}", where_to_look(output))]
    Failed {
        /// Which one.
        what: &'static str,
        /// How it ended.
        status: String,
        /// What had happened to it before.
        after: String,
        /// What it said.
        output: String,
    },
    /// A command ran for too long.
    #[error("{what} has not ended within {}; give it longer with --timeout", seconds(*timeout))]
    TimedOut {
        /// Which one.
        what: &'static str,
        /// How long it was waited for.
        timeout: Duration,
        /// What it said.
        output: String,
    },
    /// What a killed run had open is open still.
    #[error("a transaction of a run that was killed is still open after {}; give it longer with --timeout", seconds(*timeout))]
    StillOpen {
        /// How long it was waited for.
        timeout: Duration,
    },
    /// After a full run there is nothing to look at.
    #[error("the pipeline ran, and the topic `{topic}` holds nothing; name the topic to which it writes")]
    Nothing {
        /// The topic.
        topic: String,
    },
    /// The state before is not restored.
    #[error(
        "--reset does not restore the topic `{topic}`: {differences}; let it restore all that the pipeline and Aftercommit \
             write, for example from a copy of the database"
    )]
    NotReset {
        /// The topic.
        topic: String,
        /// What differs.
        differences: String,
    },
    /// Somebody asked for the end.
    #[error("interrupted: the pipeline was killed, and nothing else is left behind")]
    Interrupted,
    /// The scratch place in which the receiver is looked at.
    #[error("the receiver's scratch place")]
    Scratch(#[from] ScratchError),
}

/// What can be wrong with the scratch place.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ScratchError {
    #[error(transparent)]
    Folder(#[from] io::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Config(#[from] ConfigFaults),
    #[error(transparent)]
    Assemble(#[from] AssembleError),
    #[error(transparent)]
    Receiver(#[from] ReceiverError),
    #[error(transparent)]
    Relay(#[from] RelayError),
    #[error("nothing moves any more")]
    Stalled,
}

impl VerifyError {
    /// What the command said that is to blame.
    pub(crate) fn output(&self) -> Option<&str> {
        match self {
            Self::Failed { output, .. } | Self::TimedOut { output, .. } if !output.is_empty() => Some(output),
            _ => None,
        }
    }
}

fn where_to_look(output: &str) -> &'static str {
    if output.is_empty() {
        "it said nothing: run it by hand"
    } else {
        "what it said stands above"
    }
}

fn seconds(duration: Duration) -> String {
    format!("{} s", duration.as_secs_f64())
}
