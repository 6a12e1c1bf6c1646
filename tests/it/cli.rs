//! The command, as a person or a script uses it: the real program, its output, its exit codes.

mod check;
mod command;
mod daemon;
mod demo;
mod desk;
mod enqueue;
mod key;
mod monitoring;
mod night;
#[cfg(feature = "parquet")]
mod parquet;
mod pooled;
mod preview;
mod setup;
mod sources;
mod steer;
mod tokens;
mod verify;
