//! Adaptive concurrency: fewer requests at once while a receiver slows, more again while it keeps up.
//!
//! Additive increase, multiplicative decrease, as in TCP: a request that took twice as long as this receiver needs at its
//! best, or that it did not answer, takes a tenth away, once for all that were on the wire together; each limit's worth of good answers
//! adds one. Never below one, never above what is configured.

use std::time::Duration;

/// What one request says of the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// It was answered.
    Answered,
    /// It was not, or with the wish to wait: too much was asked.
    Overloaded,
}

/// An answer that took so many times as long as the best is a sign of congestion.
const SLOW: f64 = 2.0;
/// What is left of the limit at such a sign.
const DECREASE: f64 = 0.9;
/// The best time forgets: a receiver that has become slower for good is not starved. One part in so many, each request.
const FORGETS: f64 = 0.002;
/// Below this a difference is noise of the scheduler.
const NOISE: Duration = Duration::from_millis(1);

/// How many requests one shard may have on the wire.
#[derive(Debug, Clone, Copy)]
pub struct Adaptive {
    most: usize,
    limit: f64,
    /// What the receiver needs at its best, in seconds.
    best: Option<f64>,
    /// Only what was sent after the last decrease speaks of the limit as it is now.
    decreased_at: Duration,
}

impl Adaptive {
    /// Begins with the configured limit, of at least 1.
    pub fn new(most: usize) -> Self {
        let most = most.max(1);
        Self {
            most,
            limit: wide(most),
            best: None,
            decreased_at: Duration::ZERO,
        }
    }

    /// Goes on with another configured limit.
    #[must_use]
    pub fn within(self, most: usize) -> Self {
        let most = most.max(1);
        Self {
            most,
            limit: self.limit.min(wide(most)),
            ..self
        }
    }

    /// Requests at once now: from 1 to the configured limit.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it lies between 1 and a usize"
    )]
    pub fn limit(&self) -> usize {
        (self.limit as usize).clamp(1, self.most)
    }

    /// A request that began at `started` came back at `now`, when `on_wire` were on the wire, it included.
    pub fn came_back(&mut self, started: Duration, now: Duration, sign: Sign, on_wire: usize) {
        let took = now.saturating_sub(started).max(NOISE).as_secs_f64();
        let slow = self.best.is_some_and(|best| took > best * SLOW);
        if sign == Sign::Answered {
            self.best = Some(
                self.best
                    .map_or(took, |best| took.min(best + (took - best) * FORGETS)),
            );
        }
        if sign == Sign::Overloaded || slow {
            if started >= self.decreased_at {
                self.limit = (self.limit * DECREASE).max(1.0);
                self.decreased_at = now;
            }
        } else if on_wire * 2 > self.limit() {
            // A limit that is not used says nothing of a higher one.
            self.limit = (self.limit + 1.0 / self.limit).min(wide(self.most));
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a limit of requests is far below 2^52")]
fn wide(limit: usize) -> f64 {
    limit as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    /// Rounds in which as many requests as may be are sent at once and take `time`.
    fn rounds(adaptive: &mut Adaptive, now: &mut Duration, count: usize, time: Duration) {
        for _ in 0..count {
            let (started, on_wire) = (*now, adaptive.limit());
            *now += time;
            for left in (1..=on_wire).rev() {
                adaptive.came_back(started, *now, Sign::Answered, left.max(on_wire / 2 + 1));
            }
        }
    }

    #[test]
    fn it_shrinks_while_the_receiver_is_slow_and_grows_back_when_it_is_not() {
        let (mut adaptive, mut now) = (Adaptive::new(32), ms(0));
        rounds(&mut adaptive, &mut now, 5, ms(10));
        assert_eq!(adaptive.limit(), 32);
        rounds(&mut adaptive, &mut now, 10, ms(100));
        assert!(adaptive.limit() < 16, "{}", adaptive.limit());
        rounds(&mut adaptive, &mut now, 100, ms(10));
        assert_eq!(adaptive.limit(), 32);
    }

    #[test]
    fn requests_that_were_on_the_wire_together_take_away_once() {
        let mut adaptive = Adaptive::new(100);
        for _ in 0..100 {
            adaptive.came_back(ms(0), ms(1000), Sign::Overloaded, 100);
        }
        assert_eq!(adaptive.limit(), 90);
    }

    #[test]
    fn a_receiver_that_has_become_slower_for_good_is_not_starved() {
        let (mut adaptive, mut now) = (Adaptive::new(8), ms(0));
        rounds(&mut adaptive, &mut now, 5, ms(10));
        rounds(&mut adaptive, &mut now, 3_000, ms(50));
        assert_eq!(adaptive.limit(), 8);
    }

    #[test]
    fn what_is_configured_bounds_it_after_a_change_too() {
        assert_eq!(Adaptive::new(32).within(4).limit(), 4);
        assert_eq!(Adaptive::new(4).within(32).limit(), 4, "and it grows by and by");
    }

    proptest! {
        #[test]
        fn it_stays_between_one_and_what_is_configured(
            most in 0..5_000_usize,
            steps in proptest::collection::vec((0..10_000_u64, 0..100_000_u64, any::<bool>(), 0..5_000_usize), 0..2_000),
        ) {
            let mut adaptive = Adaptive::new(most);
            let mut now = Duration::ZERO;
            for (pause, took, answered, on_wire) in steps {
                now += ms(pause);
                let sign = if answered { Sign::Answered } else { Sign::Overloaded };
                adaptive.came_back(now.saturating_sub(ms(took)), now, sign, on_wire);
                prop_assert!((1..=most.max(1)).contains(&adaptive.limit()));
            }
        }
    }
}
