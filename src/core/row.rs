//! Outbox rows: topic, row key, version, operation, payload.
