//! Traces by OTLP, before a collector in this process: what a row's trace is told, and what the receiver hears of it.

mod collector;

use aftercommit::mock::receiver::{Fault, Rule};
use aftercommit::telemetry::traces::Traces;

use super::world::{Backend, SWIFT, World, on_both};
use collector::{Collector, Span};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "b7ad6b7169203331";

async fn commit(world: &World, row_key: &str, headers: &str) {
    let headers = if headers.is_empty() {
        "null".to_owned()
    } else {
        format!("'{headers}'")
    };
    world
        .base
        .execute(&format!(
            "insert into aftercommit.outbox (topic, row_key, op, payload, headers)
             values ('orders', '{row_key}', 'event', '{{}}', {headers})"
        ))
        .await;
}

/// The spans that a relay sends until it has paid so many deliveries.
async fn spans(world: &World, delivered: i64) -> Vec<Span> {
    let collector = Collector::start().await;
    let traces = Traces::to(&collector.url()).unwrap();
    let relay = world
        .relay_that_traces(traces.clone(), &world.config(SWIFT), world.destinations(SWIFT))
        .await;
    world.until(&[("delivered", delivered)]).await;
    relay
        .relay
        .shutdown(std::time::Duration::from_secs(10))
        .await
        .unwrap();
    traces.shutdown().await;
    collector.spans()
}

/// The `traceparent` of each request that carried this row, in their order.
fn heard(world: &World, row_key: &str) -> Vec<String> {
    let requests = world.receiver.requests();
    let of_row = requests
        .iter()
        .filter(|request| request.row_key() == Some(row_key));
    of_row
        .map(|request| request.header("traceparent").unwrap().to_owned())
        .collect()
}

on_both! {
    async fn otlp_each_attempt_is_a_child_of_the_rows_span_and_the_receiver_gets_its_own(backend: Backend) {
        let world = World::with(backend, SWIFT).await;
        world.receiver.script([Rule::next(1, Fault::Fail { status: 500 })]).unwrap();
        commit(&world, "traced", &format!(r#"{{"Traceparent":"00-{TRACE}-{PARENT}-01","x-tenant":"acme"}}"#)).await;
        let spans = spans(&world, 1).await;

        let mut attempts: Vec<&Span> = spans.iter().filter(|span| span.name == "attempt").collect();
        attempts.sort_by_key(|span| span.number("aftercommit.attempt"));
        assert_eq!(attempts.len(), 2, "{spans:#?}");
        for (span, (outcome, status)) in attempts.iter().zip([("refused", 500), ("accepted", 200)]) {
            assert_eq!((span.trace.as_str(), span.parent.as_str()), (TRACE, PARENT));
            assert_eq!(span.text("aftercommit.outcome"), Some(outcome));
            assert_eq!(span.number("http.response.status_code"), Some(status));
            assert_eq!(span.text("aftercommit.destination"), Some("hook"));
        }
        let expected: Vec<_> = attempts.iter().map(|span| format!("00-{TRACE}-{}-01", span.id)).collect();
        assert_eq!(heard(&world, "traced"), expected);
        let requests = world.receiver.requests();
        assert!(requests.iter().all(|request| request.header("x-tenant") == Some("acme")));
        let settled = spans.iter().filter(|span| span.name == "settle");
        assert_eq!(settled.filter_map(|span| span.number("aftercommit.settled")).sum::<i64>(), 2);
        world.finish([]).await;
    }

    async fn otlp_a_row_without_a_trace_begins_one_and_a_trace_that_nobody_samples_is_only_passed_on(backend: Backend) {
        let world = World::with(backend, SWIFT).await;
        commit(&world, "fresh", "").await;
        commit(&world, "broken", r#"{"traceparent":"00-1-2-01"}"#).await;
        commit(&world, "unsampled", &format!(r#"{{"traceparent":"00-{TRACE}-{PARENT}-00"}}"#)).await;
        let spans = spans(&world, 3).await;

        let attempts: Vec<&Span> = spans.iter().filter(|span| span.name == "attempt").collect();
        assert_eq!(attempts.len(), 2, "{spans:#?}");
        assert!(attempts.iter().all(|span| span.parent.is_empty() && span.trace != TRACE));
        for row_key in ["fresh", "broken"] {
            let heard = heard(&world, row_key);
            let mut own = attempts.iter().map(|span| format!("00-{}-{}-01", span.trace, span.id));
            assert!(own.any(|own| heard == [own]), "{heard:?}");
        }
        let [unsampled] = &heard(&world, "unsampled")[..] else { panic!() };
        assert!(unsampled.starts_with(&format!("00-{TRACE}-")) && unsampled.ends_with("-00"), "{unsampled}");
        assert!(!unsampled.contains(PARENT), "{unsampled}");
        world.finish([]).await;
    }
}

#[tokio::test]
async fn otlp_a_collector_that_is_away_keeps_no_delivery_waiting() {
    let world = World::with(Backend::Sqlite, SWIFT).await;
    commit(
        &world,
        "order",
        &format!(r#"{{"traceparent":"00-{TRACE}-{PARENT}-01"}}"#),
    )
    .await;
    let nobody = Collector::start().await.url();
    let traces = Traces::to(&nobody).unwrap();
    let relay = world
        .relay_that_traces(traces.clone(), &world.config(SWIFT), world.destinations(SWIFT))
        .await;
    world.until(&[("delivered", 1)]).await;
    traces.shutdown().await;
    world.finish([relay]).await;
}
