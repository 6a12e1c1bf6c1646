//! How many bytes of payload a dispatcher may hold.
//!
//! Whatever is read takes a share before it is kept, and nothing is loaded to be sent while there is no share to take: so
//! what is held stays below the bound and one row, however large that row is, and a row of any size is sent.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The bytes that may be held.
pub(super) struct Memory {
    free: Arc<Semaphore>,
}

/// A part of them; they are free again when it is dropped.
pub(super) struct Share {
    _bytes: OwnedSemaphorePermit,
}

impl Memory {
    pub(super) fn of(bytes: usize) -> Self {
        Self {
            free: Arc::new(Semaphore::new(bytes.min(Semaphore::MAX_PERMITS))),
        }
    }

    /// Bytes that may still be taken.
    pub(super) fn free(&self) -> u64 {
        u64::try_from(self.free.available_permits()).unwrap_or(u64::MAX)
    }

    /// A share for a payload of `bytes`, or `None` if nothing is free. The last share may be smaller than its payload, or
    /// one that is larger than the memory could never be held.
    pub(super) fn share(&self, bytes: usize) -> Option<Share> {
        let bytes = bytes.max(1).min(self.free.available_permits());
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        if bytes == 0 {
            return None;
        }
        let bytes = self.free.clone().try_acquire_many_owned(bytes).ok()?;
        Some(Share { _bytes: bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_stays_below_the_bound_and_one_row() {
        let memory = Memory::of(100);
        let shares: Vec<_> = [60, 30, 70].map(|bytes| memory.share(bytes)).into();
        assert!(shares.iter().all(Option::is_some) && memory.free() == 0);
        assert!(memory.share(1).is_none());
        drop(shares);
        assert_eq!(memory.free(), 100);
    }

    #[test]
    fn a_row_that_is_larger_than_the_memory_has_its_turn() {
        let memory = Memory::of(10);
        let share = memory.share(1_000);
        assert!(share.is_some() && memory.share(1).is_none());
    }

    #[test]
    fn an_empty_payload_takes_a_share_too() {
        assert!(Memory::of(1).share(0).is_some());
    }
}
