//! Room for connections: where there is none left, the one that has waited longest for its client makes way.
//!
//! A connection waits for its client until a request has come whole, and again once that is answered. So those who only
//! connect, or send half a request, keep nobody out; a request that is under way is never given up for another.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Room for so many connections.
pub(super) struct Room {
    places: usize,
    state: Mutex<State>,
    /// Told when a place is given up, or could be.
    changed: Notify,
}

#[derive(Default)]
struct State {
    taken: usize,
    /// Who waits for a client, by since when.
    waiting: BTreeMap<u64, CancellationToken>,
    turns: u64,
}

/// The place of one connection, which is given up when this is dropped.
pub(super) struct Place {
    room: Arc<Room>,
    /// Cancelled when it has made way: the place is another's then.
    made_way: CancellationToken,
    /// Since when it has waited for its client, if it does.
    waiting: Mutex<Option<u64>>,
}

impl Room {
    pub(super) fn new(places: usize) -> Arc<Self> {
        Arc::new(Self {
            places,
            state: Mutex::default(),
            changed: Notify::new(),
        })
    }

    /// A place. Waits only while every connection is at work.
    pub(super) async fn enter(self: &Arc<Self>) -> Arc<Place> {
        while !self.is_taken() {
            self.changed.notified().await;
        }
        let place = Arc::new(Place {
            room: Arc::clone(self),
            made_way: CancellationToken::new(),
            waiting: Mutex::default(),
        });
        place.waits();
        place
    }

    /// Takes a place: a free one, or that of whoever has waited longest.
    fn is_taken(&self) -> bool {
        let mut state = self.state();
        if state.taken < self.places {
            state.taken += 1;
            return true;
        }
        let longest = state.waiting.pop_first();
        longest.inspect(|(_, made_way)| made_way.cancel()).is_some()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// Resolves when the connection is to end for another.
    pub(super) async fn made_way(&self) {
        self.made_way.cancelled().await;
    }

    /// A request has come whole.
    pub(super) fn works(&self) {
        if let Some(since) = self.waiting().take() {
            self.room.state().waiting.remove(&since);
        }
    }

    /// Nothing is to be done until the client says more.
    pub(super) fn waits(&self) {
        let mut waiting = self.waiting();
        let mut state = self.room.state();
        if waiting.is_none() && !self.made_way.is_cancelled() {
            state.turns += 1;
            let since = state.turns;
            state.waiting.insert(since, self.made_way.clone());
            *waiting = Some(since);
            self.room.changed.notify_one();
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Option<u64>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.works();
        let mut state = self.room.state();
        if !self.made_way.is_cancelled() {
            state.taken -= 1;
            self.room.changed.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    /// The place, if there is one at once.
    fn at_once(room: &Arc<Room>) -> Option<Arc<Place>> {
        let entering = pin!(room.enter());
        match entering.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(place) => Some(place),
            Poll::Pending => None,
        }
    }

    fn made_way(place: &Place) -> bool {
        place.made_way.is_cancelled()
    }

    #[test]
    fn who_has_waited_longest_makes_way_and_who_works_does_not() {
        let room = Room::new(3);
        let [first, second, third] = [(); 3].map(|()| at_once(&room).unwrap());
        first.works();
        let fourth = at_once(&room).unwrap();
        assert_eq!(
            [&first, &second, &third].map(|place| made_way(place)),
            [false, true, false]
        );
        first.waits();
        let _fifth = at_once(&room).unwrap();
        let _sixth = at_once(&room).unwrap();
        assert_eq!(
            [&first, &third, &fourth].map(|place| made_way(place)),
            [false, true, true]
        );
    }

    #[test]
    fn while_all_work_nobody_enters_until_one_waits_or_ends() {
        let room = Room::new(2);
        let [first, second] = [(); 2].map(|()| at_once(&room).unwrap());
        first.works();
        second.works();
        assert!(at_once(&room).is_none());
        second.waits();
        let third = at_once(&room).unwrap();
        assert!(made_way(&second));
        third.works();
        drop(second);
        assert!(at_once(&room).is_none(), "its place was another's");
        drop(first);
        assert!(at_once(&room).is_some());
    }
}
