//! The mock CRMs: their answers against recorded bodies, and against the real clients.

mod clients;
mod hubspot;
