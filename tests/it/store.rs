//! What the store promises, on PostgreSQL and on SQLite: each story is written once and runs on both.

mod by_key;
mod door;
mod draft;
mod dropped;
mod failing;
mod fetching;
mod jobs;
mod leases;
mod outbox;
mod plans;
mod python;
mod recording;
mod routes;
mod shards;
mod statements;
mod takeover;
mod together;
mod usage;
pub(crate) mod world;
