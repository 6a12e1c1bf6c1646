//! What people see and steer, on PostgreSQL and on SQLite: each story is written once and runs on both.

mod cancels;
mod lists;
mod replays;
mod status;
mod world;
