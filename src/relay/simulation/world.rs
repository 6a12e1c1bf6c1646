//! What happens, in the order of true time, and what must hold.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use super::Guard;
use super::process::{Holding, Life, MachineClock, Process};
use super::tables::Tables;
use crate::store::{Lease, LeaseRow, RelayId, Shard};

const RELAYS: usize = 64;
pub(super) const DESTINATIONS: u32 = 12;
pub(super) const SECOND: i64 = 1_000_000;
pub(super) const HEARTBEAT: i64 = 5 * SECOND;
pub(super) const TTL: i64 = 30 * SECOND;
pub(super) const TIMEOUT: i64 = 10 * SECOND;
/// The longest that a statement takes, there and back.
const ROUND_TRIP: i64 = SECOND;
const CHAOS: i64 = 400 * SECOND;

pub(super) type Outcome = Result<(), Broken>;

/// What did not hold.
#[derive(Debug, thiserror::Error)]
pub(super) enum Broken {
    /// Two relays had the right to the same shard.
    #[error("{0}")]
    Ownership(String),
    /// A request could meet another relay's.
    #[error("{0}")]
    Request(String),
    /// Shards had no owner, or not the right one.
    #[error("{0}")]
    Sharing(String),
}

pub(super) struct World {
    pub(super) chance: fastrand::Rng,
    pub(super) broken: Option<Guard>,
    pub(super) time: i64,
    /// The database's clock.
    pub(super) clock: MachineClock,
    pub(super) tables: Tables,
    pub(super) processes: Vec<Process>,
    pub(super) events: BinaryHeap<Reverse<(i64, u64)>>,
    pub(super) what: HashMap<u64, (usize, Event)>,
    pub(super) next: u64,
    /// Whose request for a slot is on the wire, and until when.
    pub(super) on_wire: HashMap<(Arc<str>, u32), (usize, i64)>,
    pub(super) sent: u64,
    pub(super) quiet: bool,
}

pub(super) enum Event {
    /// Of a process.
    Beat,
    Beaten {
        asked_at: Duration,
        live: Option<Vec<RelayId>>,
    },
    Looked {
        rows: Vec<LeaseRow>,
        term: u64,
    },
    Acquired {
        lease: Option<Lease>,
        term: u64,
        rest: Vec<Shard>,
        room: usize,
    },
    LookFailed,
    Woken,
    Dispatching {
        lease: Lease,
    },
    Work {
        lease: Lease,
    },
    Begun {
        lease: Lease,
        slot: u32,
        dispatch: Option<u64>,
    },
    Answered {
        lease: Lease,
        dispatch: u64,
    },
    /// Of the database: on their way already, whatever becomes of the process.
    BeatCommits {
        asked_at: Duration,
        started_at: i64,
    },
    Reads {
        term: u64,
    },
    AcquireCommits {
        term: u64,
        rest: Vec<Shard>,
        room: usize,
    },
    TakeoverCommits {
        lease: Lease,
    },
    BeginCommits {
        lease: Lease,
        slot: u32,
    },
    FinishCommits {
        lease: Lease,
        dispatch: Option<u64>,
    },
    ReleaseCommits {
        lease: Lease,
    },
    LeaveCommits,
    /// Of the world.
    Trouble,
}

impl World {
    pub(super) fn new(seed: u64, broken: Option<Guard>) -> Self {
        let mut chance = fastrand::Rng::with_seed(seed);
        let clock = MachineClock {
            offset: chance.i64(0..1_000 * SECOND),
            ppm: chance.i64(-5_000..5_000),
        };
        Self {
            chance,
            broken,
            time: 0,
            clock,
            tables: Tables::default(),
            processes: Vec::new(),
            events: BinaryHeap::new(),
            what: HashMap::new(),
            next: 0,
            on_wire: HashMap::new(),
            sent: 0,
            quiet: false,
        }
    }

    /// Chaos, then quiet, then one join, one leave and one death. Returns how many requests were sent.
    pub(super) fn run(mut self) -> Result<u64, Broken> {
        for _ in 0..RELAYS {
            self.join();
        }
        self.after(0, 0, Event::Trouble);
        self.go_on_for(CHAOS)?;
        self.quiet = true;
        let two_beats = 2 * HEARTBEAT + TIMEOUT + 8 * ROUND_TRIP;
        self.go_on_for(2 * TTL + 2 * two_beats)?;
        self.is_even("after the chaos")?;
        self.join();
        self.go_on_for(two_beats)?;
        self.is_even("two heartbeats after a join")?;
        let leaver = self.someone();
        self.processes[leaver].life = Life::Leaving;
        self.turn(leaver);
        self.go_on_for(two_beats)?;
        self.is_even("two heartbeats after a leave")?;
        let victim = self.someone();
        self.processes[victim].life = Life::Gone;
        self.go_on_for(TTL + two_beats)?;
        self.is_even("a time to live after a death")?;
        match self.tables.orphans() {
            0 => Ok(self.sent),
            orphans => Err(Broken::Sharing(format!(
                "{orphans} orphans were never taken over"
            ))),
        }
    }

