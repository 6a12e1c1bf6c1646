//! How much one shard may send now: rate, bytes, concurrency, breaker, and its turn at a host that it shares.
//!
//! Owned by the dispatcher, which asks before it puts something on record and again before it sends. Where nothing is
//! configured, a question costs a comparison: no lock, no allocation, no task. What a limit allows stands in
//! `core::limit`, what a destination's health means for status in `health`.

pub mod health;
pub mod host;
pub mod usage;

use std::time::Duration;

use super::Active;
use crate::core::limit::Verdict;
use crate::core::limit::adaptive::{Adaptive, Sign};
use crate::core::limit::breaker::{Breaker, Change, Kind, Permission};
use crate::core::limit::bucket::Bucket;
use host::{Pass, Refusal, Seat};

/// So long before it may be sent, a delivery is put on record: a commit takes a few milliseconds, and what is on record
/// and unsent when a relay crashes has an unknown outcome.
pub(super) const SOON: Duration = Duration::from_millis(50);

/// Deliveries in one request, and how long they are waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batch {
    /// Deliveries in one request at most; the destination's own limit stands beside it.
    pub size: usize,
    /// How long a delivery waits for others, so that fewer requests are sent.
    pub wait: Duration,
}

impl Batch {
    /// One delivery, one request, at once.
    pub const SINGLE: Self = Self {
        size: 1,
        wait: Duration::ZERO,
    };
}

/// The limits of one shard.
pub(super) struct Limits {
    concurrency: usize,
    bucket: Option<Bucket>,
    adaptive: Option<Adaptive>,
    breaker: Option<Breaker>,
    seat: Option<Seat>,
    most_bytes: usize,
    bytes_on_wire: usize,
    /// What is on record next did not fit.
    bytes_full: bool,
    batch: Batch,
    /// Since when deliveries have waited for others to fill a request.
    gathering_since: Option<Duration>,
    /// The row that probed last and failed while the breaker is open: the one after it is tried next.
    pub(super) probed: Option<i64>,
    /// When to look again, since a limit stands in the way.
    retry_at: Option<Duration>,
    /// Whether it wants its place in the line of its host though nothing is on record.
    claims: bool,
}

/// What a request on the wire holds, and gives back when it lands.
pub(super) struct Ticket {
    pub(super) kind: Kind,
    bytes: usize,
    /// None for a job: how long that takes says nothing of how fast the receiver is.
    started: Option<Duration>,
    pass: Option<Pass>,
}

impl Limits {
    /// Nothing has been sent yet; `open` says whether an earlier owner left the breaker open.
    pub(super) fn new(active: &Active, left: Option<&crate::store::Failing>) -> Self {
        let was_open = left.is_some_and(|failing| failing.breaker_opened_at.is_some());
        let breaker = if was_open { Breaker::open } else { Breaker::closed };
        Self {
            concurrency: active.concurrency,
            bucket: active.limits.rate.map(|rate| Bucket::new(rate, active.shards)),
            adaptive: (active.limits.adaptive_concurrency).then(|| Adaptive::new(active.concurrency)),
            breaker: active.limits.breaker.map(breaker),
            seat: active.host.as_ref().map(Seat::at),
            most_bytes: usize::try_from(active.limits.max_in_flight_bytes).unwrap_or(usize::MAX),
            bytes_on_wire: 0,
            bytes_full: false,
            batch: active.batch,
            gathering_since: None,
            probed: None,
            retry_at: None,
            claims: false,
        }
    }

