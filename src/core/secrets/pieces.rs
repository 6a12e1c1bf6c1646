//! Where pieces of a secret stand in a text. Pure.
//!
//! The text is small and looked through for many secrets, so it is what gets an index: a set of its runs of six bytes, in
//! which almost no run of a secret that is not there is found.

use std::ops::Range;

use super::LEAST_BYTES;

/// A piece of so many bytes is no accident, wherever in the secret it is from: a receiver may shorten what it repeats. Shorter
/// ones are: two ids of one Salesforce org have up to nine bytes in common, and a token begins with one.
const TELLING_BYTES: usize = 12;

/// The bytes of a run in a number.
const RUN: u64 = (1 << (8 * LEAST_BYTES)) - 1;

/// So many bits of the set for each byte of the text: few runs that are not there are taken for one that is.
const BITS_PER_BYTE: usize = 32;

/// A text that can be asked.
pub(super) struct Text<'a> {
    bytes: &'a [u8],
    /// Bits at the hashes of all its runs; their number is a power of two.
    set: Vec<u64>,
}

impl<'a> Text<'a> {
    pub(super) fn of(bytes: &'a [u8]) -> Self {
        let bits = (bytes.len() * BITS_PER_BYTE).next_power_of_two().max(64);
        let mut set = vec![0; bits / 64];
        for hash in hashes(bytes) {
            let (word, bit) = place(hash, set.len());
            set[word] |= bit;
        }
        Self { bytes, set }
    }

    /// Where `secret` stands whole, where a telling piece of it does, and where the text ends within it.
    pub(super) fn pieces_of(&self, secret: &[u8]) -> Vec<Range<usize>> {
        let mut pieces = Vec::new();
        for (offset, hash) in hashes(secret).enumerate() {
            let (word, bit) = place(hash, self.set.len());
            if self.set[word] & bit == 0 {
                continue;
            }
            let run = &secret[offset..offset + LEAST_BYTES];
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

/// The word and the bit of a run in a set of so many words.
fn place(hash: u64, words: usize) -> (usize, u64) {
    let hash = usize::try_from(hash).unwrap_or_default();
    ((hash / 64) % words, 1 << (hash % 64))
}

/// A hash of each run of [`LEAST_BYTES`], in their order.
fn hashes(bytes: &[u8]) -> impl Iterator<Item = u64> {
    let mut run = 0_u64;
    let runs = bytes.iter().map(move |byte| {
        run = (run << 8 | u64::from(*byte)) & RUN;
        // Fibonacci hashing: the upper bits depend on all bytes.
        run.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32
    });
    runs.skip(LEAST_BYTES - 1)
}
