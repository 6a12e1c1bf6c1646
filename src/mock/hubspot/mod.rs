//! A mock of HubSpot's CRM v3: contacts, companies, deals, products and what a schema adds, faithful enough that
//! HubSpot's own clients work with it.
//!
//! It answers objects (single, batch, merge), properties, OAuth and the daily usage, as recorded from real portals,
//! limits and refusals included. It has no search, no associations and no lists. [`HubSpot`] is a value without the
//! wire; [`start`] serves it, with the faults, the journal and the control paths of [`crate::mock::crm`].
//!
//! Where HubSpot's documents say that something is not supported, the mock refuses it: an upsert by `email` must repeat
//! the address among its properties.

mod batch;
mod call;
mod fault;
mod limits;
mod objects;
mod portal;
mod properties;
mod records;
mod refusal;
mod render;
mod tokens;
mod values;
mod wire;

pub use fault::HubSpotFault;
pub use limits::{CallLimits, Policy};
pub use portal::HubSpot;
pub use tokens::Access;

use crate::mock::crm::{ListenError, MockServer, Schema, ServerOptions};

/// Contacts, companies, deals and products: the schema of a portal that is given none.
pub const DEFAULT_SCHEMA: &str = include_str!("default.toml");

/// What a portal is like.
#[derive(Debug, Clone)]
pub struct HubSpotOptions {
    /// The portal's number, which HubSpot also calls hub id.
    pub portal: u64,
    /// Its object types: names as in paths, prefixes are object type ids.
    pub schema: Schema,
    /// Who may do what.
    pub access: Access,
    /// How many calls each app may make.
    pub limits: CallLimits,
}

impl HubSpotOptions {
    /// A portal with these object types, the usual tokens, and limits that stand in nobody's way.
    pub fn new(schema: Schema) -> Self {
        Self {
            portal: 1,
            schema,
            access: Access::default(),
            limits: CallLimits::default(),
        }
    }
}

/// Serves a portal.
pub async fn start(
    options: HubSpotOptions,
    server: ServerOptions<HubSpotFault>,
) -> Result<MockServer<HubSpot>, ListenError> {
    MockServer::start(HubSpot::new(options), server).await
}
