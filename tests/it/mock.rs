//! Mocks that real clients believe: each is driven by a client that others wrote.

mod hubspot;
mod salesforce;
