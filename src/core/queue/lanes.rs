//! The lanes of a queue, by number and by row key.
//!
//! A delivery remembers the number of its lane, so that a row key is hashed when a delivery comes and when its lane goes,
//! and never between. Row keys come from pipelines: whoever writes them must not be able to choose those that collide,
//! so the hash is seeded.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use super::OrderMode;
use super::lane::Lane;
use crate::core::row::RowId;

/// The number of a lane, for as long as it is not empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LaneId(u32);

/// One lane for each row key of which something is held.
#[derive(Debug)]
pub(super) struct Lanes {
    by_row: HashMap<RowId, LaneId, FixedState>,
    slots: Vec<Option<Lane>>,
    free: Vec<LaneId>,
}

impl LaneId {
    fn index(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl Lanes {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            by_row: HashMap::with_hasher(FixedState::with_seed(seed)),
            slots: Vec::new(),
            free: Vec::new(),
        }
    }

    pub(super) fn of(&self, row: &RowId) -> Option<LaneId> {
        self.by_row.get(row).copied()
    }

    pub(super) fn get_mut(&mut self, at: LaneId) -> Option<&mut Lane> {
        self.slots.get_mut(at.index())?.as_mut()
    }

    pub(super) fn add(&mut self, row: RowId, order: OrderMode) -> LaneId {
        let at = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            LaneId(u32::try_from(self.slots.len() - 1).unwrap_or(u32::MAX))
        });
        self.slots[at.index()] = Some(Lane::new(row.clone(), order));
        self.by_row.insert(row, at);
        at
    }

    pub(super) fn remove(&mut self, at: LaneId) -> Option<Lane> {
        let lane = self.slots.get_mut(at.index())?.take()?;
        self.by_row.remove(&lane.row);
        self.free.push(at);
        Some(lane)
    }

    /// The number of every lane, in no order that means anything.
    pub(super) fn all(&self) -> Vec<LaneId> {
        let lanes = (0..).map(LaneId).zip(&self.slots);
        lanes
            .filter(|(_, lane)| lane.is_some())
            .map(|(at, _)| at)
            .collect()
    }
}
