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

    /// Its part of the host's concurrency, rounded up.
    pub(super) fn share(&self) -> usize {
        let state = self.host.state();
        let limit = state.config.concurrency.map(usize::try_from);
        limit.map_or(usize::MAX, |limit| {
            limit.unwrap_or(usize::MAX).div_ceil(state.seats.max(1))
        })
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
mod tests {
    use super::*;
    use crate::core::limit::bucket::Rate;
    use proptest::prelude::*;

    const NOW: Duration = Duration::from_secs(1);

    fn host(concurrency: Option<u32>, bytes: Option<u32>, rate: Option<Rate>) -> Arc<Host> {
        Arc::new(Host::new(
            "api.example.com",
            &HostConfig {
                rate,
                concurrency,
                max_in_flight_bytes: bytes,
            },
        ))
    }

    /// Whether the bell of the seat has rung since it was asked last.
    fn was_called(seat: &Seat) -> bool {
        let called = seat.bell.notified();
        let mut called = std::pin::pin!(called);
        called.as_mut().enable()
    }

    #[test]
    fn who_wants_more_takes_turns_with_who_waits() {
        let host = host(Some(1), None, None);
        let [mut greedy, mut modest] = [Seat::at(&host), Seat::at(&host)];
        let pass = greedy.try_take(1, NOW).ok().unwrap();
        assert!(modest.try_take(1, NOW).is_err());
        assert!(greedy.try_take(1, NOW).is_err());
        drop(pass);
        assert!(was_called(&modest) && !was_called(&greedy));
        assert!(greedy.try_take(1, NOW).is_err(), "it is not its turn");
        let pass = modest.try_take(1, NOW).ok().unwrap();
        assert!(was_called(&greedy), "it is the first now");
        assert!(modest.try_take(1, NOW).is_err());
        drop(pass);
        assert!(greedy.try_take(1, NOW).is_ok());
    }

    #[test]
    fn who_no_longer_wants_anything_lets_the_next_one_go() {
        let host = host(Some(1), None, None);
        let [mut first, mut second, mut third] = [Seat::at(&host), Seat::at(&host), Seat::at(&host)];
        let pass = first.try_take(1, NOW).ok().unwrap();
        assert!(second.try_take(1, NOW).is_err() && third.try_take(1, NOW).is_err());
        drop(pass);
        assert!(was_called(&second));
        drop(second);
        assert!(was_called(&third));
        assert!(third.try_take(1, NOW).is_ok());
        third.leave();
        assert!(first.try_take(1, NOW).is_ok(), "nobody waits any more");
    }

    #[test]
    fn a_request_that_is_larger_than_all_bytes_goes_alone() {
        let host = host(None, Some(10), None);
        let mut seat = Seat::at(&host);
        let large = seat.try_take(11, NOW).ok().unwrap();
        assert!(seat.try_take(1, NOW).is_err());
        drop(large);
        let _small = seat.try_take(6, NOW).ok().unwrap();
        let _other = seat.try_take(4, NOW).ok().unwrap();
        assert!(seat.try_take(1, NOW).is_err());
    }

    #[test]
    fn only_the_first_of_the_line_asks_again_when_the_rate_allows() {
        let rate = Rate {
            requests: 5,
            per: Duration::from_secs(1),
        };
        let host = host(None, None, Some(rate));
        let [mut one, mut other] = [Seat::at(&host), Seat::at(&host)];
        assert!(one.try_take(1, NOW).is_ok());
        let next = NOW + Duration::from_millis(200);
        assert_eq!(other.try_take(1, NOW).err().unwrap().again, Some(next));
        assert_eq!(
            one.soon(next.saturating_sub(SOON)),
            (0, None),
            "what is to come is another's"
        );
        assert!(one.try_take(1, next).is_err());
        assert!(other.try_take(1, next).is_ok());
        assert!(was_called(&one));
        let after = (next + Duration::from_millis(200)).saturating_sub(SOON);
        assert_eq!(one.soon(next), (0, Some(after)));
    }

    #[test]
    fn a_share_of_the_concurrency_is_hoped_for() {
        let host = host(Some(5), None, None);
        let one = Seat::at(&host);
        assert_eq!(one.share(), 5);
        let other = Seat::at(&host);
        assert_eq!((one.share(), other.share()), (3, 3));
        drop(other);
        assert_eq!(one.share(), 5);
    }

    proptest! {
        #[test]
        fn it_is_never_exceeded_and_nobody_is_left_behind(
            concurrency in 1..5_u32,
            steps in proptest::collection::vec((0..4_usize, 0..3_u8), 1..500),
        ) {
            let host = host(Some(concurrency), None, None);
            let mut seats: Vec<Seat> = (0..4).map(|_| Seat::at(&host)).collect();
            let mut passes: Vec<Pass> = vec![];
            // For each seat that waits, how many others have gone since.
            let mut overtaken = [None; 4];
            for (seat, step) in steps {
                match step {
                    0 => if !passes.is_empty() { passes.remove(0); },
                    1 => { seats[seat].leave(); overtaken[seat] = None; }
                    _ => match seats[seat].try_take(1, NOW) {
                        Ok(pass) => {
                            passes.push(pass);
                            overtaken[seat] = None;
                            for count in overtaken.iter_mut().flatten() {
                                *count += 1;
                            }
                        }
                        Err(_) => { overtaken[seat].get_or_insert(0); }
                    },
                }
                prop_assert!(passes.len() <= concurrency as usize);
                prop_assert!(overtaken.iter().flatten().all(|count| *count < 4), "each goes once before another goes twice");
            }
        }
    }
}
