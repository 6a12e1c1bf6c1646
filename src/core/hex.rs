//! Bytes as lower-case hex digits, as hashes and keys are written.

use std::fmt::{self, Write};

/// Displays its bytes, two digits each.
pub(crate) struct Hex<'a>(pub &'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        self.0.iter().try_for_each(|byte| {
            f.write_char(char::from(DIGITS[usize::from(byte >> 4)]))?;
            f.write_char(char::from(DIGITS[usize::from(byte & 15)]))
        })
    }
}