    fn join(&mut self) {
        let id = RelayId(uuid::Uuid::from_u128(self.chance.u128(..)));
        let clock = MachineClock {
            offset: self.chance.i64(0..1_000 * SECOND),
            ppm: self.chance.i64(-5_000..5_000),
        };
        let divided = self
            .processes
            .iter()
            .rfind(|process| process.life != Life::Gone)
            .map_or(8, |last| last.divided);
        self.processes.push(Process::new(id, clock, divided));
        let process = self.processes.len() - 1;
        let within = if self.quiet { 1 } else { HEARTBEAT };
        let wait = self.chance.i64(0..within);
        self.after(wait, process, Event::Beat);
    }

    fn go_on_for(&mut self, span: i64) -> Outcome {
        let end = self.time + span;
        while let Some(&Reverse((time, number))) = self.events.peek() {
            if time > end {
                break;
            }
            self.events.pop();
            self.time = time;
            if let Some((process, event)) = self.what.remove(&number) {
                self.happens(process, event)?;
            }
        }
        self.time = end;
        Ok(())
    }

    pub(super) fn after(&mut self, wait: i64, process: usize, event: Event) {
        self.next += 1;
        self.events.push(Reverse((self.time + wait, self.next)));
        self.what.insert(self.next, (process, event));
    }

    /// One way between a process and the database; seldom a long one.
    pub(super) fn way(&mut self) -> i64 {
        let long = !self.quiet && self.chance.u32(..50) == 0;
        self.chance
            .i64(100..if long { 3 * SECOND } else { ROUND_TRIP / 20 })
    }

    pub(super) fn send(&mut self, process: usize, event: Event) {
        let way = self.way();
        self.after(way, process, event);
    }

    pub(super) fn is_lost(&mut self) -> bool {
        !self.quiet && self.chance.u32(..20) == 0
    }

    pub(super) fn now(&self) -> i64 {
        self.clock.at(self.time)
    }

    fn someone(&mut self) -> usize {
        let alive: Vec<usize> = (0..self.processes.len())
            .filter(|index| self.processes[*index].life == Life::Working)
            .collect();
        alive[self.chance.usize(..alive.len())]
    }

    fn happens(&mut self, index: usize, event: Event) -> Outcome {
        match event {
            Event::Trouble => self.trouble(),
            Event::BeatCommits { .. }
            | Event::Reads { .. }
            | Event::AcquireCommits { .. }
            | Event::TakeoverCommits { .. }
            | Event::BeginCommits { .. }
            | Event::FinishCommits { .. }
            | Event::ReleaseCommits { .. }
            | Event::LeaveCommits => return self.commits(index, event),
            _ if self.processes[index].life == Life::Gone => {}
            // It stands still: whatever came meanwhile, it finds in any order when it goes on.
            _ if self.processes[index].stands_still_until > self.time => {
                let wait = self.processes[index].stands_still_until - self.time + self.chance.i64(0..1_000);
                self.after(wait, index, event);
            }
            event => {
                self.process(index, event)?;
                self.turn(index);
            }
        }
        Ok(())
    }

    fn trouble(&mut self) {
        if self.quiet {
            return;
        }
        let who = self.someone();
        match self.chance.u32(..12) {
            0 => self.processes[who].life = Life::Gone,
            1 => {
                self.processes[who].life = Life::Leaving;
                self.turn(who);
            }
            2..=4 => {
                self.processes[who].stands_still_until = self.time + self.chance.i64(0..2 * TTL);
                self.after(0, who, Event::Woken);
            }
            5..=7 => self.processes[who].cut_off_until = self.time + self.chance.i64(0..2 * TTL),
            // The database's clock jumps, a little at a time.
            8 => self.clock.offset += self.chance.i64(-200_000..200_000),
            9 if self.chance.u32(..4) == 0 => {
                let divided = [1, 2, 4, 8, 16][self.chance.usize(..5)];
                for index in 0..self.processes.len() {
                    // Not all at once, as configurations come.
                    self.processes[index].divided = divided;
                }
            }
            _ => {}
        }
        while self
            .processes
            .iter()
            .filter(|process| process.life == Life::Working)
            .count()
            < RELAYS
        {
            self.join();
        }
        let wait = self.chance.i64(0..2 * SECOND);
        self.after(wait, 0, Event::Trouble);
    }

    pub(super) fn holding(&mut self, index: usize, lease: &Lease) -> Option<&mut Holding> {
        let holding = self.processes[index].held.get_mut(&lease.shard);
        holding.filter(|holding| holding.lease.epoch == lease.epoch)
    }

    /// Every shard has an owner that lives and dispatches it, and no relay has two more than another.
    fn is_even(&self, when: &str) -> Outcome {
        let alive: Vec<&Process> = self
            .processes
            .iter()
            .filter(|process| process.life != Life::Gone)
            .collect();
        let wanted = alive[0].wanted(DESTINATIONS);
        let counts: Vec<usize> = alive.iter().map(|process| process.held.len()).collect();
        let owned = self.tables.leases(self.now(), TTL);
        let owned = owned
            .iter()
            .filter(|row| row.live_owner.is_some() && wanted.contains(&row.shard))
            .count();
        let (most, least) = (counts.iter().max(), counts.iter().min());
        let even = most.zip(least).is_some_and(|(most, least)| most - least <= 1);
        if owned == wanted.len() && counts.iter().sum::<usize>() == owned && even {
            return Ok(());
        }
        let problem = format!(
            "{when}: {owned} of {} shards are owned, by {counts:?}",
            wanted.len()
        );
        Err(Broken::Sharing(problem))
    }
}
