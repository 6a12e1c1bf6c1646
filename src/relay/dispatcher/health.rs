//! What a request says of the receiver: for the limits, for status, and for whoever must be warned.

use super::Dispatcher;
use super::events::Event;
use super::sender::Flight;
use crate::core::limit::Verdict;
use crate::core::limit::adaptive::Sign;
use crate::core::limit::breaker::Change;
use crate::core::outcome::{Outcome, Report};
use crate::relay::Active;
use crate::relay::limits::health::{Landing, Note, Warned};
use crate::relay::reconnect::retrying;
use crate::store::StoreError;

impl Dispatcher {
    /// Takes note of what the reports of one request say, before they are decided about.
    pub(super) fn take_note(&mut self, flight: &Flight, reports: &[Report]) {
        let monotonic = self.context.clock.monotonic();
        let verdict = Verdict::of_all(reports.iter().map(|report| &report.outcome));
        let first = flight.deliveries.first().map(super::prepare::Prepared::outbox_id);
        let change = self.limits.landed(
            &flight.ticket,
            first,
            verdict,
            sign(reports),
            self.on_wire(),
            monotonic,
        );
        if verdict == Verdict::Works && change.is_none() && self.health.since().is_none() {
            return;
        }
        let landing = Landing {
            verdict,
            change,
            open: self.limits.is_open(),
            detail: reports.iter().find_map(|report| report.detail.as_deref()),
            max_age: self.active.borrow().policy.retry.max_age,
        };
        let warned = self.health.came_back(landing, self.clock.now(monotonic));
        self.say(change, warned, landing);
    }

    /// Goes on under the limits of a changed configuration.
    pub(super) fn retune(&mut self, active: &Active) {
        self.limits.retune(active, self.context.clock.monotonic());
        if active.limits.breaker.is_none() {
            self.health.breaker_is_gone();
        }
    }

    /// Writes how the shard fares, if that has changed. Nothing else waits for it.
    pub(super) fn start_note(&mut self) {
        let Some(note) = self.health.next_note() else {
            return;
        };
        let (store, abort, lease) = (
            self.context.store.clone(),
            self.stop.abort.clone(),
            self.lease.clone(),
        );
        self.tasks.spawn(async move {
            let failing = match &note {
                Note::Failing(failing) => Some(failing),
                Note::Working => None,
            };
            let noted = retrying("note", &abort, || store.note_failing(&lease, failing)).await;
            Event::Noted(noted)
        });
    }

    pub(super) fn noted(&mut self, noted: Option<Result<(), StoreError>>) {
        self.health.written();
        if let Some(Err(error)) = noted {
            let destination = &self.lease.shard.destination;
            tracing::warn!(%destination, %error, "cannot note how the destination fares; status does not show it");
        }
    }

    fn say(&self, change: Option<Change>, warned: Option<Warned>, landing: Landing<'_>) {
        let (destination, shard) = (&self.lease.shard.destination, self.lease.shard.number);
        match change {
            Some(Change::Opened) => tracing::error!(
                %destination,
                shard,
                detail = landing.detail,
                "the breaker has opened: the receiver fails throughout; single rows look whether it is back",
            ),
            Some(Change::Closed) => {
                tracing::info!(%destination, shard, "the breaker has closed: the receiver works again");
            }
            None => {}
        }
        let (Some(warned), Some(since)) = (warned, self.health.since()) else {
            return;
        };
        let part = match warned {
            Warned::Not => return,
            Warned::Half => "half",
            Warned::Nearly => "nine tenths",
        };
        let left = landing.max_age.saturating_sub(self.now().since(since));
        tracing::error!(
            %destination,
            shard,
            failing_since = %since,
            dying_in_s = left.as_secs(),
            "no request has worked for {part} of max_age; what was owed then is dead once it is over",
        );
    }

    fn now(&self) -> crate::core::time::Timestamp {
        self.clock.now(self.context.clock.monotonic())
    }
}

fn sign(reports: &[Report]) -> Sign {
    let is_overload = |report: &Report| {
        matches!(
            report.outcome,
            Outcome::Throttled { .. } | Outcome::Unreachable | Outcome::Unknown
        )
    };
    if reports.iter().any(is_overload) {
        Sign::Overloaded
    } else {
        Sign::Answered
    }
}
