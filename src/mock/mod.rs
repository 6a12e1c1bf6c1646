//! Mock receivers for tests, the demo, and anyone who wants to try.

pub mod crm;
pub mod hubspot;
pub mod receiver;
pub mod salesforce;
mod times;
