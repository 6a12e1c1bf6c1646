//! The trials with real rows: Northwind's customers, orders and order details, by way of PostgreSQL, a relay and a
//! receiver or mock CRMs that are processes of their own.
//!
//! The rows are not part of the project. `./test --data DIR` runs these trials with those of `DIR`; a plain `cargo test`
//! leaves them out.

// What helps a test is test code too, and may unwrap.
#![cfg(test)]

#[path = "northwind/crms.rs"]
mod crms;
#[path = "northwind/journal.rs"]
mod journal;
#[path = "northwind/keys.rs"]
mod keys;
#[path = "northwind/pipeline.rs"]
mod pipeline;
#[path = "it/postgres/mod.rs"]
#[expect(dead_code, unused_imports, reason = "the trial needs a server and no pooler")]
mod postgres;
#[path = "it/process.rs"]
mod process;
#[path = "northwind/trial.rs"]
mod trial;
