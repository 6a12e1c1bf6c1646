//! Destinations: what receives the deliveries, and the guarded HTTP client that reaches them.

pub mod client;
pub mod signing;
pub mod target;
pub mod webhook;
