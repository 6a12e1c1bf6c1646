//! What people see and steer, on PostgreSQL and on SQLite: each story is written once and runs on both.

mod access;
mod api;
mod audit;
mod between;
mod cancels;
pub(crate) mod client;
mod destinations;
mod doctor;
mod history;
mod lists;
mod metrics;
mod missing;
mod openapi;
mod outbox;
mod page;
mod plans;
mod rates;
mod replays;
mod server;
mod settle;
mod status;
mod steering;
mod trouble;
mod withheld;
mod world;