    /// Goes on under a changed configuration: what was taken stays taken, and an open breaker stays open.
    pub(super) fn retune(&mut self, active: &Active, now: Duration) {
        let fresh = Self::new(active, None);
        let bucket = match (self.bucket, active.limits.rate) {
            (Some(bucket), Some(rate)) => Some(bucket.retuned(rate, active.shards, now)),
            _ => fresh.bucket,
        };
        let adaptive = match (self.adaptive, fresh.adaptive) {
            (Some(adaptive), Some(_)) => Some(adaptive.within(active.concurrency)),
            (_, fresh) => fresh,
        };
        let breaker = match (self.breaker.take(), active.limits.breaker) {
            (Some(breaker), Some(policy)) => Some(breaker.under(policy)),
            _ => fresh.breaker,
        };
        let seat = match (self.seat.take(), &active.host) {
            (Some(seat), Some(host)) if seat.is_at(host) => Some(seat),
            _ => fresh.seat,
        };
        *self = Self {
            bucket,
            adaptive,
            breaker,
            seat,
            bytes_on_wire: self.bytes_on_wire,
            gathering_since: self.gathering_since,
            probed: self.probed,
            ..fresh
        };
    }

    /// A turn of the wheel begins: what stood in the way may do so no longer.
    pub(super) fn begin_turn(&mut self) {
        self.retry_at = None;
        self.claims = false;
    }

    /// What the breaker lets through.
    pub(super) fn permission(&self, now: Duration) -> Permission {
        let breaker = self.breaker.as_ref();
        breaker.map_or(Permission::All, |breaker| breaker.permission(now))
    }

    /// Whether the breaker is open.
    pub(super) fn is_open(&self) -> bool {
        self.breaker.as_ref().is_some_and(|breaker| !breaker.is_closed())
    }

    /// Requests on the wire at most.
    pub(super) fn concurrency(&self) -> usize {
        self.adaptive.as_ref().map_or(self.concurrency, Adaptive::limit)
    }

    /// Requests on the wire that this shard can hope for, with those who share its host, while it has `on_wire` there.
    pub(super) fn fair_concurrency(&self, on_wire: usize) -> usize {
        let share = self.seat.as_ref().map_or(usize::MAX, |seat| seat.share(on_wire));
        self.concurrency().min(share)
    }

    /// Requests that may be on record and unsent: those that a rate lets through soon. Asked only if there are any.
    pub(super) fn soon(&mut self, now: Duration) -> usize {
        let Self {
            bucket,
            seat,
            retry_at,
            ..
        } = self;
        let mut soon = usize::MAX;
        if let Some(bucket) = bucket {
            soon = usize::try_from(bucket.tokens(now + SOON)).unwrap_or(usize::MAX);
            if soon == 0 {
                sooner(retry_at, Some(bucket.ready_at().saturating_sub(SOON)));
                return 0;
            }
        }
        if let Some(seat) = seat {
            let (of_host, again) = seat.soon(now);
            soon = soon.min(of_host);
            self.claims = true;
            sooner(retry_at, again);
        }
        soon
    }

    /// How many of `ready` deliveries, at least one, should go now, rather than wait for others that fill their request.
    pub(super) fn gathered(&mut self, ready: usize, now: Duration) -> usize {
        let Batch { size, wait } = self.batch;
        if wait.is_zero() {
            return ready;
        }
        let until = self.gathering_since.get_or_insert(now).saturating_add(wait);
        if now >= until {
            self.gathering_since = None;
            return ready;
        }
        let full = ready - ready % size.max(1);
        if full > 0 {
            self.gathering_since = None;
        }
        if full < ready {
            let until = self.gathering_since.get_or_insert(now).saturating_add(wait);
            sooner(&mut self.retry_at, Some(until));
        }
        full
    }

    /// Deliveries in one request at most: a probe takes one.
    pub(super) fn batch_size(&self) -> usize {
        if self.is_open() { 1 } else { self.batch.size }
    }

    /// Whether what is on record waits for bytes, so that no more of it is needed.
    pub(super) fn bytes_full(&self) -> bool {
        self.bytes_full
    }

    /// Payload bytes in one request at most, unless it holds a single row.
    pub(super) fn most_bytes(&self) -> usize {
        self.most_bytes
    }

