//! How much goes on record, and how much of that onto the wire: the limits are asked before both.
//!
//! What is on record and unsent when a relay crashes has an unknown outcome, so nothing is put there that could not be sent
//! soon. What the limits allow stands in `relay::limits`.

use std::time::Duration;

use super::Dispatcher;
use crate::core::limit::breaker::Permission;
use crate::core::time::Timestamp;
use crate::relay::Active;

impl Dispatcher {
    /// Takes from the queue what may be sent, as far as there is room between here and the wire.
    pub(super) fn fill(&mut self, monotonic: Duration, now: Timestamp, active: &Active) {
        self.gather_for_a_job(monotonic, now, active);
        let room = self.room(monotonic);
        let mut send = Vec::new();
        let most = if self.limits.permission(monotonic) == Permission::Probe {
            let probe = (room > 0).then(|| self.queue.take_one(now, self.limits.probed));
            send.extend(probe.flatten());
            0
        } else {
            room
        };
        let taken = self.queue.take(now, most);
        for (outbox_id, mark) in taken.superseded {
            self.supersede(outbox_id, mark);
        }
        for (outbox_id, content) in send.into_iter().chain(taken.send) {
            match content {
                Some(content) => self.prepare(content, now, active),
                None => self.intake.await_content(outbox_id),
            }
        }
    }

    /// How many more deliveries may be on their way to the wire.
    fn room(&mut self, monotonic: Duration) -> usize {
        let (ready, waiting) = (self.queue.ready(), self.beginning() + self.sender.waiting());
        if ready == 0 || (self.limits.bytes_full() && waiting > 0) || self.gathers_for_a_job(monotonic) {
            return 0;
        }
        if self.limits.permission(monotonic) == Permission::Probe {
            return if waiting == 0 {
                self.limits.soon(monotonic).min(1)
            } else {
                0
            };
        }
        let batch = self.renderings.current().batch_limit();
        let batch = batch.min(self.limits.batch_size()).max(1);
        let concurrency = self.limits.fair_concurrency(self.on_wire());
        let concurrency = concurrency.saturating_sub(self.bulk.requests());
        let window = concurrency
            .saturating_mul(batch)
            .saturating_add(self.recorder.ahead());
        let room = window.saturating_sub(self.beginning() + self.sender.len());
        if room == 0 {
            return 0;
        }
        let soon = self.limits.soon(monotonic).saturating_mul(batch);
        match soon.saturating_sub(waiting).min(room).min(ready) {
            0 => 0,
            // What was divided is sent again at once, and waits for nobody.
            most if self.sender.parts.any() => most,
            most => self.limits.gathered(most, monotonic),
        }
    }

    /// Deliveries that are taken and not on record.
    fn beginning(&self) -> usize {
        self.recorder.beginning() + self.intake.awaited()
    }

    /// Puts on the wire what may go.
    pub(super) fn start_requests(&mut self, monotonic: Duration, active: &Active) {
        let held = self.draining() || self.sender.is_held(monotonic);
        if held || !self.tenure.outlives(monotonic, active.timeout) {
            return self.limits.stand_aside();
        }
        let now = self.clock.now(monotonic);
        while self.on_wire() < self.limits.concurrency() {
            let (most, most_bytes) = (self.limits.batch_size(), self.limits.most_bytes());
            let Some(upcoming) = self.sender.upcoming(most, most_bytes) else {
                if self.beginning() == 0 && !self.bulk.waits() {
                    self.limits.nothing_to_send();
                }
                return;
            };
            let Some(ticket) = self.limits.admit(upcoming.bytes, monotonic) else {
                return;
            };
            let Some(mut request) = self.sender.next_request(&upcoming, ticket, now) else {
                return;
            };
            request.trace(&self.context.traces, &self.lease.shard.destination);
            let id = self.tasks.spawn(request.send()).id();
            self.sender.started(id);
        }
        self.limits.stand_aside();
    }
}
