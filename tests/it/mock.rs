//! Mocks that real clients believe: each is driven by a client that others wrote.

mod python;
mod salesforce;