    /// Lets one request of `bytes` onto the wire, or notes when to ask again.
    pub(super) fn admit(&mut self, bytes: usize, now: Duration) -> Option<Ticket> {
        let kind = match self.permission(now) {
            Permission::All => Kind::Regular,
            Permission::Probe => Kind::Probe,
            Permission::Nothing(_) => return self.refuse(None),
        };
        if self.bytes_on_wire > 0 && self.bytes_on_wire.saturating_add(bytes) > self.most_bytes {
            self.bytes_full = true;
            return self.refuse(None);
        }
        if let Some(bucket) = self.bucket.filter(|bucket| bucket.tokens(now) == 0) {
            return self.refuse(Some(bucket.ready_at()));
        }
        let pass = match self.seat.as_mut().map(|seat| seat.try_take(bytes, now)) {
            None => None,
            Some(Ok(pass)) => Some(pass),
            Some(Err(Refusal { again })) => {
                sooner(&mut self.retry_at, again);
                return None;
            }
        };
        if let Some(bucket) = &mut self.bucket {
            bucket.try_take(now);
        }
        if let (Kind::Probe, Some(breaker)) = (kind, &mut self.breaker) {
            breaker.probing();
        }
        self.bytes_on_wire += bytes;
        Some(Ticket {
            kind,
            bytes,
            started: Some(now),
            pass,
        })
    }

    /// The same for a job: one request to every limit.
    pub(super) fn admit_job(&mut self, bytes: usize, now: Duration) -> Option<Ticket> {
        let ticket = self.admit(bytes, now)?;
        Some(Ticket {
            started: None,
            ..ticket
        })
    }

    /// The data of a job is away: only its place among the requests is still taken.
    pub(super) fn job_is_away(&mut self, ticket: &mut Ticket) {
        self.bytes_on_wire -= std::mem::take(&mut ticket.bytes);
        self.bytes_full = false;
        ticket.pass = None;
    }

    /// Refused by a limit of its own: others of its host go first meanwhile.
    fn refuse(&mut self, again: Option<Duration>) -> Option<Ticket> {
        sooner(&mut self.retry_at, again);
        self.stand_aside();
        None
    }

    /// Nothing is to be sent now: gives up its place in the line of its host.
    pub(super) fn stand_aside(&mut self) {
        if let Some(seat) = &mut self.seat {
            seat.leave();
        }
    }

    /// Nothing is on record: keeps its place only if something is to come there.
    pub(super) fn nothing_to_send(&mut self) {
        if !self.claims {
            self.stand_aside();
        }
    }

    /// A request of `first` and maybe others has come back, when `on_wire` requests were left.
    pub(super) fn landed(
        &mut self,
        ticket: &Ticket,
        first: Option<i64>,
        verdict: Verdict,
        sign: Sign,
        on_wire: usize,
        now: Duration,
    ) -> Option<Change> {
        self.bytes_on_wire -= ticket.bytes;
        self.bytes_full = false;
        if let (Some(adaptive), Some(started)) = (&mut self.adaptive, ticket.started) {
            adaptive.came_back(started, now, sign, on_wire + 1);
        }
        let change = self.breaker.as_mut()?.came_back(ticket.kind, verdict, now);
        match (ticket.kind, change, first) {
            (_, Some(_), _) => self.probed = None,
            (Kind::Probe, None, Some(first)) => self.probed = Some(first),
            _ => {}
        }
        change
    }

    /// When a limit that stands in the way may no longer do so.
    pub(super) fn next_change(&self, now: Duration) -> Option<Duration> {
        let until = match self.permission(now) {
            Permission::Nothing(until) => until,
            Permission::All | Permission::Probe => None,
        };
        [until, self.retry_at].into_iter().flatten().min()
    }

    /// Returns when its turn at its host has come.
    pub(super) async fn called(&self) {
        match &self.seat {
            Some(seat) => seat.called().await,
            None => std::future::pending().await,
        }
    }
}

fn sooner(at: &mut Option<Duration>, other: Option<Duration>) {
    *at = [*at, other].into_iter().flatten().min();
}
