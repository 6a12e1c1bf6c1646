//! Standard Webhooks signatures, v1 and v1a.
