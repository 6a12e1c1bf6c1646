//! The row hash: which content a row has, whatever its spelling.

use std::fmt;

use sha2::{Digest, Sha256};

use super::{NotCanonical, canonical};
use crate::core::hex::Hex;

/// SHA-256 of the canonical payload. Displays as 64 lower-case hex digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RowHash([u8; 32]);

impl RowHash {
    /// The hash of the JSON text `payload`; for a delete that is `null`.
    pub fn of(payload: &str) -> Result<Self, NotCanonical> {
        let hash = Sha256::new()
            .chain_update(b"aftercommit-row-v1\n")
            .chain_update(canonical(payload)?);
        Ok(Self(hash.finalize().into()))
    }

    /// The 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for RowHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Hex(&self.0).fmt(f)
    }
}
