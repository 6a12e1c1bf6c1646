//! The admin HTTP server: how things stand, and the means to steer them.
//!
//! It asks and changes through `store::admin`, and takes rows in through `capture`, so that whatever it does is on record. `/livez` and `/readyz` answer
//! everybody, and so does the page at `/`; everything below `/v1` wants the token, and so does `/metrics` unless the configuration opens it. Errors are
//! problem documents (RFC 9457).
//!
//! ```text
//!  server: connections, limits, shutdown ─▶ guard: one task a request, size and time of a body ─▶ access: the token
//!                                                                   deliveries, destinations, replays, status, health, history
//!                                                                   metrics: what is counted, and gauges of the database
//!                                                                   outbox, which reads its body itself (spool)
//! ```

mod access;
mod audit;
mod deliveries;
mod destinations;
mod doctor;
mod gauges;
mod guard;
mod health;
mod history;
mod metrics;
mod openapi;
mod outbox;
mod page;
mod problem;
mod process;
mod query;
mod replays;
mod reply;
mod room;
mod routes;
mod scraper;
mod server;
mod settle;
mod settle_many;
mod spool;
mod state;
mod trouble;

pub use self::process::Process;
pub use self::server::{AdminServer, Limits};
pub use self::state::AdminSettings;
