//! The integration tests, one binary: each module tells one story against real databases and real sockets.

mod postgres;
mod sqlite;
