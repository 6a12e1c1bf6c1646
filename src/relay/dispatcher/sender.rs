//! Slots: which requests are on the wire, and what is on record but not sent yet.
//!
//! Knows nothing of leases or of the database. A task that panics is found by its id, so that its deliveries are not
//! forgotten.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::Id;

use super::events::Event;
use super::prepare::Prepared;
use crate::core::time::Timestamp;
use crate::destination::{Destination, Outgoing};
use crate::relay::limits::Ticket;

/// What is between the record and the answer.
pub(super) struct Sender {
    /// On record, not sent.
    begun: VecDeque<Prepared>,
    /// On the wire, by task.
    on_wire: HashMap<Id, Flight>,
    /// The flight of the request that was handed out last, until its task is known.
    boarding: Option<Flight>,
    /// Nothing is sent before this (monotonic).
    held_until: Duration,
    deliveries_on_wire: usize,
    /// How many deliveries came back, ever.
    pub(super) returned: usize,
}

/// One request on the wire.
pub(super) struct Flight {
    pub(super) deliveries: Vec<Prepared>,
    pub(super) started_at: Timestamp,
    /// What it holds of the limits.
    pub(super) ticket: Ticket,
}

/// What the next request would be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Upcoming {
    deliveries: usize,
    /// Of their payloads.
    pub(super) bytes: usize,
}

/// A request that is ready to go.
pub(super) struct Request {
    destination: Arc<dyn Destination>,
    batch: Vec<Outgoing>,
}

impl Request {
    /// Sends it. The only await of this floor that puts bytes on the wire.
    pub(super) async fn send(self) -> Event {
        crate::crash_point!("before_send");
        let reports = self.destination.deliver(&self.batch).await;
        crate::crash_point!("after_send");
        Event::Sent(reports)
    }
}

impl Sender {
    pub(super) fn new() -> Self {
        Self {
            begun: VecDeque::new(),
            on_wire: HashMap::new(),
            boarding: None,
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

    /// The next request: as many deliveries under one rendering as fit `most` and, unless it is one alone, `most_bytes`.
    pub(super) fn upcoming(&self, most: usize, most_bytes: usize) -> Option<Upcoming> {
        let first = self.begun.front()?;
        let most = most.min(first.destination.batch_limit());
        let mut upcoming = Upcoming {
            deliveries: 1,
            bytes: first.bytes(),
        };
        let others = self.begun.iter().skip(1).take(most.saturating_sub(1));
        for next in others.take_while(|next| next.rendering == first.rendering) {
            let bytes = upcoming.bytes.saturating_add(next.bytes());
            if bytes > most_bytes {
                break;
            }
            upcoming.deliveries += 1;
            upcoming.bytes = bytes;
        }
        Some(upcoming)
    }

    /// The request that `upcoming` announced, with its place on the wire.
    pub(super) fn next_request(
        &mut self,
        upcoming: Upcoming,
        ticket: Ticket,
        now: Timestamp,
    ) -> Option<Request> {
        let destination = self.begun.front()?.destination.clone();
        let deliveries: Vec<Prepared> = self.begun.drain(..upcoming.deliveries).collect();
        let batch = deliveries
            .iter()
            .map(|prepared| outgoing(prepared, now))
            .collect();
        self.deliveries_on_wire += deliveries.len();
        self.boarding = Some(Flight {
            deliveries,
            started_at: now,
            ticket,
        });
        Some(Request { destination, batch })
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

    pub(super) fn is_held(&self, monotonic: Duration) -> bool {
        monotonic < self.held_until
    }

    pub(super) fn held_for(&self, monotonic: Duration) -> Option<Duration> {
        self.is_held(monotonic)
            .then(|| self.held_until.saturating_sub(monotonic))
    }
}

fn outgoing(prepared: &Prepared, now: Timestamp) -> Outgoing {
    let owed = prepared.owed();
    Outgoing {
        row: owed.row.clone(),
        key: prepared.key,
        attempt: owed.attempts + 1,
        now,
    }
}
