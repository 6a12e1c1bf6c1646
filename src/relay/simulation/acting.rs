//! What a relay does with what it hears: as the supervisor, the heartbeat and the dispatcher do.

use std::time::Duration;

use super::Guard;
use super::process::{Holding, Life};
use super::world::{Broken, DESTINATIONS, Event, HEARTBEAT, Outcome, SECOND, TIMEOUT, TTL, World};
use crate::relay::balance;
use crate::store::{Lease, LeaseRow, RelayId, Shard};

impl World {
    pub(super) fn process(&mut self, index: usize, event: Event) -> Outcome {
        let monotonic = self.processes[index].monotonic(self.time);
        match event {
            Event::Beat => self.beat(index, monotonic),
            Event::Beaten { asked_at, live } => self.beaten(index, asked_at, monotonic, live),
            Event::Looked { rows, term } => self.plan(index, rows, term),
            Event::Acquired {
                lease,
                term,
                rest,
                room,
            } => {
                let room = room - usize::from(lease.is_some());
                if let Some(lease) = lease {
                    let holding = Holding::new(lease.clone(), term);
                    self.processes[index].held.insert(lease.shard.clone(), holding);
                    self.send(index, Event::TakeoverCommits { lease });
                }
                self.acquire(index, term, rest, room);
            }
            Event::LookFailed => self.processes[index].looking = false,
            Event::Dispatching { lease } | Event::Work { lease } => self.work(index, lease),
            Event::Begun {
                lease,
                slot,
                dispatch,
            } => return self.begun(index, lease, slot, dispatch),
            Event::Answered { lease, dispatch } => {
                self.send(
                    index,
                    Event::FinishCommits {
                        lease,
                        dispatch: Some(dispatch),
                    },
                );
            }
            _ => {}
        }
        Ok(())
    }

    fn beat(&mut self, index: usize, asked_at: Duration) {
        if self.processes[index].cut_off_until > self.time {
            return self.after(TTL / 6, index, Event::Beaten { asked_at, live: None });
        }
        let (way, locked) = (self.way(), self.way());
        self.processes[index].beating = true;
        let started_at = self.clock.at(self.time + way);
        self.after(way + locked, index, Event::BeatCommits { asked_at, started_at });
    }

    fn beaten(&mut self, index: usize, asked_at: Duration, now: Duration, live: Option<Vec<RelayId>>) {
        let ttl = Duration::from_micros(TTL.unsigned_abs());
        let process = &mut self.processes[index];
        process.beating = false;
        let pause = if let Some(live) = live {
            process.vitals = process.vitals.beaten(asked_at, now, ttl, live);
            if self.broken == Some(Guard::Margin) {
                process.vitals.leased_until = asked_at + ttl;
            }
            HEARTBEAT
        } else {
            HEARTBEAT / 5
        };
        let (look, term) = (
            pause == HEARTBEAT && !process.looking && process.life == Life::Working,
            process.vitals.term,
        );
        self.after(pause, index, Event::Beat);
        if look {
            self.processes[index].looking = true;
            self.send(index, Event::Reads { term });
        }
    }

    fn plan(&mut self, index: usize, mut rows: Vec<LeaseRow>, term: u64) {
        let id = self.processes[index].id;
        for row in &mut rows {
            let dangles = row.live_owner == Some(id) && !self.processes[index].held.contains_key(&row.shard);
            if dangles && self.broken != Some(Guard::Dangling) {
                let lease = Lease {
                    shard: row.shard.clone(),
                    owner: id,
                    epoch: row.epoch,
                };
                self.tables.release(&lease);
            }
            row.live_owner.take_if(|_| dangles);
        }
        let process = &mut self.processes[index];
        let plan = balance::plan(
            process.id,
            &process.vitals.live,
            &rows,
            &process.wanted(DESTINATIONS),
        );
        for shard in &plan.release {
            if let Some(holding) = process.held.get_mut(shard) {
                holding.draining = true;
            }
        }
        let acquire = plan
            .acquire
            .into_iter()
            .filter(|shard| !process.held.contains_key(shard))
            .collect();
        self.acquire(index, term, acquire, plan.room);
    }

