//! The idempotency key and its forms on the wire.

/// The key of a delivery (stand-in until the derivation lands; same name, same use).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey([u8; 32]);
