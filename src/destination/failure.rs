//! Why no answer came, and the one distinction that matters: whether anything was sent.
//!
//! Only a failure to connect proves that nothing was. A connection that is closed while idle and one that is closed
//! after the receiver has worked look exactly alike from here, so both are [`Failure::Unknown`].

use std::error::Error;

use crate::core::printable::printable;

/// No answer arrived. Each carries a sentence for a person, without secrets and with no more of the URL than its
/// scheme, host and port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// Nothing was sent: no connection came about.
    Unreachable(String),
    /// The request may have arrived.
    Unknown(String),
}

/// No cause is repeated at more than this many bytes.
const MAX_CAUSE_BYTES: usize = 300;

impl Failure {
    /// Reads the client's error; `origin` is the scheme, host and port that the request was for.
    pub(super) fn of(error: reqwest::Error, origin: &str) -> Self {
        let error = error.without_url();
        if error.is_connect() {
            return Self::Unreachable(format!("cannot connect to {origin}: {}", cause(&error)));
        }
        if error.is_timeout() {
            return Self::Unknown(format!(
                "no answer from {origin} by the deadline; the request may have arrived"
            ));
        }
        Self::Unknown(format!(
            "no answer from {origin}: {}; the request may have arrived",
            cause(&error)
        ))
    }
}

/// The innermost cause of `error`, the only part of it that tells something. The client's own layers are left out,
/// and with them any URL.
pub(super) fn cause(error: &reqwest::Error) -> String {
    let mut innermost: &dyn Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    printable(innermost.to_string().as_bytes(), MAX_CAUSE_BYTES)
}
