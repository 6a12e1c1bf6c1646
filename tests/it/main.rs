//! The integration tests, one binary: each module tells one story against real databases and real sockets.

// What helps a test is test code too, and may unwrap.
#![cfg(test)]

mod admin;
mod admission;
mod capture;
mod cli;
mod crash;
mod mock;
mod postgres;
mod process;
mod python;
mod relay;
mod scrape;
mod sqlite;
mod states;
mod store;
