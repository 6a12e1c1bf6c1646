//! A checksum of many things in whatever order: equal where they are equal, however often each occurs.
//!
//! Pure. The sum of hashes: adding one costs the same however many there are, and nothing is held.

use std::fmt;

use serde::{Serialize, Serializer};
use sha2::{Digest as _, Sha256};

/// The checksum of what was added. Displays as 32 hex digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Checksum(u128);

impl Checksum {
    /// Takes in a thing that consists of `parts`.
    pub(crate) fn add(&mut self, parts: &[&str]) {
        let mut hash = Sha256::new();
        for part in parts {
            // The length says where a part ends.
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        let mut half = [0; 16];
        half.copy_from_slice(&hash.finalize()[..16]);
        self.0 = self.0.wrapping_add(u128::from_be_bytes(half));
    }
}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl Serialize for Checksum {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(things: &[&[&str]]) -> Checksum {
        let mut checksum = Checksum::default();
        for parts in things {
            checksum.add(parts);
        }
        checksum
    }

    #[test]
    fn the_order_makes_no_difference_and_everything_else_does() {
        let whole = of(&[&["a", "1"], &["b", "2"]]);
        assert_eq!(whole, of(&[&["b", "2"], &["a", "1"]]));
        let others: [&[&[&str]]; 4] = [
            &[&["a", "1"]],
            &[&["a", "1"], &["b", "2"], &["b", "2"]],
            &[&["a", "2"], &["b", "1"]],
            &[&["a1", ""], &["b", "2"]],
        ];
        for other in others {
            assert_ne!(whole, of(other), "{other:?}");
        }
        // Twice the same is not nothing, as it would be with an exclusive or.
        assert_ne!(of(&[&["a"], &["a"]]), of(&[]));
    }
}
