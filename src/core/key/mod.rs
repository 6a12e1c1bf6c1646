//! The idempotency key: what a receiver recognises a repeated request by.
//!
//! Every attempt of a delivery carries the same key, and two different facts never share one. So the key is derived
//! from facts alone, by the rules of ARCHITECTURE.md and of `tests/keys/reference.py`, to the byte; URL, secrets,
//! attempt numbers, times and run ids have no part in it, and no key is made from a string.

mod form;
#[cfg(test)]
mod tests;
mod version;

use std::fmt;

use sha2::{Digest, Sha256};

pub use form::KeyForm;
pub use version::KeyVersion;

use super::canonical::RowHash;
use super::row::Op;

/// Everything that makes two deliveries different.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyFacts<'a> {
    /// The database's own name, so that two databases that feed one receiver do not meet.
    pub namespace: &'a str,
    /// The destination's name: two destinations may stand behind one account.
    pub destination: &'a str,
    /// The row's topic.
    pub topic: &'a str,
    /// The row's key within its topic: two equal rows are two facts.
    pub row_key: &'a str,
    /// What happened to the row.
    pub op: Op,
    /// Which change of the row this is (A, B, A is three changes); none for an event without a row version.
    pub version: Option<KeyVersion>,
    /// The row's content: the same version with other content is another fact.
    pub row_hash: RowHash,
    /// How many replays have asked for a new key.
    pub epoch: u32,
}

/// The key of a delivery. Displays as its [`KeyForm::Token`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct IdempotencyKey([u8; 32]);

impl IdempotencyKey {
    /// The key that follows from `facts`.
    pub fn derive(facts: &KeyFacts<'_>) -> Self {
        let KeyFacts {
            namespace,
            destination,
            topic,
            row_key,
            op,
            version,
            row_hash,
            epoch,
        } = facts;
        Self(hash_fields(&[
            Some(namespace),
            Some(destination),
            Some(topic),
            Some(row_key),
            Some(op.as_str()),
            version.as_ref().map(KeyVersion::as_str),
            Some(&row_hash.to_string()),
            Some(&epoch.to_string()),
        ]))
    }

    /// The key of one request for several deliveries: it follows from theirs, in their order. For one delivery it is that
    /// delivery's own; for none there is none.
    pub fn of_batch(keys: &[Self]) -> Option<Self> {
        match keys {
            [] => None,
            [one] => Some(*one),
            several => {
                let mut hash = Sha256::new_with_prefix("aftercommit-batch-v1\n");
                for key in several {
                    hash.update(key.0);
                }
                Some(Self(hash.finalize().into()))
            }
        }
    }

    /// The 32 bytes that all forms are made of.
    pub fn digest(&self) -> &[u8; 32] {
        &self.0
    }

    /// The header value in the form that the receiver understands.
    pub fn wire(&self, form: KeyForm) -> String {
        form.write(&self.0)
    }
}

impl fmt::Display for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.wire(KeyForm::Token))
    }
}

/// Hashes each field with its length in bytes before it, so that no two lists of fields hash the same bytes. None is
/// not the empty text.
fn hash_fields(fields: &[Option<&str>]) -> [u8; 32] {
    let mut hash = Sha256::new_with_prefix("aftercommit-key-v1\n");
    for field in fields {
        match field {
            None => hash.update("-,"),
            Some(text) => {
                hash.update(text.len().to_string());
                hash.update(":");
                hash.update(text);
                hash.update(",");
            }
        }
    }
    hash.finalize().into()
}
