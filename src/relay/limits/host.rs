//! A host that several destinations share: what they may send together, and whose turn it is.
//!
//! Whoever finds no room stands in line, and while somebody does, only the first of the line may send: one request, and
//! then it stands at the back. So none starves another, however many it would like to send. A `Pass` is one request on
//! the wire; dropping it calls the first of the line. Nothing waits under the lock.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use super::SOON;
use crate::config::HostConfig;
use crate::core::limit::bucket::Bucket;

/// The limits of a host, shared by every dispatcher of this relay that sends there.
pub struct Host {
    name: String,
    state: Mutex<State>,
}

struct State {
    config: HostConfig,
    bucket: Option<Bucket>,
    requests: usize,
    bytes: usize,
    /// Those who wait, in their order.
    line: VecDeque<Waiting>,
    seats: usize,
    last_seat: u64,
}

struct Waiting {
    seat: u64,
    bell: Arc<Notify>,
}

/// The place of one dispatcher at a host.
pub(super) struct Seat {
    host: Arc<Host>,
    id: u64,
    bell: Arc<Notify>,
    in_line: bool,
}

/// One request on the wire.
pub(super) struct Pass {
    host: Arc<Host>,
    bytes: usize,
}

/// Not now. The seat stands in line.
pub(super) struct Refusal {
    /// When to ask again, if the rate alone stands in the way; else the seat is called.
    pub(super) again: Option<Duration>,
}

impl Host {
    /// The host `name`, to which nothing has been sent.
    pub fn new(name: &str, config: &HostConfig) -> Self {
        Self {
            name: name.to_owned(),
            state: Mutex::new(State {
                config: config.clone(),
                bucket: config.rate.map(|rate| Bucket::new(rate, 1)),
                requests: 0,
                bytes: 0,
                line: VecDeque::new(),
                seats: 0,
                last_seat: 0,
            }),
        }
    }

    /// As it stands in URLs.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Goes on under other limits; what was taken stays taken.
    pub fn retune(&self, config: &HostConfig, now: Duration) {
        let mut state = self.state();
        state.bucket = match (state.bucket, config.rate) {
            (Some(bucket), Some(rate)) => Some(bucket.retuned(rate, 1, now)),
            (None, Some(rate)) => Some(Bucket::new(rate, 1)),
            (_, None) => None,
        };
        state.config = config.clone();
        state.call_first();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere leaves numbers that are right: each change under the lock is whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl State {
    fn has_room(&self, bytes: usize) -> bool {
        let most = |limit: Option<u32>| {
            limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX))
        };
        let fits =
            self.bytes == 0 || self.bytes.saturating_add(bytes) <= most(self.config.max_in_flight_bytes);
        self.requests < most(self.config.concurrency) && fits
    }

    fn call_first(&self) {
        if let Some(first) = self.line.front() {
            first.bell.notify_one();
        }
    }

    /// How many stand before this seat, or would if it joined the line.
    fn before(&self, seat: u64) -> usize {
        let place = self.line.iter().position(|waiting| waiting.seat == seat);
        place.unwrap_or(self.line.len())
    }

    fn leave(&mut self, seat: u64) {
        let was_first = self.line.front().is_some_and(|first| first.seat == seat);
        self.line.retain(|waiting| waiting.seat != seat);
        if was_first {
            self.call_first();
        }
    }
}

impl Seat {
    pub(super) fn at(host: &Arc<Host>) -> Self {
        let mut state = host.state();
        state.seats += 1;
        state.last_seat += 1;
        Self {
            host: Arc::clone(host),
            id: state.last_seat,
            bell: Arc::default(),
            in_line: false,
        }
    }

    pub(super) fn is_at(&self, host: &Arc<Host>) -> bool {
        Arc::ptr_eq(&self.host, host)
    }

    /// How much of the host's concurrency it can hope for while it has `on_wire` requests there: its part, rounded up, and
    /// what others leave while none of them waits.
    pub(super) fn share(&self, on_wire: usize) -> usize {
        let state = self.host.state();
        let Some(limit) = state.config.concurrency else {
            return usize::MAX;
        };
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let part = limit.div_ceil(state.seats.max(1));
        if state.line.iter().any(|waiting| waiting.seat != self.id) {
            return part;
        }
        let of_others = state.requests.saturating_sub(on_wire);
        limit.saturating_sub(of_others).max(part)
    }

    /// How many of its requests the rate lets through soon, and if none, when to ask again. It then stands in line, so
    /// that what is put on record need not wait there.
    pub(super) fn soon(&mut self, now: Duration) -> (usize, Option<Duration>) {
        let host = Arc::clone(&self.host);
        let mut state = host.state();
        let Some(bucket) = state.bucket else {
            return (usize::MAX, None);
        };
        let before = state.before(self.id);
        let tokens = usize::try_from(bucket.tokens(now + SOON)).unwrap_or(usize::MAX);
        let soon = tokens.saturating_sub(before);
        if soon > 0 {
            return (soon, None);
        }
        self.join(&mut state);
        let again = bucket.ready_at().saturating_sub(SOON);
        (0, (before == 0).then_some(again))
    }

    /// Takes a place on the wire for a request of `bytes`, or stands in line for one.
    pub(super) fn try_take(&mut self, bytes: usize, now: Duration) -> Result<Pass, Refusal> {
        let host = Arc::clone(&self.host);
        let mut state = host.state();
        let is_its_turn = state.before(self.id) == 0;
        if !(is_its_turn && state.has_room(bytes)) {
            self.join(&mut state);
            return Err(Refusal { again: None });
        }
        if let Some(bucket) = &mut state.bucket
            && !bucket.try_take(now)
        {
            let again = Some(bucket.ready_at());
            self.join(&mut state);
            return Err(Refusal { again });
        }
        state.requests += 1;
        state.bytes += bytes;
        if self.in_line {
            self.in_line = false;
            state.leave(self.id);
        }
        drop(state);
        Ok(Pass { host, bytes })
    }

    fn join(&mut self, state: &mut State) {
        if !self.in_line {
            self.in_line = true;
            state.line.push_back(Waiting {
                seat: self.id,
                bell: Arc::clone(&self.bell),
            });
        }
    }

    /// Gives up its place in line.
    pub(super) fn leave(&mut self) {
        if self.in_line {
            self.in_line = false;
            self.host.state().leave(self.id);
        }
    }

    /// Returns when it has become the first of the line, or a place has become free for it.
    pub(super) async fn called(&self) {
        self.bell.notified().await;
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.leave();
        self.host.state().seats -= 1;
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        let mut state = self.host.state();
        state.requests -= 1;
        state.bytes -= self.bytes;
        state.call_first();
    }
}

#[cfg(test)]
mod tests;
