//! Aftercommit, the side-effect outbox relay.
//!
//! The modules below are the table of contents, in reading order. Each floor knows only those above it in this
//! list: the core is pure, the store keeps what was committed, a destination sends, the relay joins them, and the
//! admin server and the command line let people see and steer.

pub mod core;

pub mod crash;

pub mod clock;
pub mod config;
pub mod telemetry;

pub mod store;

pub mod destination;

pub mod relay;

pub mod capture;

pub mod admin;

pub mod mock;

pub mod verify;

pub mod cli;
