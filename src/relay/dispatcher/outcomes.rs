//! From answers to settlements, and from committed records back to the queue.
//!
//! The queue learns of an end or a retry only once it is committed: until then nothing else of the row key moves.

use std::collections::HashSet;
use std::time::Duration;

use tokio::task::Id;

use super::prepare::Prepared;
use super::sender::{Flight, Way};
use super::unmet::Unmet;
use super::{Dispatcher, Event};
use crate::core::decide::{CancelRequest, Decision, Hold, Standing, Transition, decide};
use crate::core::delivery::{Reason, State};
use crate::core::limit::breaker::Kind;
use crate::core::outcome::{Outcome, Report};
use crate::core::queue::{Ended, Mark, Trace};
use crate::core::time::Timestamp;
use crate::relay::database_clock::DatabaseClock;
use crate::relay::reconnect::retrying;
use crate::store::{EndedAttempt, Recorded, Settlement, SettlementKind};

/// What the deliveries of one request have in common.
struct Sending {
    started_at: Timestamp,
    sent_as: Kind,
    /// What failed together is due together, so that it can share a request again.
    jitter: f64,
}

impl Dispatcher {
    /// Writes the next record, if there is one and none is in progress.
    pub(super) fn start_record(&mut self, monotonic: Duration) {
        let grows_until = self.recorder.grows_until(self.sender.waiting());
        if grows_until.is_some_and(|until| monotonic < until) {
            return;
        }
        let (rendering, returned) = (self.renderings.current_id(), self.sender.returned);
        let Some(record) = self.recorder.start(rendering, returned, monotonic) else {
            return;
        };
        let store = self.context.store.clone();
        let abort = self.stop.abort.clone();
        let span = (self.context.traces).settle(&self.lease.shard.destination, record.settle.len());
        self.tasks.spawn(async move {
            crate::crash_point!("before_record");
            let recorded = retrying("record", &abort, || store.record(record.clone())).await;
            crate::crash_point!("after_record");
            span.end();
            Event::Recorded(recorded)
        });
    }

    /// A record is committed: what it began may be sent, what it settled leaves the queue.
    pub(super) fn recorded(&mut self, recorded: &Recorded) {
        let Some(done) = self.recorder.done(self.sender.returned) else {
            return;
        };
        self.look_at_clock(recorded.now);
        tracing::trace!(
            begun = recorded.begun.len(),
            settled = done.record.settle.len(),
            ahead = self.recorder.ahead(),
            on_wire = self.sender.len(),
            ready = self.queue.ready(),
            "recorded",
        );
        self.intake.paused |= recorded.paused;
        if !recorded.leased && !self.lost {
            let destination = &self.lease.shard.destination;
            tracing::warn!(%destination, epoch = self.lease.epoch, "the lease is lost; another relay holds this shard");
            self.lost = true;
        }
        self.counts.settled(&done.record.settle, recorded);
        for settlement in &done.record.settle {
            self.settled(settlement, recorded.now);
        }
        let begun: HashSet<i64> = recorded.begun.iter().copied().collect();
        let overtaken: HashSet<i64> = recorded.overtaken.iter().copied().collect();
        let mut of_job = vec![];
        for prepared in done.begin {
            let outbox_id = prepared.outbox_id();
            if begun.contains(&outbox_id) {
                match done.way {
                    Way::Request => self.sender.push(prepared),
                    Way::Job => of_job.push(prepared),
                }
                continue;
            }
            self.recorder.unsent(prepared.sequence);
            let owed = prepared.owed();
            if overtaken.contains(&outbox_id) {
                self.supersede(outbox_id, owed.mark());
            } else if recorded.paused {
                // It keeps its place: forgotten, it would be found again behind the next one of its row key.
                self.queue
                    .retry(outbox_id, recorded.now, owed.trace(), owed.mark());
            } else {
                // No longer owed in that form: the next sweep tells.
                self.forget(outbox_id);
                self.queue.end(outbox_id, Ended::Otherwise);
            }
        }
        self.bulk.push(of_job);
    }

    fn forget(&mut self, outbox_id: i64) {
        self.sender.parts.forget(outbox_id);
        self.gathering.forget(outbox_id);
        self.intake.set_aside.remove(&outbox_id);
    }

    /// Tells the queue what a committed settlement means.
    fn settled(&mut self, settlement: &Settlement, now: Timestamp) {
        // What was asked too late for this one is found again.
        self.intake.cancelled.remove(&settlement.outbox_id);
        match settlement.kind {
            SettlementKind::SupersedeUncertain => {}
            SettlementKind::Retry {
                after, unknown_since, ..
            } => {
                let trace = if unknown_since.is_some() {
                    Trace::Unknown
                } else {
                    Trace::Clean
                };
                let attempts = settlement.attempts_before + u32::from(settlement.attempt.is_some());
                let mark = Mark {
                    attempts,
                    key_epoch: settlement.key_epoch,
                };
                self.queue
                    .retry(settlement.outbox_id, now.plus(after), trace, mark);
            }
            SettlementKind::End(reason) => {
                self.forget(settlement.outbox_id);
                let ended = match reason.state() {
                    State::Delivered => Ended::Delivered,
                    State::Uncertain => {
                        self.intake.uncertain_changed();
                        Ended::Uncertain
                    }
                    _ => Ended::Otherwise,
                };
                for overtaken in self.queue.end(settlement.outbox_id, ended) {
                    // The uncertain one has left `owed`, so there is no mark for it to match.
                    let mark = Mark {
                        attempts: 0,
                        key_epoch: 0,
                    };
                    let superseded = without_attempt(overtaken, mark, SettlementKind::SupersedeUncertain);
                    self.recorder.settle(superseded, None);
                }
            }
        }
    }

