//! A circuit breaker: stops sending to a receiver that fails throughout, and looks with single rows whether it is back.
//!
//! ```text
//!            a failing share of the window                  its time is over, a probe is sent
//!  closed ─────────────────────────────────▶ open ──────────────────────────────────────────▶ probing
//!     ▲                                       ▲                                                  │ │
//!     │                                       └─────────────── the probe failed ─────────────────┘ │
//!     └────────────────────────────────── the probe did its work ──────────────────────────────────┘
//! ```
//!
//! It never ends a delivery: while it is open, nothing is begun, so no attempt is consumed.

use std::time::Duration;

use super::Verdict;

/// When the breaker opens, and for how long.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BreakerPolicy {
    /// It opens where so large a share of the requests in the window fail; above 0, at most 1.
    pub failing_share: f64,
    /// Over how long requests are counted.
    pub window: Duration,
    /// It stays closed while fewer were counted.
    pub min_requests: u32,
    /// How long nothing is sent, before it opens and after a probe that failed.
    pub open_for: Duration,
}

/// What may be sent now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    /// As much as the other limits allow.
    All,
    /// One request of one row; [`Breaker::probing`] once it is on its way.
    Probe,
    /// Nothing before this time, or before the probe is back.
    Nothing(Option<Duration>),
}

/// What a request was, when it was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One of many.
    Regular,
    /// The one that looks whether the receiver is back.
    Probe,
}

/// How the breaker has just changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It has opened: the receiver fails throughout.
    Opened,
    /// It has closed: the receiver works again.
    Closed,
}

/// The breaker of one shard.
#[derive(Debug, Clone)]
pub struct Breaker {
    policy: BreakerPolicy,
    state: State,
    counts: Window,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Closed,
    Open { until: Duration },
    Probing,
}

impl Breaker {
    /// A closed breaker.
    pub fn closed(policy: BreakerPolicy) -> Self {
        Self {
            policy,
            state: State::Closed,
            counts: Window::new(policy.window),
        }
    }

    /// One that was open when its shard changed hands: a probe may be sent at once.
    pub fn open(policy: BreakerPolicy) -> Self {
        Self {
            state: State::Open {
                until: Duration::ZERO,
            },
            ..Self::closed(policy)
        }
    }

    /// Goes on under another policy, in the state that it is in.
    #[must_use]
    pub fn under(self, policy: BreakerPolicy) -> Self {
        if policy == self.policy {
            return self;
        }
        Self {
            state: self.state,
            ..Self::closed(policy)
        }
    }

    /// Whether requests may go as if there were no breaker.
    pub fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    /// What may be sent at `now`.
    pub fn permission(&self, now: Duration) -> Permission {
        match self.state {
            State::Closed => Permission::All,
            State::Open { until } if now < until => Permission::Nothing(Some(until)),
            State::Open { .. } => Permission::Probe,
            State::Probing => Permission::Nothing(None),
        }
    }

    /// The probe is on its way.
    pub fn probing(&mut self) {
        self.state = State::Probing;
    }

    /// A request came back at `now`.
    pub fn came_back(&mut self, kind: Kind, verdict: Verdict, now: Duration) -> Option<Change> {
        match (self.state, kind) {
            (State::Closed, _) => {
                self.counts.add(verdict, now);
                let is_failing = verdict == Verdict::Fails && self.is_failing();
                is_failing.then(|| {
                    self.reopen(now.saturating_add(self.policy.open_for));
                    Change::Opened
                })
            }
            (State::Probing, Kind::Probe) => match verdict {
                Verdict::Works => {
                    *self = Self::closed(self.policy);
                    Some(Change::Closed)
                }
                Verdict::Fails => {
                    self.reopen(now.saturating_add(self.policy.open_for));
                    None
                }
                // It asked to wait, which the destination does; then it is asked again.
                Verdict::Neither => {
                    self.reopen(now);
                    None
                }
            },
            // What was on the wire when it opened says nothing new.
            (State::Open { .. } | State::Probing, _) => None,
        }
    }

    fn is_failing(&self) -> bool {
        let Counts { works, fails } = self.counts.sum();
        let all = works.saturating_add(fails);
        all >= self.policy.min_requests && f64::from(fails) >= self.policy.failing_share * f64::from(all)
    }

    fn reopen(&mut self, until: Duration) {
        self.state = State::Open { until };
    }
}

/// Into how many parts a window is divided: it moves on by one of them at a time.
const PARTS: u8 = 10;

/// Requests of the last while, by what they said of the receiver.
#[derive(Debug, Clone)]
struct Window {
    part: Duration,
    /// The number of the newest part, counted from the clock's start.
    newest: u64,
    parts: [Counts; PARTS as usize],
}

#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    works: u32,
    fails: u32,
}

impl Window {
    fn new(length: Duration) -> Self {
        Self {
            part: (length / u32::from(PARTS)).max(Duration::from_nanos(1)),
            newest: 0,
            parts: [Counts::default(); PARTS as usize],
        }
    }

    fn add(&mut self, verdict: Verdict, now: Duration) {
        let number = u64::try_from(now.as_nanos() / self.part.as_nanos()).unwrap_or(u64::MAX);
        let passed = number.saturating_sub(self.newest).min(PARTS.into());
        for gone in 0..passed {
            *self.of(number - gone) = Counts::default();
        }
        self.newest = self.newest.max(number);
        let counts = self.of(self.newest);
        match verdict {
            Verdict::Works => counts.works = counts.works.saturating_add(1),
            Verdict::Fails => counts.fails = counts.fails.saturating_add(1),
            Verdict::Neither => {}
        }
    }

    fn of(&mut self, number: u64) -> &mut Counts {
        &mut self.parts[usize::try_from(number % u64::from(PARTS)).unwrap_or(0)]
    }

    fn sum(&self) -> Counts {
        let sum = |field: fn(&Counts) -> u32| self.parts.iter().map(field).fold(0, u32::saturating_add);
        Counts {
            works: sum(|part| part.works),
            fails: sum(|part| part.fails),
        }
    }
}

#[cfg(test)]
mod tests;
