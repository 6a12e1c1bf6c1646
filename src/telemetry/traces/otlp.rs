//! Spans by OTLP over HTTP, in protobuf, sent in batches by a thread of the SDK's.
//!
//! Everything but where to send is the SDK's to read from its variables: headers, time-outs, the sampler, the name of the
//! service.

use std::collections::HashMap;
use std::time::Duration;

use opentelemetry::trace::{Span as _, SpanKind, Status, Tracer as _, TracerProvider as _};
use opentelemetry::{Context, KeyValue, propagation::TextMapPropagator as _};
use opentelemetry_otlp::{SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider, Span};

use super::Attempting;
use super::courier::Courier;
use crate::core::outcome::{Outcome, Report};
use crate::telemetry::TelemetryError;

/// What a shutdown gives the last spans.
const FAREWELL: Duration = Duration::from_millis(500);

/// Where spans go. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Traces {
    on: Option<On>,
}

#[derive(Debug, Clone)]
struct On {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
}

/// The span of an attempt. One that is dropped ends without an outcome.
#[derive(Debug)]
pub struct AttemptSpan(Option<Span>);

/// The span of a settle.
#[derive(Debug)]
pub struct SettleSpan(Option<Span>);

impl Traces {
    /// No spans.
    pub fn off() -> Self {
        Self { on: None }
    }

    /// Spans go where the environment says, if it says so. Needs a tokio runtime.
    pub fn from_environment() -> Result<Self, TelemetryError> {
        if !super::names_a_collector() {
            return Ok(Self::off());
        }
        let exporter = SpanExporter::builder().with_http();
        let exporter = exporter.with_http_client(Courier::new()?).build();
        Ok(Self::through(exporter.map_err(|error| unusable(&error))?))
    }

    /// Spans go to this URL of a collector, path included. Needs a tokio runtime.
    pub fn to(url: &str) -> Result<Self, TelemetryError> {
        let exporter = SpanExporter::builder().with_http().with_endpoint(url);
        let exporter = exporter.with_http_client(Courier::new()?).build();
        Ok(Self::through(exporter.map_err(|error| unusable(&error))?))
    }

    fn through(exporter: SpanExporter) -> Self {
        let mut resource = Resource::builder();
        if std::env::var_os("OTEL_SERVICE_NAME").is_none() {
            resource = resource.with_service_name("aftercommit");
        }
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_resource(resource.build())
            .build();
        let tracer = provider.tracer("aftercommit");
        Self {
            on: Some(On { provider, tracer }),
        }
    }

    /// Begins the span of an attempt: a child of the row's own, if the row brings one.
    pub fn attempt(&self, attempting: Attempting<'_>) -> AttemptSpan {
        let Some(On { tracer, .. }) = &self.on else {
            return AttemptSpan(None);
        };
        let span = tracer
            .span_builder("attempt")
            .with_kind(SpanKind::Client)
            .with_attributes([
                KeyValue::new("aftercommit.destination", attempting.destination.to_owned()),
                KeyValue::new("aftercommit.topic", attempting.topic.to_owned()),
                KeyValue::new("aftercommit.outbox_id", attempting.outbox_id),
                KeyValue::new("aftercommit.attempt", i64::from(attempting.number)),
            ])
            .start_with_context(tracer, &parent(attempting.row_headers));
        AttemptSpan(Some(span))
    }

    /// Begins the span of a record that settles so many deliveries; none, if it settles nothing.
    pub fn settle(&self, destination: &str, settled: usize) -> SettleSpan {
        let Some(On { tracer, .. }) = self.on.as_ref().filter(|_| settled > 0) else {
            return SettleSpan(None);
        };
        let span = tracer
            .span_builder("settle")
            .with_attributes([
                KeyValue::new("aftercommit.destination", destination.to_owned()),
                KeyValue::new("aftercommit.settled", i64::try_from(settled).unwrap_or(i64::MAX)),
            ])
            .start_with_context(tracer, &Context::new());
        SettleSpan(Some(span))
    }

    /// Sends what is left, for half a second at most.
    pub async fn shutdown(self) {
        let Some(On { provider, .. }) = self.on else {
            return;
        };
        let ended = tokio::task::spawn_blocking(move || provider.shutdown_with_timeout(FAREWELL)).await;
        if !matches!(ended, Ok(Ok(()))) {
            tracing::warn!("the last spans were not sent");
        }
    }
}

impl AttemptSpan {
    /// What the receiver gets in place of the row's own.
    pub fn traceparent(&self) -> Option<String> {
        let context = self.0.as_ref()?.span_context();
        let flags = context.trace_flags().to_u8();
        context
            .is_valid()
            .then(|| format!("00-{}-{}-{flags:02x}", context.trace_id(), context.span_id()))
    }

    /// Ends it with what came back.
    pub fn end(self, report: &Report) {
        let Some(mut span) = self.0 else {
            return;
        };
        let outcome = report.outcome.as_str();
        span.set_attribute(KeyValue::new("aftercommit.outcome", outcome));
        if let Some(status) = report.http_status {
            span.set_attribute(KeyValue::new("http.response.status_code", i64::from(status)));
        }
        span.set_status(match report.outcome {
            Outcome::Accepted => Status::Ok,
            _ => Status::error(outcome),
        });
        span.end();
    }
}

impl SettleSpan {
    /// Ends it.
    pub fn end(self) {
        drop(self.0);
    }
}

/// The context that a row's headers name. What cannot be read names none: a new trace begins.
fn parent(row_headers: Option<&str>) -> Context {
    let headers: HashMap<String, String> = row_headers
        .and_then(|json| serde_json::from_str(json).ok())
        .unwrap_or_default();
    let headers: HashMap<String, String> = headers
        .into_iter()
        .map(|(name, value)| (name.to_ascii_lowercase(), value))
        .filter(|(name, value)| name != "traceparent" || is_whole(value))
        .collect();
    TraceContextPropagator::new().extract_with_context(&Context::new(), &headers)
}

/// Whether its ids have all their digits. The SDK would take shorter ones for ids that begin with zeros.
fn is_whole(traceparent: &str) -> bool {
    let lengths: Vec<usize> = traceparent.split('-').map(str::len).collect();
    lengths.starts_with(&[2, 32, 16, 2])
}

fn unusable(error: &opentelemetry_otlp::ExporterBuildError) -> TelemetryError {
    TelemetryError::Traces(error.to_string())
}
