//! Capture: how the changes of committed tables reach the outbox.

mod patterns;
