//! The pure core: rows, their hash and key, the states of a delivery, and every decision about them.
//!
//! Nothing here reads a clock, draws a random number, or knows of tokio, sqlx, reqwest or axum. What a function
//! needs comes in as values, and what it decides goes out as a value.

pub mod canonical;
pub mod decide;
pub mod delivery;
pub mod header_rule;
pub(crate) mod hex;
pub mod key;
pub mod limit;
pub mod mapping;
pub mod outcome;
pub mod policy;
pub mod printable;
pub mod queue;
pub mod retry_after;
pub mod row;
pub mod row_key;
pub mod secrets;
pub mod signature;
pub mod spoken;
pub mod target;
pub mod time;
