//! The idempotency key and its forms on the wire.

/// The key of a delivery (stand-in until the derivation lands; same name, same use).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey([u8; 32]);

/// How a key looks in its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeyForm {
    /// `ac1-` and 32 hex digits.
    Token,
    /// The token in quotes, as the IETF draft's structured string.
    Quoted,
    /// A version 8 UUID.
    Uuid,
    /// `ac1-` and 26 hex digits.
    Short,
    /// All 64 hex digits.
    Hex,
}
