//! The canonical form of a payload: the one text that all spellings of the same JSON value share.
//!
//! The row hash, and through it every idempotency key, is taken over these bytes: a byte that changes here changes
//! keys that receivers remember. So the rules are those of ARCHITECTURE.md and of `tests/keys/reference.py`, to the
//! byte. No number passes through a float, since two ids above 2^53 must not share a key, and no memory is taken on
//! the word of an exponent.

mod number;
mod reader;
mod rewrite;
mod row_hash;
mod text;

#[cfg(test)]
pub(in crate::core) mod tests;

pub use row_hash::RowHash;

/// The longest number that a payload may hold, in characters of plain decimal without the sign.
pub const MAX_NUMBER_LENGTH: usize = 1000;

/// How many arrays and objects may stand around a value.
pub const MAX_DEPTH: usize = 64;

/// Why a payload has no canonical form. `at` is a byte offset into the payload, from 0.
///
/// A payload that is not JSON is refused as that, whatever else it holds. A value that a later equal key replaces
/// must be JSON and no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotCanonical {
    /// The text is not one JSON value.
    #[error("not JSON: expected {expected} at byte {at}")]
    NotJson {
        /// What would have done there.
        expected: &'static str,
        /// Where the text stops being JSON.
        at: usize,
    },
    /// A number is longer than [`MAX_NUMBER_LENGTH`].
    #[error(
        "number too long at byte {at}: max {MAX_NUMBER_LENGTH} characters in plain decimal; send it as a string"
    )]
    NumberTooLong {
        /// Where the number starts.
        at: usize,
    },
    /// A value stands in more than [`MAX_DEPTH`] arrays and objects.
    #[error("nested deeper than {MAX_DEPTH} at byte {at}; flatten the payload")]
    TooDeep {
        /// Where the value starts.
        at: usize,
    },
    /// A string holds U+0000, which not every database can store.
    #[error("NUL in the string at byte {at}; strip it before the row is written")]
    Nul {
        /// Where the string starts.
        at: usize,
    },
    /// A string holds half of a surrogate pair, which no UTF-8 can spell.
    #[error("lone surrogate in the string at byte {at}; write the character whole or strip it")]
    LoneSurrogate {
        /// Where the string starts.
        at: usize,
    },
}

/// The canonical form of the JSON text `payload`.
///
/// No blanks; numbers in plain decimal, exact; only what must be escaped is escaped; object keys sorted by their
/// UTF-8 bytes, of equal keys the last. Canonical text is its own canonical form.
pub fn canonical(payload: &str) -> Result<String, NotCanonical> {
    rewrite::Rewrite::new(payload).run()
}
