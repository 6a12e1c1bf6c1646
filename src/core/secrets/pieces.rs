//! Where pieces of a secret stand in a text. Pure.
//!
//! The text is small and looked through for many secrets, so it is what gets an index: a set of its runs of six bytes, in
//! which almost no run of a secret that is not there is found.

use std::ops::Range;

use super::LEAST_BYTES;

/// A piece of so many bytes is no accident, wherever in the secret it is from: a receiver may shorten what it repeats. Shorter
/// ones are: two ids of one Salesforce org have up to nine bytes in common, and a token begins with one.
const TELLING_BYTES: usize = 12;

/// The set has so many bits, a power of two.
const BITS: usize = 1 << 16;

/// A text that can be asked.
pub(super) struct Text<'a> {
    bytes: &'a [u8],
    /// Bits at the hashes of all runs of [`LEAST_BYTES`].
    runs: Vec<u64>,
}

impl<'a> Text<'a> {
    pub(super) fn of(bytes: &'a [u8]) -> Self {
        let mut runs = vec![0; BITS / 64];
        for run in bytes.windows(LEAST_BYTES) {
            let (word, bit) = place(run);
            runs[word] |= bit;
        }
        Self { bytes, runs }
    }

    /// Where `secret` stands whole, where a telling piece of it does, and where the text ends within it.
    pub(super) fn pieces_of(&self, secret: &[u8]) -> Vec<Range<usize>> {
        let mut pieces = Vec::new();
        for (offset, run) in secret.windows(LEAST_BYTES).enumerate() {
            let (word, bit) = place(run);
            if self.runs[word] & bit == 0 {
                continue;
            }
            let runs = self.bytes.windows(LEAST_BYTES).enumerate();
            let alike = runs.filter(|(_, here)| *here == run).map(|(at, _)| at);
            pieces.extend(alike.filter_map(|at| self.piece(at, secret, offset)));
        }
        pieces
    }

    /// The piece that begins at `at` with the byte `offset` of `secret`.
    fn piece(&self, at: usize, secret: &[u8], offset: usize) -> Option<Range<usize>> {
        if at > 0 && offset > 0 && self.bytes[at - 1] == secret[offset - 1] {
            // It began before.
            return None;
        }
        let both = self.bytes[at..].iter().zip(&secret[offset..]);
        let length = both.take_while(|(one, other)| one == other).count();
        let end = at + length;
        let counts = length >= TELLING_BYTES.min(secret.len()) || end == self.bytes.len();
        counts.then_some(at..end)
    }
}

/// The word and the bit of a run.
fn place(run: &[u8]) -> (usize, u64) {
    let bytes = run.iter().fold(0_u64, |all, byte| (all << 8) | u64::from(*byte));
    // Fibonacci hashing: the upper bits depend on all bytes.
    let hash = bytes.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - BITS.trailing_zeros());
    let hash = usize::try_from(hash).unwrap_or_default();
    (hash / 64, 1 << (hash % 64))
}
