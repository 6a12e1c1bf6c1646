//! How much of what was read is held in memory, for stories that bound it.

use std::sync::{Arc, Weak};

use aftercommit::store::Owed;

/// Which payloads were handed out, for as long as somebody holds them.
#[derive(Default)]
pub(super) struct Payloads {
    held: Vec<Weak<str>>,
    /// The most bytes that were held at once.
    pub(super) most: usize,
    /// How many were handed out, ever.
    pub(super) count: usize,
}

impl Payloads {
    pub(super) fn hand_out<'o>(&mut self, owed: impl IntoIterator<Item = &'o Owed>) {
        self.held.retain(|payload| payload.strong_count() > 0);
        let before = self.held.len();
        self.held
            .extend(owed.into_iter().map(|owed| Arc::downgrade(&owed.row.payload)));
        self.count += self.held.len() - before;
        let bytes = self
            .held
            .iter()
            .filter_map(Weak::upgrade)
            .map(|held| held.len())
            .sum();
        self.most = self.most.max(bytes);
    }
}
