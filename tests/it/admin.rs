//! What people see and steer, on PostgreSQL and on SQLite: each story is written once and runs on both.

mod access;
mod api;
mod audit;
mod between;
mod cancels;
mod client;
mod lists;
mod missing;
mod openapi;
mod outbox;
mod plans;
mod rates;
mod replays;
mod server;
mod settle;
mod status;
mod steering;
mod world;
