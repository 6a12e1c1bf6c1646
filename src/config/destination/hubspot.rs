//! What the configuration says of a HubSpot portal.

use super::crm::CrmConfig;

/// `type = "hubspot"`
#[derive(Debug, Clone)]
pub struct HubspotConfig {
    /// What it has in common with other CRMs.
    pub crm: CrmConfig,
}

impl HubspotConfig {
    pub(super) fn differs(&self, other: &Self) -> bool {
        let Self { crm } = self;
        *crm != other.crm
    }
}
