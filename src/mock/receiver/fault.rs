//! What the receiver can do wrong on purpose, as values.
//!
//! A fault says whether the request was processed and what then goes wrong on the wire. It does nothing itself:
//! `reception` decides about the effect, `misbehave` acts on the socket.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// One way to misbehave. The name in JSON, in the text form and in the journal is the same (see [`Fault::name`]).
///
/// Faults that process the request take its effect and remember its answer before anything goes wrong, so that
/// the same key meets a 200 from memory afterwards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Fault {
    /// Answers with this status (300 to 599) and forgets the request: no effect, nothing remembered.
    Fail {
        /// The status code.
        status: u16,
    },
    /// Answers with this status (400 to 599), has no effect, and remembers the failure for the key, as some
    /// payment interfaces do: each repetition gets it again with `Idempotent-Replayed: true`.
    StoredFailure {
        /// The status code.
        status: u16,
    },
    /// Answers with this status (400 to 599) and a `Retry-After`, unprocessed.
    Throttle {
        /// The status code, usually 429 or 503.
        status: u16,
        /// The header's value, sent as it is: seconds, a date, or garbage.
        retry_after: String,
    },
    /// Answers with this status (300 to 399) and a `Location`, unprocessed.
    Redirect {
        /// The status code.
        status: u16,
        /// Where the client is sent.
        location: String,
    },
    /// Reads the request, never processes it and never answers.
    Hang,
    /// Resets the connection without processing the request.
    Reset,
    /// Processes the request, then closes the connection without a byte of an answer.
    #[serde(rename = "drop")]
    ProcessedThenDropped,
    /// Processes the request, then resets the connection.
    #[serde(rename = "drop-reset")]
    ProcessedThenReset,
    /// Processes the request, then never answers.
    #[serde(rename = "drop-hang")]
    ProcessedThenHung,
    /// Works on the request for this long, then answers as usual.
    Delay {
        /// How long; `time_ms` in JSON.
        #[serde(rename = "time_ms", with = "millis")]
        time: Duration,
    },
    /// Answers one byte of the head at a time, then the body at once.
    SlowHead {
        /// The pause before each byte; `gap_ms` in JSON.
        #[serde(rename = "gap_ms", with = "millis")]
        gap: Duration,
    },
    /// Answers with the head at once, then one byte of the body at a time.
    SlowBody {
        /// The pause before each byte; `gap_ms` in JSON.
        #[serde(rename = "gap_ms", with = "millis")]
        gap: Duration,
    },
    /// Answers with a head of at least this many bytes.
    HugeHead {
        /// Bytes of padding headers.
        bytes: u64,
    },
    /// Answers with a body of this many bytes.
    HugeBody {
        /// Bytes of body.
        bytes: u64,
    },
    /// Answers with a chunked body that never ends.
    EndlessBody,
    /// Sends interim answers (103) for ever, never a final one.
    #[serde(rename = "endless-1xx")]
    Endless1xx,
    /// Promises a longer body than it sends, then closes the connection.
    Truncated,
    /// Answers with a body that is not UTF-8.
    InvalidUtf8,
    /// Answers with a body that holds NUL characters.
    NulBody,
    /// Answers with header values that are not ASCII.
    NonAsciiHeader,
    /// Answers with a small gzip body that inflates to this many MiB of zeros.
    GzipBomb {
        /// Size when inflated, in MiB.
        mebibytes: u32,
    },
    /// Answers as usual, promises nothing, and closes the connection if it is idle for this long.
    CloseIdle {
        /// How long an idle connection lives; `after_ms` in JSON. Zero closes at once.
        #[serde(rename = "after_ms", with = "millis")]
        after: Duration,
    },
}

