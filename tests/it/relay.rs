//! The relay in this process, against real databases and a receiver that can misbehave.
//!
//! Each promise of ARCHITECTURE.md, section 1, is a test in `promises`; the other files hold what goes wrong.

mod decisions;
mod faults;
mod late;
mod ownership;
mod promises;
mod steering;
mod wakeup;
mod watched;
mod world;
