//! What the mock CRMs share: a schema, records in memory, faults, a journal, and the server around them.
//!
//! A CRM is a value that answers requests ([`Crm`]). It knows no socket and reads no clock, so that its answers can be
//! tested as values. They are no servers for production.
//!
//! ```text
//!  MockServer ──▶ control paths (/faults, /journal, /dump, …)
//!      │
//!      ├──▶ Faults    does the request meet one?
//!      ├──▶ Crm       answers; asks Faults for each record
//!      └──▶ Journal
//! ```

pub mod clock;
pub mod control;
pub mod fault;
pub mod faults;
pub mod journal;
pub mod request;
pub mod schema;
pub mod server;
pub mod store;
#[cfg(test)]
mod tests;
pub mod value;

use std::fmt;

use jiff::Timestamp;

pub use super::times::{Times, TimesError};
pub use clock::MockClock;
pub use fault::{Fault, FaultError, Rule, Scope, Trigger, VendorFault, WireFault, fault_names, parse_rules};
pub use faults::Faults;
pub use journal::{Entry, Journal};
pub use request::{Answer, Request};
pub use schema::{Field, FieldType, Key, Object, Schema, SchemaError};
pub use server::{ListenError, MockServer, ServerOptions};
pub use store::{Record, Store};
pub use value::{Fields, Value};

/// A CRM, without the wire.
pub trait Crm: fmt::Debug + Send + 'static {
    /// Its own faults.
    type Fault: VendorFault;

    /// Processes a request. `faults` is asked once for each record that the request carries.
    fn answer(&mut self, request: &Request, faults: &mut Faults<Self::Fault>, now: Timestamp) -> Answer;

    /// What is answered in place of processing when a request as a whole meets one of the CRM's own faults.
    fn refuse(&mut self, request: &Request, fault: Self::Fault) -> Answer;

    /// A failure with this status (300 to 599), in the form that the CRM or the gateway before it gives it.
    fn failure(&self, status: u16) -> Answer;

    /// The records.
    fn store(&self) -> &Store;

    /// Lets every token expire now.
    fn expire_tokens(&mut self);

    /// Forgets records and tokens.
    fn reset(&mut self);
}
