//! Destinations: what receives the deliveries, and the guarded HTTP client that reaches them.
//!
//! A [`Destination`] turns deliveries into requests and answers into reports, one report per delivery; it decides
//! nothing about retries and writes nothing. Only `client` sends.

pub mod answer;
pub mod bulk;
pub mod client;
mod credentials;
pub mod failure;
pub mod hubspot;
pub mod preflight;
pub mod preview;
pub mod resolver;
pub mod salesforce;
mod secrets;
pub mod signing;
pub mod status;
pub mod trial;
pub mod usage;
pub mod webhook;

use serde::de::DeserializeOwned;

use crate::core::key::IdempotencyKey;
use crate::core::outcome::Report;
use crate::core::row::OutboxRow;
use crate::core::time::Timestamp;
use bulk::Bulk;
use preflight::Finding;
use preview::Preview;
use trial::Tried;
use usage::Heard;

/// One delivery about to be sent: everything a request may depend on.
#[derive(Debug, Clone)]
pub struct Outgoing {
    /// The row.
    pub row: OutboxRow,
    /// The key of every attempt of this delivery.
    pub key: IdempotencyKey,
    /// Which attempt this is, from 1.
    pub attempt: u32,
    /// The database's clock now, for `webhook-timestamp`.
    pub now: Timestamp,
    /// The span of the attempt, where traces are on: it goes in place of the row's own.
    pub traceparent: Option<String>,
}

/// The part of a destination's configuration that method, body and key header depend on, as canonical JSON text.
///
/// What was sent once is what is resent: the store keeps each rendering that was ever used, and a delivery that was
/// attempted under one is rendered under it to its end, whatever the configuration says by then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendering(pub String);

impl Rendering {
    /// Reads what a destination recorded. `version` says under which version of its form; only `known` can be read.
    fn read<T: DeserializeOwned>(
        &self,
        known: u32,
        version: impl FnOnce(&T) -> u32,
    ) -> Result<T, UnknownRendering> {
        let unknown = |why| UnknownRendering { why };
        let recorded = serde_json::from_str(&self.0).map_err(|error| unknown(error.to_string()))?;
        match version(&recorded) {
            found if found == known => Ok(recorded),
            found => Err(unknown(format!("its version is {found}, not {known}"))),
        }
    }
}

/// A rendering from the store that this version cannot read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read the recorded rendering: {why}; it may have been written by a newer version")]
pub struct UnknownRendering {
    /// What is wrong with it.
    pub why: String,
}

/// A configured receiver.
///
/// Promises: a request for a row goes out only from `deliver`, or by the steps of a job (`bulk`); exactly one report per delivery comes back, in their order; a
/// report is `Accepted` only on a positive answer for that row; no future outlives the request's deadline.
#[async_trait::async_trait]
pub trait Destination: Send + Sync {
    /// How many deliveries of distinct rows fit one request. A webhook takes one.
    fn batch_limit(&self) -> usize;

    /// The rendering of the current configuration.
    fn rendering(&self) -> Rendering;

    /// The same destination under a rendering that was recorded earlier.
    fn under(&self, rendering: &Rendering) -> Result<Box<dyn Destination>, UnknownRendering>;

    /// Looks at the receiver before the first row is sent, and changes nothing there: what would refuse every row is found
    /// here. `now` is the database's clock or the process's own; waits that the receiver asks for count from it. A webhook
    /// has nothing to look at.
    async fn preflight(&self, now: Timestamp) -> Vec<Finding> {
        let _ = now;
        vec![]
    }

    /// Tries the receiver out for a person: sends `ping`, or logs in and looks as `preflight` does, and changes nothing there.
    async fn try_out(&self, ping: &Outgoing) -> Tried {
        Tried::of_findings(&self.preflight(ping.now).await)
    }

    /// What it can do with many deliveries at once, if anything.
    fn bulk(&self) -> Option<&dyn Bulk> {
        None
    }

    /// What the receiver said last of its daily limit, if it has one and has said so to this process.
    fn usage(&self) -> Option<Heard> {
        None
    }

    /// The requests that `deliver` would send for `batch`, made by the same code; nothing is sent, and nobody logs in.
    fn preview(&self, batch: &[Outgoing]) -> Preview;

    /// Sends one request for `batch` (1 to [`Destination::batch_limit`] deliveries) and reads its answer.
    async fn deliver(&self, batch: &[Outgoing]) -> Vec<Report>;
}
