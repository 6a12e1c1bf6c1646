//! `GET /metrics`: what the process has counted, and what the database says, for Prometheus.
//!
//! Every relay tells the same of the database, so whoever adds several of them up takes the greatest. With the database away
//! the process still says what it knows itself.

use std::fmt;
use std::sync::atomic::AtomicU64;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use prometheus_client::encoding::{EncodeLabelSet, prometheus_text};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::problem::Problem;
use super::state::AdminState;
use crate::core::delivery::State as DeliveryState;
use crate::relay::metrics::PREFIX;
use crate::relay::metrics::labels::{InState, To};
use crate::store::Connections;
use crate::store::admin::{Gauges, Standing};

/// What the process has counted, and how things stand, for Prometheus
///
/// The text format 0.0.4. Every relay tells the same of the database: take the greatest. Needs no token where the configuration
/// says `open_metrics = true`.
#[utoipa::path(
    get, path = "/metrics", operation_id = "show_metrics", tag = "status",
    responses((status = 200, description = "The metrics", body = String, content_type = "text/plain",
        example = "# HELP aftercommit_leases Leases that this process holds.\n# TYPE aftercommit_leases gauge\naftercommit_leases 2\n"))
)]
pub(super) async fn show(State(state): State<AdminState>) -> Result<Response, Problem> {
    let gauges = state.gauges.read().await;
    let configured = &state.settings().destinations;
    let connections = state.store.database().connections();
    let mut text = String::new();
    let written = state.process.metrics.write(&mut text);
    written
        .and_then(|()| Sheet::of(gauges.as_deref(), configured, connections).write(&mut text))
        .map_err(|fmt::Error| Problem::internal())?;
    Ok(([(header::CONTENT_TYPE, prometheus_text::CONTENT_TYPE)], text).into_response())
}

type Number = Gauge<u64, AtomicU64>;

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfVersion {
    version: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Being {
    state: &'static str,
}

/// Gauges as they are at one scrape.
struct Sheet {
    registry: Registry,
}

impl Sheet {
    fn of(gauges: Option<&Gauges>, configured: &[String], connections: Connections) -> Self {
        let mut sheet = Self {
            registry: Registry::with_prefix(PREFIX),
        };
        sheet.add_process(connections);
        sheet.single(
            "database_up",
            "Whether the database says how things stand",
            u64::from(gauges.is_some()),
        );
        if let Some(gauges) = gauges {
            // What nothing is owed to stands at zero, or a chart would show a hole where all is well.
            let mut destinations: Vec<&String> = configured.iter().chain(&gauges.destinations).collect();
            destinations.sort_unstable();
            destinations.dedup();
            sheet.add_owed(gauges, &destinations);
            sheet.add_trouble(gauges, &destinations);
            sheet.add_receivers(gauges, &destinations);
            sheet.single("unrouted", "Rows whose topic has no route", gauges.unrouted);
            sheet.single("relays", "Relays that live", gauges.relays);
        }
        sheet
    }

    fn write(&self, into: &mut String) -> fmt::Result {
        prometheus_text::encode(into, &self.registry)
    }

    fn add_process(&mut self, connections: Connections) {
        let version = OfVersion {
            version: env!("CARGO_PKG_VERSION"),
        };
        self.family(
            "build_info",
            "The version of the program; always 1",
            [(version, 1)],
        );
        let Connections { in_use, idle, most } = connections;
        let open =
            [("in_use", in_use), ("idle", idle)].map(|(state, open)| (Being { state }, u64::from(open)));
        self.family(
            "database_connections",
            "Connections to the database that are open",
            open,
        );
        self.single(
            "database_connections_max",
            "Connections to the database that may be open",
            u64::from(most),
        );
    }

    fn add_owed(&mut self, gauges: &Gauges, destinations: &[&String]) {
        let of = |destination: &String, standing: Standing| {
            let found =
                (gauges.owed.iter()).find(|one| one.destination == *destination && one.standing == standing);
            found.map_or((0, 0), |one| (one.owed, one.oldest.as_secs()))
        };
        let all = || {
            let each = destinations
                .iter()
                .flat_map(|name| Standing::ALL.map(|standing| (name, standing)));
            each.map(|(name, standing)| (InState::of(name, standing.as_str()), of(name, standing)))
        };
        self.family(
            "owed",
            "Deliveries that have not ended: due now, or waiting for a later time",
            all().map(|(labels, (owed, _))| (labels, owed)),
        );
        self.family(
            "oldest_owed_age_seconds",
            "How long the oldest of them has been owed; 0 if there is none",
            all().map(|(labels, (_, oldest))| (labels, oldest)),
        );
        self.each(
            "in_flight",
            "Deliveries whose attempt is on record and not yet settled",
            destinations,
            |name| count(&gauges.in_flight, name),
        );
    }

    fn add_trouble(&mut self, gauges: &Gauges, destinations: &[&String]) {
        let states = [DeliveryState::Dead, DeliveryState::Uncertain];
        let count = |name: &String, state| {
            let found = (gauges.trouble.iter()).find(|(to, is, _)| to == name && *is == state);
            found.map_or(0, |(_, _, deliveries)| *deliveries)
        };
        let each = destinations
            .iter()
            .flat_map(|name| states.map(|state| (*name, state)));
        self.family(
            "trouble",
            "Deliveries that were given up, or wait for a person",
            each.map(|(name, state)| (InState::of(name, state.as_str()), count(name, state))),
        );
    }

    fn add_receivers(&mut self, gauges: &Gauges, destinations: &[&String]) {
        self.each(
            "paused",
            "Whether somebody paused the destination",
            destinations,
            |name| u64::from(gauges.paused.contains(name)),
        );
        self.each(
            "failing",
            "Whether no request to the destination has worked for a minute, or a breaker is open",
            destinations,
            |name| u64::from(gauges.failing.contains(name)),
        );
        let usage = |of: fn(&crate::core::limit::usage::Usage) -> u32| {
            let told = gauges.usage.iter();
            told.map(move |(name, noted)| (To::destination(name), u64::from(of(&noted.usage))))
        };
        self.family(
            "receiver_calls_used",
            "Calls of its daily limit that the receiver says are used",
            usage(|usage| usage.used),
        );
        self.family(
            "receiver_calls_allowed",
            "Calls that the receiver allows in a day",
            usage(|usage| usage.allowed),
        );
    }

    fn each(&mut self, name: &str, help: &str, destinations: &[&String], value: impl Fn(&String) -> u64) {
        let values = destinations
            .iter()
            .map(|name| (To::destination(name), value(name)));
        self.family(name, help, values);
    }

    fn family<L>(&mut self, name: &str, help: &str, values: impl IntoIterator<Item = (L, u64)>)
    where
        L: EncodeLabelSet + Clone + std::hash::Hash + Eq + fmt::Debug + Send + Sync + 'static,
    {
        let family: Family<L, Number> = Family::default();
        for (labels, value) in values {
            family.get_or_create(&labels).set(value);
        }
        self.registry.register(name, help, family);
    }

    fn single(&mut self, name: &str, help: &str, value: u64) {
        let gauge = Number::default();
        gauge.set(value);
        self.registry.register(name, help, gauge);
    }
}

fn count(counts: &[(String, u64)], name: &str) -> u64 {
    let found = counts.iter().find(|(destination, _)| destination == name);
    found.map_or(0, |(_, count)| *count)
}