    /// A newer version of the row is owed, or was delivered.
    pub(super) fn supersede(&mut self, outbox_id: i64, mark: Mark) {
        let ended = SettlementKind::End(Reason::NewerVersion);
        self.recorder
            .settle(without_attempt(outbox_id, mark, ended), None);
    }

    /// An operator asked to cancel what was only waiting.
    pub(super) fn cancel(&mut self, outbox_id: i64, mark: Mark) {
        let ended = SettlementKind::End(Reason::Operator);
        self.recorder
            .settle(without_attempt(outbox_id, mark, ended), None);
    }

    /// A request came back.
    pub(super) fn sent(&mut self, id: Id, reports: Vec<Report>) {
        if let Some(flight) = self.sender.landed(id) {
            self.answered(flight, reports);
        }
    }

    /// Decides about each delivery of a request.
    pub(super) fn answered(&mut self, flight: Flight, mut reports: Vec<Report>) {
        let missing = || Report::unknown("the answer says nothing of this row");
        reports.resize_with(flight.deliveries.len(), missing);
        if let (Way::Request, [report]) = (flight.way, reports.as_mut_slice()) {
            report.outcome = report.outcome.clone().of_one_alone();
        } else {
            // What comes back from a job undone goes by requests, so even a single row is set apart.
            let outcomes = reports.iter().map(|report| &report.outcome);
            let ids = flight.deliveries.iter().map(Prepared::outbox_id);
            self.sender.parts.divide(ids.zip(outcomes));
        }
        self.take_note(&flight, &reports);
        let sending = Sending {
            started_at: flight.started_at,
            sent_as: flight.ticket.kind,
            jitter: self.chance.f64(),
        };
        let mut unmet = Unmet::default();
        for (prepared, report) in flight.deliveries.into_iter().zip(reports) {
            self.decide(&prepared, report, &sending, &mut unmet);
        }
        unmet.log(&self.lease.shard.destination);
    }

    fn decide(&mut self, prepared: &Prepared, report: Report, sending: &Sending, unmet: &mut Unmet) {
        let monotonic = self.context.clock.monotonic();
        let owed = prepared.owed();
        let arrived = matches!(report.outcome, Outcome::Unknown).then_some(sending.started_at);
        let cancel = if self.intake.cancelled.contains(&owed.row.id) {
            CancelRequest::Requested
        } else {
            owed.cancel
        };
        let standing = Standing {
            attempts: owed.attempts + 1,
            excused: owed.excused,
            owed_at: owed.owed_at,
            unknown_since: owed.unknown_since.or(arrived),
            cancel,
            sent_as: sending.sent_as,
        };
        let now = self.clock.now(monotonic);
        if report.outcome == Outcome::Accepted {
            self.counts.accepted_after(now.since(owed.owed_at));
        }
        let decision = decide(
            &report.outcome,
            &standing,
            now,
            &self.active.borrow().policy,
            sending.jitter,
        );
        unmet.note(prepared.outbox_id(), standing.attempts, &report, decision);
        self.hold(decision.hold, &report, monotonic);
        self.recorder.settle(
            settlement(prepared, report, sending.started_at, decision, &standing),
            Some(prepared.sequence),
        );
    }

    /// What an outcome means for the whole destination.
    fn hold(&mut self, hold: Hold, report: &Report, monotonic: Duration) {
        match hold {
            Hold::None => {}
            Hold::For(span) => self.sender.hold(monotonic.saturating_add(span)),
            // Each row of a request says so.
            Hold::Pause if self.intake.paused => {}
            Hold::Pause => {
                let reason = report.detail.clone();
                self.pause(reason.unwrap_or_else(|| "the receiver is gone".to_owned()));
            }
        }
    }

    /// Nothing more is begun for the destination until a person resumes it.
    pub(super) fn pause(&mut self, reason: String) {
        self.intake.pause();
        let (store, abort) = (self.context.store.clone(), self.stop.abort.clone());
        let destination = self.lease.shard.destination.clone();
        tracing::error!(%destination, %reason, "paused; mend what the reason names, then resume it");
        self.tasks.spawn(async move {
            let paused = retrying("pause", &abort, || store.pause(&destination, "relay", &reason)).await;
            Event::Paused(paused)
        });
    }

    pub(super) fn look_at_clock(&mut self, now: Timestamp) {
        self.clock = DatabaseClock {
            read: now,
            at: self.context.clock.monotonic(),
        };
    }
}

fn settlement(
    prepared: &Prepared,
    report: Report,
    started_at: Timestamp,
    decision: Decision,
    standing: &Standing,
) -> Settlement {
    let owed = prepared.owed();
    let kind = match decision.transition {
        Transition::End(reason) => SettlementKind::End(reason),
        Transition::Retry { after, counts } => SettlementKind::Retry {
            after,
            counts,
            unknown_since: standing.unknown_since,
        },
    };
    Settlement {
        outbox_id: owed.row.id,
        key_epoch: owed.key_epoch,
        attempts_before: owed.attempts,
        attempt: Some(EndedAttempt {
            number: owed.attempts + 1,
            started_at,
            rendering: prepared.rendering,
            key: Some(prepared.key.to_string()),
            report,
        }),
        kind,
    }
}

pub(super) fn without_attempt(outbox_id: i64, mark: Mark, kind: SettlementKind) -> Settlement {
    Settlement {
        outbox_id,
        key_epoch: mark.key_epoch,
        attempts_before: mark.attempts,
        attempt: None,
        kind,
    }
}
