//! Slots: which requests are on the wire, and what is on record but not sent yet.
//!
//! Knows nothing of leases or of the database. A task that panics is found by its id, so that its deliveries are not
//! forgotten.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::Id;

use super::events::Event;
use super::parts::Parts;
use super::prepare::Prepared;
use super::spans::Spans;
use crate::core::time::Timestamp;
use crate::destination::{Destination, Outgoing};
use crate::relay::limits::Ticket;
use crate::telemetry::traces::Traces;

/// What is between the record and the answer.
pub(super) struct Sender {
    /// On record, not sent.
    begun: VecDeque<Prepared>,
    /// On the wire, by task.
    on_wire: HashMap<Id, Flight>,
    /// The flight of the request that was handed out last, until its task is known.
    boarding: Option<Flight>,
    /// What a refusal as a whole has divided.
    pub(super) parts: Parts,
    /// Nothing is sent before this (monotonic).
    held_until: Duration,
    deliveries_on_wire: usize,
    /// How many deliveries came back, ever.
    pub(super) returned: usize,
}

/// How deliveries travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// By requests.
    Request,
    /// By a job.
    Job,
}

/// One request on the wire, or one job.
pub(super) struct Flight {
    pub(super) way: Way,
    pub(super) deliveries: Vec<Prepared>,
    pub(super) started_at: Timestamp,
    /// What it holds of the limits.
    pub(super) ticket: Ticket,
}

/// What the next request would be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Upcoming {
    /// The places, among what is on record and not sent, of those that go with the first; ascending.
    others: Vec<usize>,
    /// Of their payloads.
    pub(super) bytes: usize,
}

/// A request that is ready to go.
pub(super) struct Request {
    destination: Arc<dyn Destination>,
    batch: Vec<Outgoing>,
    spans: Spans,
}

impl Request {
    /// Begins the spans of its attempts.
    pub(super) fn trace(&mut self, traces: &Traces, destination: &str) {
        self.spans = Spans::begin(traces, destination, &mut self.batch);
    }

    /// Sends it. The only await of this floor that puts bytes on the wire.
    pub(super) async fn send(self) -> Event {
        crate::crash_point!("before_send");
        let reports = self.destination.deliver(&self.batch).await;
        crate::crash_point!("after_send");
        self.spans.end(&reports);
        Event::Sent(reports)
    }
}

impl Sender {
    pub(super) fn new() -> Self {
        Self {
            begun: VecDeque::new(),
            on_wire: HashMap::new(),
            boarding: None,
            parts: Parts::default(),
            held_until: Duration::ZERO,
            deliveries_on_wire: 0,
            returned: 0,
        }
    }

    /// Deliveries that are on record and have no answer yet.
    pub(super) fn len(&self) -> usize {
        self.begun.len() + self.deliveries_on_wire
    }

    /// Deliveries that are on record and not on the wire.
    pub(super) fn waiting(&self) -> usize {
        self.begun.len()
    }

    pub(super) fn is_idle(&self) -> bool {
        self.len() == 0
    }

    /// Requests on the wire.
    pub(super) fn requests(&self) -> usize {
        self.on_wire.len()
    }

    pub(super) fn push(&mut self, prepared: Prepared) {
        self.begun.push_back(prepared);
    }

    /// The next request: the first delivery, and as many others of its part, under its rendering and of other rows, as fit
    /// `most` and `most_bytes`. The first goes whatever its size.
    pub(super) fn upcoming(&self, most: usize, most_bytes: usize) -> Option<Upcoming> {
        let first = self.begun.front()?;
        let most = most.min(first.destination.batch_limit());
        let mut upcoming = Upcoming {
            others: Vec::new(),
            bytes: first.bytes(),
        };
        if most <= 1 {
            return Some(upcoming);
        }
        let part = self.parts.of(first.outbox_id());
        let mut rows = HashSet::from([&first.owed().row.row]);
        for (place, next) in self.begun.iter().enumerate().skip(1) {
            let fits = next.rendering == first.rendering && self.parts.of(next.outbox_id()) == part;
            // Where nothing orders them, two versions of one row can be here at once.
            if !fits || !rows.insert(&next.owed().row.row) {
                continue;
            }
            let bytes = upcoming.bytes.saturating_add(next.bytes());
            if bytes > most_bytes {
                break;
            }
            upcoming.others.push(place);
            upcoming.bytes = bytes;
            if upcoming.others.len() + 1 == most {
                break;
            }
        }
        Some(upcoming)
    }

    /// The request that `upcoming` announced, with its place on the wire.
    pub(super) fn next_request(
        &mut self,
        upcoming: &Upcoming,
        ticket: Ticket,
        now: Timestamp,
    ) -> Option<Request> {
        let deliveries = self.take(upcoming);
        let destination = deliveries.first()?.destination.clone();
        let batch = deliveries
            .iter()
            .map(|prepared| outgoing(prepared, now))
            .collect();
        self.deliveries_on_wire += deliveries.len();
        self.boarding = Some(Flight {
            way: Way::Request,
            deliveries,
            started_at: now,
            ticket,
        });
        Some(Request {
            destination,
            batch,
            spans: Spans::default(),
        })
    }

    /// The deliveries of the request that `upcoming` announced.
    pub(super) fn take(&mut self, upcoming: &Upcoming) -> Vec<Prepared> {
        let mut deliveries = Vec::with_capacity(upcoming.others.len() + 1);
        deliveries.extend(self.begun.pop_front());
        // Each that has gone moves those behind it one place on.
        let places = upcoming.others.iter().enumerate();
        deliveries.extend(places.filter_map(|(gone, place)| self.begun.remove(place - gone - 1)));
        deliveries
    }

    /// The request that `next_request` gave is now task `id`.
    pub(super) fn started(&mut self, id: Id) {
        if let Some(flight) = self.boarding.take() {
            self.on_wire.insert(id, flight);
        }
    }

    /// The answer, or the end, of task `id` has come.
    pub(super) fn landed(&mut self, id: Id) -> Option<Flight> {
        let flight = self.on_wire.remove(&id)?;
        self.deliveries_on_wire -= flight.deliveries.len();
        self.returned += flight.deliveries.len();
        Some(flight)
    }

    /// Everything that is on record but not on the wire.
    pub(super) fn unsent(&mut self) -> impl Iterator<Item = Prepared> {
        self.begun.drain(..)
    }

    /// Sends nothing until `until`; a longer hold stands.
    pub(super) fn hold(&mut self, until: Duration) {
        self.held_until = self.held_until.max(until);
    }

    /// Ends every hold.
    pub(super) fn release(&mut self) {
        self.held_until = Duration::ZERO;
    }

    pub(super) fn is_held(&self, monotonic: Duration) -> bool {
        monotonic < self.held_until
    }

    pub(super) fn held_for(&self, monotonic: Duration) -> Option<Duration> {
        self.is_held(monotonic)
            .then(|| self.held_until.saturating_sub(monotonic))
    }
}

pub(super) fn outgoing(prepared: &Prepared, now: Timestamp) -> Outgoing {
    let owed = prepared.owed();
    Outgoing {
        row: owed.row.clone(),
        key: prepared.key,
        attempt: owed.attempts + 1,
        now,
        traceparent: None,
    }
}
