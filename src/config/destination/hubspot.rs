//! What the configuration says of a HubSpot portal.

use std::fmt;

use secrecy::SecretString;

use super::super::secret::same_secret;
use super::crm::CrmConfig;

/// `type = "hubspot"`
#[derive(Clone)]
pub struct HubspotConfig {
    /// What it has in common with other CRMs.
    pub crm: CrmConfig,
    /// Where access tokens come from.
    pub access: HubspotAccess,
}

/// Where access tokens come from.
#[derive(Clone)]
pub enum HubspotAccess {
    /// The token of a private app: for ever.
    PrivateApp(SecretString),
    /// OAuth: a refresh token buys tokens for half an hour.
    OAuth {
        /// The app's client id.
        client_id: SecretString,
        /// The app's client secret.
        client_secret: SecretString,
        /// What the portal gave the app at its installation.
        refresh_token: SecretString,
    },
}

impl HubspotConfig {
    pub(super) fn differs(&self, other: &Self) -> bool {
        // Taken apart, so that no later field is forgotten here.
        let Self { crm, access } = self;
        *crm != other.crm || !access.is_like(&other.access)
    }
}

impl HubspotAccess {
    fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::PrivateApp(one), Self::PrivateApp(other)) => same_secret(one, other),
            (
                Self::OAuth {
                    client_id,
                    client_secret,
                    refresh_token,
                },
                Self::OAuth {
                    client_id: other_id,
                    client_secret: other_secret,
                    refresh_token: other_token,
                },
            ) => {
                same_secret(client_id, other_id)
                    && same_secret(client_secret, other_secret)
                    && same_secret(refresh_token, other_token)
            }
            _ => false,
        }
    }
}

impl fmt::Debug for HubspotConfig {
    /// Without what gives access.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HubspotConfig")
            .field("crm", &self.crm)
            .finish_non_exhaustive()
    }
}
