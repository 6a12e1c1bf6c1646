//! The receiver's ledger by key: what each idempotency key has led to. Pure: no socket, no clock.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};

/// What the ledger says about a request with a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// The key is new, or its first request was given up without effect.
    Fresh,
    /// The first request with this key is still being worked on.
    Working,
    /// The key has its answer.
    Answered { status: u16 },
    /// The key was used with another body.
    OtherBody,
}

/// A digest to tell bodies apart, cheaper than a cryptographic one and good enough for a mock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fingerprint(u64);

impl Fingerprint {
    pub(super) fn of(body: &[u8]) -> Self {
        let mut hasher = DefaultHasher::new();
        hasher.write(body);
        Self(hasher.finish())
    }
}

/// How far the work for a key has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    /// It hangs and will have no effect.
    Hung,
    /// It has taken effect and is about to be answered so.
    Ongoing { status: u16 },
    /// It has been answered so.
    Done { status: u16 },
}

#[derive(Debug, Default)]
pub(super) struct Ledger {
    entries: HashMap<Box<str>, Entry>,
}

#[derive(Debug)]
struct Entry {
    fingerprint: Fingerprint,
    work: Work,
}

impl Ledger {
    pub(super) fn standing(&self, key: &str, fingerprint: Fingerprint) -> Standing {
        match self.entries.get(key) {
            None => Standing::Fresh,
            Some(entry) if entry.fingerprint != fingerprint => Standing::OtherBody,
            Some(Entry {
                work: Work::Done { status },
                ..
            }) => Standing::Answered { status: *status },
            Some(_) => Standing::Working,
        }
    }

    /// The answer that the work on this key will lead to; none if it hangs or is not there.
    pub(super) fn coming_status(&self, key: &str) -> Option<u16> {
        match self.entries.get(key)?.work {
            Work::Hung => None,
            Work::Ongoing { status } | Work::Done { status } => Some(status),
        }
    }

    pub(super) fn record(&mut self, key: &str, fingerprint: Fingerprint, work: Work) {
        self.entries.insert(key.into(), Entry { fingerprint, work });
    }

    /// The work on this key has ended: what took effect is answered from memory from now on, what hung is forgotten.
    pub(super) fn end_work(&mut self, key: &str) {
        if let Some(entry) = self.entries.get_mut(key) {
            match entry.work {
                Work::Hung => drop(self.entries.remove(key)),
                Work::Ongoing { status } | Work::Done { status } => entry.work = Work::Done { status },
            }
        }
    }

    /// How many distinct keys are known.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn clear(&mut self) {
        self.entries.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_fresh_then_worked_on_then_answered() {
        let (mut ledger, body) = (Ledger::default(), Fingerprint::of(b"body"));
        assert_eq!(ledger.standing("k", body), Standing::Fresh);
        ledger.record("k", body, Work::Ongoing { status: 200 });
        assert_eq!(ledger.standing("k", body), Standing::Working);
        assert_eq!(
            ledger.standing("k", Fingerprint::of(b"another")),
            Standing::OtherBody
        );
        ledger.end_work("k");
        assert_eq!(ledger.standing("k", body), Standing::Answered { status: 200 });
        assert_eq!(ledger.standing("other", body), Standing::Fresh);
    }

    #[test]
    fn a_key_whose_request_hung_is_fresh_again_once_the_client_has_gone() {
        let (mut ledger, body) = (Ledger::default(), Fingerprint::of(b"body"));
        ledger.record("k", body, Work::Hung);
        assert_eq!(ledger.coming_status("k"), None);
        ledger.end_work("k");
        assert_eq!(ledger.standing("k", body), Standing::Fresh);
        assert_eq!(ledger.len(), 0);
    }
}
