//! What a receiver said last of its daily limit, and when: for whoever looks, in memory.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::core::limit::usage::Usage;

/// A receiver's word on its daily limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heard {
    /// What it said.
    pub usage: Usage,
    /// When, by the process's monotonic clock.
    pub at: Duration,
}

/// Keeps the last word.
#[derive(Debug, Default)]
pub(super) struct LastHeard(Mutex<Option<Heard>>);

impl LastHeard {
    pub(super) fn get(&self) -> Option<Heard> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set(&self, heard: Heard) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(heard);
    }
}
