//! The admin HTTP server: how things stand, and the means to steer them.
//!
//! It asks and changes through `store::admin`, and takes rows in through `capture`, so that whatever it does is on record. `/livez` and `/readyz` answer
//! everybody; everything below `/v1` wants the token. Errors are problem documents (RFC 9457).
//!
//! ```text
//!  server: connections, limits, shutdown ─▶ guard: one task a request, size and time of a body ─▶ access: the token
//!                                                                   deliveries, destinations, replays, status, health
//!                                                                   outbox, which reads its body itself (spool)
//! ```

mod access;
mod audit;
mod deliveries;
mod destinations;
mod guard;
mod health;
mod openapi;
mod outbox;
mod problem;
mod query;
mod replays;
mod reply;
mod routes;
mod server;
mod settle;
mod spool;
mod state;

pub use self::server::{AdminServer, Limits};
pub use self::state::AdminSettings;