/// A fault that cannot be acted out, with the reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FaultError {
    /// The status is outside what this fault can answer with.
    #[error("`{fault}` cannot answer with status {status}; give one from {from} to {to}")]
    Status {
        /// The fault's name.
        fault: &'static str,
        /// The status that was given.
        status: u16,
        /// The least status allowed.
        from: u16,
        /// The greatest status allowed.
        to: u16,
    },
    /// A header value that would break the answer's framing.
    #[error("`{fault}` cannot send a header value with a line break in it")]
    LineBreak {
        /// The fault's name.
        fault: &'static str,
    },
}

/// What a fault lets happen to the request before it misbehaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Processing {
    /// The request takes effect, and its answer is remembered.
    Processed,
    /// No effect, but this failure is remembered for the key.
    Stored { status: u16 },
    /// No effect and nothing remembered; the answer, if there is one.
    Refused { status: Option<u16> },
    /// No effect; the key is being worked on until the client gives up.
    Hung,
}

impl Fault {
    /// The fault's name in JSON, in the text form and in the journal.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Fail { .. } => "fail",
            Self::StoredFailure { .. } => "stored-failure",
            Self::Throttle { .. } => "throttle",
            Self::Redirect { .. } => "redirect",
            Self::Hang => "hang",
            Self::Reset => "reset",
            Self::ProcessedThenDropped => "drop",
            Self::ProcessedThenReset => "drop-reset",
            Self::ProcessedThenHung => "drop-hang",
            Self::Delay { .. } => "delay",
            Self::SlowHead { .. } => "slow-head",
            Self::SlowBody { .. } => "slow-body",
            Self::HugeHead { .. } => "huge-head",
            Self::HugeBody { .. } => "huge-body",
            Self::EndlessBody => "endless-body",
            Self::Endless1xx => "endless-1xx",
            Self::Truncated => "truncated",
            Self::InvalidUtf8 => "invalid-utf8",
            Self::NulBody => "nul-body",
            Self::NonAsciiHeader => "non-ascii-header",
            Self::GzipBomb { .. } => "gzip-bomb",
            Self::CloseIdle { .. } => "close-idle",
        }
    }

    /// Says whether the fault can be acted out. Rules that come as text or JSON are checked with it.
    pub fn check(&self) -> Result<(), FaultError> {
        match self {
            Self::Fail { status } => self.check_status(*status, 300, 599),
            Self::StoredFailure { status } => self.check_status(*status, 400, 599),
            Self::Throttle { status, retry_after } => {
                self.check_status(*status, 400, 599)?;
                self.check_value(retry_after)
            }
            Self::Redirect { status, location } => {
                self.check_status(*status, 300, 399)?;
                self.check_value(location)
            }
            _ => Ok(()),
        }
    }

    pub(super) fn processing(&self) -> Processing {
        match self {
            Self::Fail { status } | Self::Throttle { status, .. } | Self::Redirect { status, .. } => {
                Processing::Refused {
                    status: Some(*status),
                }
            }
            Self::Reset => Processing::Refused { status: None },
            Self::Hang => Processing::Hung,
            Self::StoredFailure { status } => Processing::Stored { status: *status },
            _ => Processing::Processed,
        }
    }

    /// The status that the client gets to see, if the receiver would otherwise answer with `usual`.
    pub(super) fn visible_status(&self, usual: Option<u16>) -> Option<u16> {
        match self {
            Self::ProcessedThenDropped
            | Self::ProcessedThenReset
            | Self::ProcessedThenHung
            | Self::Endless1xx => None,
            _ => usual,
        }
    }

    fn check_status(&self, status: u16, from: u16, to: u16) -> Result<(), FaultError> {
        if (from..=to).contains(&status) {
            return Ok(());
        }
        Err(FaultError::Status {
            fault: self.name(),
            status,
            from,
            to,
        })
    }

    fn check_value(&self, value: &str) -> Result<(), FaultError> {
        if value.contains(['\r', '\n']) {
            return Err(FaultError::LineBreak { fault: self.name() });
        }
        Ok(())
    }
}

/// Durations as whole milliseconds in JSON.
mod millis {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_millis)
    }
}
