//! Which deliveries may share a request, after a request of several was refused as a whole.
//!
//! A request that is refused is divided: each half is a part, and only deliveries of one part share a request, until the
//! one that is to blame stands alone. Every half is sent by an attempt of its own. Kept in memory only: whoever takes the
//! shard over begins with whole requests again.

use std::collections::HashMap;

use crate::core::outcome::{Outcome, Refusal};

/// Names the deliveries that may share a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part(u64);

/// The parts of a shard. What is in none may share a request with whatever is in none.
#[derive(Debug, Default)]
pub(super) struct Parts {
    of: HashMap<i64, Part>,
    last: u64,
}

impl Parts {
    /// The part of a delivery, if it is in one.
    pub(super) fn of(&self, outbox_id: i64) -> Option<Part> {
        if self.of.is_empty() {
            return None;
        }
        self.of.get(&outbox_id).copied()
    }

    /// Whether any delivery is in a part.
    pub(super) fn any(&self) -> bool {
        !self.of.is_empty()
    }

    /// Divides a request of several deliveries, as far as their outcomes ask for it.
    pub(super) fn divide<'a>(&mut self, met: impl IntoIterator<Item = (i64, &'a Outcome)>) {
        let mut together = Vec::new();
        for (outbox_id, outcome) in met {
            match outcome {
                Outcome::Refused(Refusal::Together) => together.push(outbox_id),
                Outcome::Refused(Refusal::Alone) => self.set_apart(&[outbox_id]),
                _ => {}
            }
        }
        let (one, other) = together.split_at(together.len() / 2);
        self.set_apart(one);
        self.set_apart(other);
    }

    /// The delivery has ended, or is no longer in memory.
    pub(super) fn forget(&mut self, outbox_id: i64) {
        if self.any() {
            self.of.remove(&outbox_id);
        }
    }

    fn set_apart(&mut self, outbox_ids: &[i64]) {
        self.last += 1;
        let part = Part(self.last);
        self.of
            .extend(outbox_ids.iter().map(|outbox_id| (*outbox_id, part)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOGETHER: Outcome = Outcome::Refused(Refusal::Together);

    #[test]
    fn what_was_refused_together_is_halved_and_the_others_stay_where_they_are() {
        let mut parts = Parts::default();
        let alone = Outcome::Refused(Refusal::Alone);
        parts.divide([
            (1, &TOGETHER),
            (2, &Outcome::Accepted),
            (3, &TOGETHER),
            (4, &alone),
            (5, &TOGETHER),
            (6, &TOGETHER),
        ]);
        assert_eq!(parts.of(1), parts.of(3));
        assert_eq!(parts.of(5), parts.of(6));
        assert_ne!(parts.of(1), parts.of(5));
        assert!(
            parts
                .of(4)
                .is_some_and(|part| Some(part) != parts.of(1) && Some(part) != parts.of(5))
        );
        assert_eq!((parts.of(2), parts.of(7)), (None, None));
    }

    #[test]
    fn of_a_hundred_with_one_to_blame_fifteen_requests_find_it() {
        for to_blame in 1..=100 {
            let mut parts = Parts::default();
            let mut open = vec![(1..=100).collect::<Vec<i64>>()];
            let mut requests = 0;
            while let Some(request) = open.pop() {
                requests += 1;
                if request.len() > 1 && request.contains(&to_blame) {
                    parts.divide(request.iter().map(|outbox_id| (*outbox_id, &TOGETHER)));
                    let first = parts.of(request[0]);
                    let (one, other) = request
                        .iter()
                        .partition(|outbox_id| parts.of(**outbox_id) == first);
                    open.extend([one, other]);
                } else {
                    for outbox_id in request {
                        parts.forget(outbox_id);
                    }
                }
            }
            assert!(requests <= 15 && !parts.any(), "{to_blame}: {requests}");
        }
    }
}
