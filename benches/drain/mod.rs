//! What the benchmarks are made of: a database full of rows, relay and receiver as processes, and what they cost.
//!
//! A benchmark takes it in by `#[path = "drain/mod.rs"] mod drain;`, flattens [`role::Role`] into its options, and
//! leaves the rest of its `main` to [`role::play`].

pub(crate) mod bare;
pub(crate) mod base;
pub(crate) mod child;
pub(crate) mod fetch;
pub(crate) mod figures;
pub(crate) mod meter;
#[path = "../../tests/it/postgres/mod.rs"]
pub(crate) mod postgres;
pub(crate) mod receiver;
pub(crate) mod relay;
pub(crate) mod relayed;
pub(crate) mod role;
