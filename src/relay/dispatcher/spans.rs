//! The spans of the attempts that one request makes. Attempts by a job have none: it may hold ten thousand of them.

use crate::core::outcome::Report;
use crate::destination::Outgoing;
use crate::telemetry::traces::{AttemptSpan, Attempting, Traces};

/// One span for each delivery of a request, in their order. They end when it is dropped.
#[derive(Default)]
pub(super) struct Spans(Vec<AttemptSpan>);

impl Spans {
    /// Begins them, and tells each delivery of its own.
    pub(super) fn begin(traces: &Traces, destination: &str, batch: &mut [Outgoing]) -> Self {
        let span = |outgoing: &mut Outgoing| {
            let span = traces.attempt(Attempting {
                destination,
                topic: &outgoing.row.row.topic,
                outbox_id: outgoing.row.id,
                number: outgoing.attempt,
                row_headers: outgoing.row.headers.as_deref(),
            });
            outgoing.traceparent = span.traceparent();
            span
        };
        Self(batch.iter_mut().map(span).collect())
    }

    /// Ends each with what its delivery met.
    pub(super) fn end(self, reports: &[Report]) {
        for (span, report) in self.0.into_iter().zip(reports) {
            span.end(report);
        }
    }
}