    fn acquire(&mut self, index: usize, term: u64, rest: Vec<Shard>, room: usize) {
        if rest.is_empty() || room == 0 || self.processes[index].life != Life::Working {
            self.processes[index].looking = false;
        } else {
            self.send(index, Event::AcquireCommits { term, rest, room });
        }
    }

    /// Puts an attempt on record.
    fn work(&mut self, index: usize, lease: Lease) {
        let Some(holding) = self.holding(index, &lease) else {
            return;
        };
        if holding.ends() {
            return;
        }
        holding.open += 1;
        let slot = lease.shard.number + lease.shard.of * self.chance.u32(..64 / lease.shard.of);
        let pause = self.chance.i64(0..4 * SECOND);
        self.send(
            index,
            Event::BeginCommits {
                lease: lease.clone(),
                slot,
            },
        );
        self.after(pause, index, Event::Work { lease });
    }

    /// Sends what is on record, if it may.
    fn begun(&mut self, index: usize, lease: Lease, slot: u32, dispatch: Option<u64>) -> Outcome {
        self.turn(index);
        let term = self.processes[index].vitals.term;
        let terms_count = self.broken != Some(Guard::Term);
        let Some(holding) = self.holding(index, &lease) else {
            return Ok(());
        };
        holding.lost |= dispatch.is_none();
        let (ends, of_this_term) = (holding.ends(), !terms_count || holding.term == term);
        let Some(number) = dispatch.filter(|_| !ends) else {
            self.send(index, Event::FinishCommits { lease, dispatch });
            return Ok(());
        };
        let process = &self.processes[index];
        let span = if self.broken == Some(Guard::Outlives) {
            0
        } else {
            TIMEOUT
        };
        let span = Duration::from_micros(span.unsigned_abs());
        if !of_this_term || !process.vitals.outlives(process.monotonic(self.time), span) {
            self.after(
                SECOND / 10,
                index,
                Event::Begun {
                    lease,
                    slot,
                    dispatch,
                },
            );
            return Ok(());
        }
        let end = process.after(self.time, TIMEOUT);
        let until = self.clock.at(end);
        let to = (lease.shard.destination.clone(), slot);
        if !self.tables.is_safe(&lease, until, TTL) {
            return Err(Broken::Request(format!(
                "a request under {lease:?} can outlive it"
            )));
        }
        let took = if self.chance.bool() {
            end - self.time
        } else {
            self.chance.i64(0..SECOND)
        };
        if let Some((other, until)) = self.on_wire.insert(to, (index, self.time + took))
            && other != index
            && until > self.time
        {
            return Err(Broken::Request(format!(
                "two relays send for slot {slot} of {:?}",
                lease.shard
            )));
        }
        self.sent += 1;
        self.after(
            took,
            index,
            Event::Answered {
                lease,
                dispatch: number,
            },
        );
        Ok(())
    }

    /// What a process does after whatever happened to it.
    pub(super) fn turn(&mut self, index: usize) {
        let process = &mut self.processes[index];
        let (term, leaving) = (process.vitals.term, process.life == Life::Leaving);
        let mut hand_back = Vec::new();
        for holding in process.held.values_mut() {
            holding.lost |= holding.term != term && self.broken != Some(Guard::Term);
            holding.draining |= leaving;
            if holding.ends() && holding.open == 0 && !holding.lost && !holding.handing_back {
                holding.handing_back = true;
                hand_back.push(holding.lease.clone());
            }
        }
        process
            .held
            .retain(|_, holding| !(holding.lost && holding.open == 0));
        let gone = leaving && process.held.is_empty() && !process.beating;
        if gone {
            process.life = Life::Gone;
        }
        for lease in hand_back {
            self.send(index, Event::ReleaseCommits { lease });
        }
        if gone {
            self.send(index, Event::LeaveCommits);
        }
    }
}
