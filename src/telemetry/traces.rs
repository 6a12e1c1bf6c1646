//! Traces by OpenTelemetry: a span for each attempt and each settle, if the program was built with the feature `otlp` and the
//! environment names a collector, as OpenTelemetry's own variables say.
//!
//! A row that brings a `traceparent` in its headers is in a trace already: its attempts are children of that span, and the
//! receiver gets the attempt's own. Without the feature, or without a collector, the header goes on as it came. Spans are
//! dropped rather than waited for, so nothing here slows a delivery down or changes what is sent beyond that one header.

#[cfg(feature = "otlp")]
mod courier;
#[cfg(not(feature = "otlp"))]
mod none;
#[cfg(feature = "otlp")]
mod otlp;

#[cfg(not(feature = "otlp"))]
pub use none::{AttemptSpan, SettleSpan, Traces};
#[cfg(feature = "otlp")]
pub use otlp::{AttemptSpan, SettleSpan, Traces};

/// The variables that name a collector; the first that is set counts.
pub const ENDPOINTS: [&str; 2] = [
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
];

/// What the span of an attempt tells. No row key and no payload: they may be personal.
#[derive(Debug, Clone, Copy)]
pub struct Attempting<'a> {
    /// Where it goes.
    pub destination: &'a str,
    /// The row's topic.
    pub topic: &'a str,
    /// The outbox row.
    pub outbox_id: i64,
    /// From 1.
    pub number: u32,
    /// The row's headers, a JSON object of texts.
    pub row_headers: Option<&'a str>,
}

fn names_a_collector() -> bool {
    let set = |name: &&str| std::env::var_os(name).is_some_and(|endpoint| !endpoint.is_empty());
    ENDPOINTS.iter().any(set)
}
