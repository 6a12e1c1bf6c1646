//! What people see and steer, on PostgreSQL and on SQLite: each story is written once and runs on both.

mod api;
mod cancels;
mod client;
mod lists;
mod replays;
mod server;
mod status;
mod world;
