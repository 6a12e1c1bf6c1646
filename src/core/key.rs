//! The idempotency key and its forms on the wire.
