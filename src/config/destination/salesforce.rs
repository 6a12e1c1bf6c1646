//! What the configuration says of a Salesforce org.

use std::fmt;
use std::time::Duration;

use secrecy::SecretString;

use super::super::secret::same_secret;
use super::crm::CrmConfig;

/// `type = "salesforce"`
#[derive(Clone)]
pub struct SalesforceConfig {
    /// What it has in common with other CRMs.
    pub crm: CrmConfig,
    /// The version of its API, `62.0` for example.
    pub api_version: String,
    /// How one logs in.
    pub login: SalesforceLogin,
    /// Whether records that are not there are refused, not created.
    pub update_only: bool,
    /// The value of `Sforce-Duplicate-Rule-Header`; none: not sent.
    pub duplicate_rule: Option<String>,
    /// The value of `Sforce-Call-Options`; none: not sent.
    pub call_options: Option<String>,
    /// The share of the org's daily API calls that is left to others, 0 to 1.
    pub daily_limit_reserve: f64,
    /// From so many rows on that could be sent at once, they go by a job of the Bulk API; none: never.
    pub bulk_threshold: Option<usize>,
    /// How long such a job may last.
    pub bulk_timeout: Duration,
}

/// How one logs in to a Salesforce org.
#[derive(Clone)]
pub struct SalesforceLogin {
    /// The consumer key of the connected app.
    pub client_id: SecretString,
    /// What proves that one is that app.
    pub proof: LoginProof,
}

/// What proves to Salesforce that one is the app.
#[derive(Clone)]
pub enum LoginProof {
    /// OAuth client credentials: the consumer secret.
    ClientSecret(SecretString),
    /// OAuth JWT bearer: an assertion about a user, signed with the app's key.
    PrivateKey {
        /// An RSA key, PEM (PKCS #8 or PKCS #1).
        pem: SecretString,
        /// The user to act as.
        username: String,
        /// Whom the assertion is for; none: the login URL.
        audience: Option<String>,
    },
}

impl SalesforceConfig {
    pub(super) fn differs(&self, other: &Self) -> bool {
        // Taken apart, so that no later field is forgotten here.
        let Self {
            crm,
            api_version,
            login,
            update_only,
            duplicate_rule,
            call_options,
            daily_limit_reserve,
            bulk_threshold,
            bulk_timeout,
        } = self;
        *crm != other.crm
            || *api_version != other.api_version
            || !login.is_like(&other.login)
            || *update_only != other.update_only
            || *duplicate_rule != other.duplicate_rule
            || *call_options != other.call_options
            || daily_limit_reserve.to_bits() != other.daily_limit_reserve.to_bits()
            || *bulk_threshold != other.bulk_threshold
            || *bulk_timeout != other.bulk_timeout
    }
}

impl SalesforceLogin {
    fn is_like(&self, other: &Self) -> bool {
        let proven_alike = match (&self.proof, &other.proof) {
            (LoginProof::ClientSecret(one), LoginProof::ClientSecret(other)) => same_secret(one, other),
            (
                LoginProof::PrivateKey {
                    pem,
                    username,
                    audience,
                },
                LoginProof::PrivateKey {
                    pem: other_pem,
                    username: other_username,
                    audience: other_audience,
                },
            ) => same_secret(pem, other_pem) && username == other_username && audience == other_audience,
            _ => false,
        };
        proven_alike && same_secret(&self.client_id, &other.client_id)
    }
}

impl fmt::Debug for SalesforceConfig {
    /// Without the login.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SalesforceConfig")
            .field("crm", &self.crm)
            .field("api_version", &self.api_version)
            .field("update_only", &self.update_only)
            .finish_non_exhaustive()
    }
}
