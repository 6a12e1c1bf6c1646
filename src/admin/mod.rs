//! The admin HTTP server.
