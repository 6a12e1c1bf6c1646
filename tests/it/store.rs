//! What the store promises, on PostgreSQL and on SQLite: each story is written once and runs on both.

mod door;
pub(crate) mod world;
