//! The relay in this process, against real databases and a receiver that can misbehave.
//!
//! Each promise of ARCHITECTURE.md, section 1, is a test in `promises`; the other files hold what goes wrong.

mod batches;
mod bisecting;
mod bounded;
mod breaker;
mod codes;
mod crm;
mod decisions;
mod echoes;
mod fairness;
mod faults;
mod hubspot;
mod late;
mod limits;
mod metrics;
mod ownership;
mod payloads;
mod preview;
mod promises;
mod salesforce;
mod sharing;
mod silence;
mod steering;
mod swallowing;
#[cfg(feature = "otlp")]
mod traces;
mod wakeup;
mod watched;
mod world;
