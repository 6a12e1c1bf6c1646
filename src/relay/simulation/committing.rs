//! What the database does with the statements that reach it, whatever has become of the process that sent them.

use super::process::Life;
use super::world::{Broken, Event, Outcome, TTL, World};

impl World {
    pub(super) fn commits(&mut self, index: usize, event: Event) -> Outcome {
        let (id, now) = (self.processes[index].id, self.now());
        match event {
            Event::BeatCommits { asked_at, started_at } => {
                if self.processes[index].life == Life::Gone {
                    return Ok(());
                }
                self.tables.beat(id, started_at);
                let live = (!self.is_lost()).then(|| self.tables.live(id, now, TTL));
                self.send(index, Event::Beaten { asked_at, live });
            }
            Event::Reads { term } => {
                let rows = self.tables.leases(now, TTL);
                self.send(index, Event::Looked { rows, term });
            }
            Event::AcquireCommits { term, mut rest, room } => {
                let shard = rest.remove(0);
                let lease = self
                    .tables
                    .acquire(&shard, id, now, TTL, self.broken)
                    .map_err(Broken::Ownership)?;
                let answer = if self.is_lost() {
                    Event::LookFailed
                } else {
                    Event::Acquired {
                        lease,
                        term,
                        rest,
                        room,
                    }
                };
                self.send(index, answer);
            }
            Event::TakeoverCommits { lease } => {
                if self.tables.take_over(&lease) {
                    self.send(index, Event::Dispatching { lease });
                } else if let Some(holding) = self.holding(index, &lease) {
                    holding.lost = true;
                }
            }
            Event::BeginCommits { lease, slot } => {
                let dispatch = self.tables.begin(&lease, slot);
                // Begun, and then it waits for room on the wire.
                let busy = if !self.quiet && self.chance.u32(..4) == 0 {
                    self.chance.i64(0..TTL)
                } else {
                    0
                };
                let way = self.way() + busy;
                self.after(
                    way,
                    index,
                    Event::Begun {
                        lease,
                        slot,
                        dispatch,
                    },
                );
            }
            Event::FinishCommits { lease, dispatch } => {
                if let Some(dispatch) = dispatch {
                    self.tables.finish(&lease, dispatch);
                }
                if let Some(holding) = self.holding(index, &lease) {
                    holding.open -= 1;
                }
                self.after(0, index, Event::Woken);
            }
            Event::ReleaseCommits { lease } => {
                self.tables.release(&lease);
                if self.holding(index, &lease).is_some() {
                    self.processes[index].held.remove(&lease.shard);
                }
                self.after(0, index, Event::Woken);
            }
            Event::LeaveCommits => self.tables.leave(id),
            _ => {}
        }
        Ok(())
    }
}
