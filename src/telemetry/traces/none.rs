//! No traces: the program was built without the feature `otlp`. Nothing here does anything.

use super::Attempting;
use crate::core::outcome::Report;
use crate::telemetry::TelemetryError;

/// Where spans go: nowhere.
#[derive(Debug, Clone)]
pub struct Traces;

/// The span of an attempt, which is not there.
#[derive(Debug)]
pub struct AttemptSpan;

/// The span of a settle, which is not there.
#[derive(Debug)]
pub struct SettleSpan;

impl Traces {
    /// No spans.
    pub fn off() -> Self {
        Self
    }

    /// No spans either; it says so where a collector is named.
    pub fn from_environment() -> Result<Self, TelemetryError> {
        if super::names_a_collector() {
            tracing::info!(
                "a collector is named, but this program was built without the feature `otlp`: it sends no traces"
            );
        }
        Ok(Self)
    }

    /// Begins the span of an attempt.
    pub fn attempt(&self, _attempting: Attempting<'_>) -> AttemptSpan {
        AttemptSpan
    }

    /// Begins the span of a record that settles so many deliveries.
    pub fn settle(&self, _destination: &str, _settled: usize) -> SettleSpan {
        SettleSpan
    }

    /// Nothing is left to be sent.
    pub fn shutdown(self) -> impl Future<Output = ()> {
        std::future::ready(())
    }
}

impl AttemptSpan {
    /// The row's own stays.
    pub fn traceparent(&self) -> Option<String> {
        None
    }

    /// Ends it.
    pub fn end(self, _report: &Report) {}
}

impl SettleSpan {
    /// Ends it.
    pub fn end(self) {}
}
