//! A token bucket: at most so many requests in any span of time.
//!
//! Receivers count requests in a window, and the one that counts strictly must not find one too many. So a tenth of
//! them may go at once, and the rest is paced such that burst and pace together never exceed the number in any window.

use std::time::Duration;

/// The part of a rate that may go at once after a quiet spell: one in so many.
const BURST_PART: u32 = 10;

/// At most `requests` in any `per`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// At least 1.
    pub requests: u32,
    /// Longer than nothing.
    pub per: Duration,
}

/// Lets requests through at a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    every: Duration,
    burst: u32,
    /// When the bucket is full again, if nothing more is taken.
    full_at: Duration,
}

impl Bucket {
    /// A full bucket for one of `shares` that divide `rate` among them. Each is paced for itself: together they may go
    /// beyond the rate by one request a share in a window.
    pub fn new(rate: Rate, shares: u32) -> Self {
        let (requests, shares) = (rate.requests.max(1), shares.max(1));
        let burst = (requests / BURST_PART).max(1);
        let paced = u128::from(requests - burst + 1);
        let every = (rate.per.as_nanos() * u128::from(shares)).div_ceil(paced).max(1);
        Self {
            every: Duration::from_nanos(u64::try_from(every).unwrap_or(u64::MAX)),
            burst: (burst / shares).max(1),
            full_at: Duration::ZERO,
        }
    }

    /// Goes on as a share of another rate; what was taken stays taken, as far as the new rate remembers.
    #[must_use]
    pub fn retuned(&self, rate: Rate, shares: u32, now: Duration) -> Self {
        let new = Self::new(rate, shares);
        let empty = now.saturating_add(new.every.saturating_mul(new.burst));
        Self {
            full_at: self.full_at.min(empty),
            ..new
        }
    }

    /// How many requests may go at `now`.
    pub fn tokens(&self, now: Duration) -> u32 {
        let missing = self.full_at.saturating_sub(now).as_nanos();
        let missing = missing.div_ceil(self.every.as_nanos());
        self.burst
            .saturating_sub(u32::try_from(missing).unwrap_or(u32::MAX))
    }

    /// When the next request may go.
    pub fn ready_at(&self) -> Duration {
        self.full_at
            .saturating_sub(self.every.saturating_mul(self.burst - 1))
    }

    /// Lets one request through at `now`, or says that it must wait.
    pub fn try_take(&mut self, now: Duration) -> bool {
        let may_go = self.tokens(now) > 0;
        if may_go {
            self.full_at = self.full_at.max(now).saturating_add(self.every);
        }
        may_go
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rate(requests: u32, per: Duration) -> Rate {
        Rate { requests, per }
    }

    /// Sends as fast as the bucket lets it, looking at it after each of `pauses`, and returns when.
    fn send(bucket: &mut Bucket, pauses: &[u64]) -> Vec<Duration> {
        let mut now = Duration::from_secs(1);
        let mut sent = vec![];
        for pause in pauses {
            now += Duration::from_micros(*pause);
            // A bucket that lets everything through is to fail, not to hang.
            while sent.len() < 100_000 && bucket.try_take(now) {
                sent.push(now);
            }
        }
        sent
    }

    /// The most that stand in any half-open window of this length.
    fn most_within(sent: &[Duration], window: Duration) -> usize {
        let until = |start: &Duration| sent.partition_point(|time| *time < *start + window);
        let counts = sent.iter().enumerate().map(|(index, start)| until(start) - index);
        counts.max().unwrap_or(0)
    }

    #[test]
    fn a_tenth_goes_at_once_and_the_rest_at_an_even_pace() {
        let mut bucket = Bucket::new(rate(100, Duration::from_secs(10)), 1);
        assert_eq!(send(&mut bucket, &[0]).len(), 10);
        assert_eq!(bucket.ready_at().as_millis(), 1_000 + 10_000 / 91);
    }

    #[test]
    fn a_small_rate_is_evenly_spaced() {
        let mut bucket = Bucket::new(rate(5, Duration::from_secs(1)), 1);
        let sent = send(&mut bucket, &[0, 199_999, 1, 200_000]);
        assert_eq!(
            sent.iter().map(Duration::as_millis).collect::<Vec<_>>(),
            [1_000, 1_200, 1_400]
        );
    }

    #[test]
    fn shares_divide_a_rate() {
        let whole = rate(5, Duration::from_secs(1));
        assert_eq!(Bucket::new(whole, 4).every, Duration::from_millis(800));
    }

    #[test]
    fn a_faster_rate_does_not_wait_for_the_end_of_a_slower_one() {
        let hour = rate(1, Duration::from_hours(1));
        let mut slow = Bucket::new(hour, 1);
        let now = Duration::from_secs(9);
        assert!(slow.try_take(now));
        let fast = slow.retuned(rate(5, Duration::from_secs(1)), 1, now);
        assert_eq!(fast.ready_at(), now + Duration::from_millis(200));
        assert_eq!(
            slow.retuned(hour, 1, now),
            slow,
            "the same rate goes on as it was"
        );
    }

    proptest! {
        #[test]
        fn never_more_than_the_rate_in_any_window(
            requests in 1..200_u32,
            per_ms in 1..20_000_u64,
            pauses in proptest::collection::vec(prop_oneof![0..50_u64, 0..5_000_u64, 0..2_000_000_u64], 1..500),
        ) {
            let rate = rate(requests, Duration::from_millis(per_ms));
            let sent = send(&mut Bucket::new(rate, 1), &pauses);
            prop_assert!(most_within(&sent, rate.per) <= requests as usize);
        }

        #[test]
        fn nine_tenths_of_the_rate_are_reached(requests in 1..500_u32, per_ms in 100..20_000_u64) {
            let rate = rate(requests, Duration::from_millis(per_ms));
            let mut bucket = Bucket::new(rate, 1);
            let (mut now, mut sent) = (Duration::ZERO, 0);
            while now < rate.per * 10 && sent <= requests * 20 {
                if bucket.try_take(now) {
                    sent += 1;
                } else {
                    now = bucket.ready_at();
                }
            }
            prop_assert!(sent >= requests * 9, "{} in ten spans", sent);
        }

        #[test]
        fn shares_together_stay_within_the_rate_but_for_one_each(
            requests in 1..200_u32,
            shares in 1..64_u32,
        ) {
            let rate = rate(requests, Duration::from_secs(1));
            let mut all = vec![];
            for _ in 0..shares {
                all.extend(send(&mut Bucket::new(rate, shares), &vec![1_000; 3_000]));
            }
            all.sort_unstable();
            prop_assert!(most_within(&all, rate.per) <= (requests + shares) as usize);
        }

        #[test]
        fn what_it_says_of_the_next_request_is_true(
            requests in 1..100_u32,
            pauses in proptest::collection::vec(0..300_000_u64, 1..200),
        ) {
            let mut bucket = Bucket::new(rate(requests, Duration::from_secs(1)), 1);
            let mut now = Duration::from_secs(1);
            for pause in pauses {
                now += Duration::from_micros(pause);
                let (tokens, ready_at) = (bucket.tokens(now), bucket.ready_at());
                prop_assert_eq!(tokens > 0, ready_at <= now);
                prop_assert!(bucket.tokens(now.max(ready_at)) > 0);
                bucket.try_take(now);
            }
        }
    }
}
