//! The webhook destination: one request for one delivery.
