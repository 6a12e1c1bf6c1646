//! The daemon as a process that is killed: at each step of its way, at random, and while others are.
//!
//! After each story three independent records are compared: what the pipeline committed, what the database says, and
//! what the receiver wrote down. See `invariants`.

mod chance;
mod chores;
mod crms;
mod invariants;
mod jobs;
mod outages;
mod steps;
mod world;
