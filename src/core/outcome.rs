//! What an attempt met.
//!
//! Five words, and the facts that each carries. A destination reads an answer into an [`Outcome`]; `decide` turns
//! the outcome into a transition. Nothing here knows how the answer came.

use std::time::Duration;

use super::secrets::Excerpt;

/// What an attempt met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The receiver took the row.
    Accepted,
    /// The receiver asks to wait. Consumes no attempt.
    Throttled {
        /// Who must wait.
        scope: Scope,
        /// How long the receiver asked to wait, already capped; never undercut.
        retry_after: Option<Duration>,
    },
    /// The receiver answered, and the answer was no.
    Refused(Refusal),
    /// Nothing was sent: no connection came about.
    Unreachable,
    /// The request may have arrived; what became of it nobody knows.
    Unknown,
}

/// Who must wait after a throttled attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Only this row (409: its key is in use).
    Row,
    /// Every row of the destination (429, 503).
    Destination,
}

/// What a refusal means for the schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The receiver may think otherwise later (500, 404, a redirect).
    Retryable,
    /// The same request can only be refused again (400, 422): the schedule is not worth it.
    Final,
    /// The receiver gave back a failure that it stored under this key; the same key can only bring it again.
    Stored,
    /// The receiver is gone for good (410) or wants no more: the destination pauses, the row waits.
    Gone,
    /// The request was refused as a whole, and one of its other rows may be to blame: sent again at once, with half of
    /// them. Never the outcome of a row that was sent alone.
    Together,
    /// The answer to a request of several rows says nothing of this one, or it could not be sent with the others: sent
    /// again at once, alone. Never the outcome of a row that was sent alone.
    Alone,
    /// No request can be made of the row under this rendering; nothing was sent.
    NotRenderable,
}

/// The shortest wait that lies in the future.
const AT_ONCE: Duration = Duration::from_millis(1);

impl Outcome {
    /// It says nothing of the row: the attempt does not count, and the row is due again at once.
    pub fn excused() -> Self {
        Self::Throttled {
            scope: Scope::Row,
            retry_after: Some(AT_ONCE),
        }
    }

    /// What it means for a row that was sent alone: there is nothing left to divide, so what was refused together is
    /// refused for good.
    #[must_use]
    pub fn of_one_alone(self) -> Self {
        match self {
            Self::Refused(Refusal::Together | Refusal::Alone) => Self::Refused(Refusal::Final),
            other => other,
        }
    }

    /// The word in SQL, API and metrics.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Throttled { .. } => "throttled",
            Self::Refused(_) => "refused",
            Self::Unreachable => "unreachable",
            Self::Unknown => "unknown",
        }
    }
}

/// What an attempt that is on record met, by the word of its outcome: `was refused`.
pub fn spoken(outcome: &str) -> &'static str {
    match outcome {
        "accepted" => "was accepted",
        "throttled" => "was asked to wait",
        "refused" => "was refused",
        "unreachable" => "did not reach the receiver",
        _ => "has an unknown outcome",
    }
}

/// One attempt as it goes on record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// What it met.
    pub outcome: Outcome,
    /// The HTTP status, if one arrived.
    pub http_status: Option<u16>,
    /// A sentence for a person: what went wrong, without secrets and without the URL beyond scheme and host.
    pub detail: Option<String>,
    /// What the receiver said: of this row, where the answer is about several, else how the answer starts.
    pub excerpt: Option<Excerpt>,
    /// SHA-256 of the body that was sent; none if no request was made.
    pub body_digest: Option<[u8; 32]>,
    /// From the first byte out to the last byte in, or to the failure.
    pub duration: Duration,
}

impl Report {
    /// An attempt of which nobody knows what it met.
    pub fn unknown(detail: &str) -> Self {
        Self::unanswered(Outcome::Unknown, detail.to_owned())
    }

    /// An attempt without an answer: not sent, or nothing came back.
    pub fn unanswered(outcome: Outcome, detail: String) -> Self {
        Self {
            outcome,
            http_status: None,
            detail: Some(detail),
            excerpt: None,
            body_digest: None,
            duration: Duration::ZERO,
        }
    }
}
