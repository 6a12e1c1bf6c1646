//! The demo's configuration and its receiver's misbehaviour.

use std::env::VarError;
use std::io;
use std::path::Path;

use crate::config::{Config, ConfigFaults, DATABASE_URL, Sources};
use crate::mock::receiver::{Fault, JournalOptions, ReceiverOptions, Rule, Times};

use super::crm::Crms;
use super::pipeline::order_key;

/// The destination that is the mock receiver.
pub(super) const RECEIVER: &str = "receiver";

/// How often a request fails for no reason.
const FAILURES: f64 = 0.05;

/// Short delays, so that the demo does not keep a person waiting: a configuration for others has longer ones.
const CONFIG: &str = r#"
[admin]
listen = "off"

# The failures are meant: a log of them would hide the progress.
[log]
filter = "error"

[relay]
poll_busy = "5ms"
poll_idle = "50ms"

[topics.orders]
kind = "event"

[topics.customers]
kind = "state"

[destinations.receiver]
type = "webhook"
url = { env = "RECEIVER_URL" }
topics = ["orders", "customers"]
allow_http = true
allow_networks = ["127.0.0.0/8"]
concurrency = 32

[destinations.receiver.retry]
first = "50ms"
factor = 2.0
max_delay = "1s"
max_attempts = 50
"#;

/// What `--crm` adds: customers become accounts and contacts, by their row keys.
const CRM_CONFIG: &str = r#"
[destinations.accounts]
type = "salesforce"
login_url = { env = "SALESFORCE_URL" }
topics = ["customers"]
object = "Account"
external_id = "Ext__c"
client_id = "demo"
client_secret = "demo"
allow_http = true
allow_networks = ["127.0.0.0/8"]
batch_wait = "20ms"

[destinations.accounts.fields]
Name = "name"
AnnualRevenue = "points"

[destinations.accounts.retry]
first = "50ms"
factor = 2.0
max_delay = "1s"
max_attempts = 50

[destinations.contacts]
type = "hubspot"
url = { env = "HUBSPOT_URL" }
topics = ["customers"]
object = "contacts"
id_property = "external_id"
access_token = "pat-na1-mock"
allow_http = true
allow_networks = ["127.0.0.0/8"]
batch_wait = "20ms"

[destinations.contacts.fields]
lastname = "name"
lifetime_value = "points"

[destinations.contacts.retry]
first = "50ms"
factor = 2.0
max_delay = "1s"
max_attempts = 50
"#;

/// The configuration, as anybody's would be read.
pub(super) fn config(
    database_url: &str,
    receiver_url: String,
    crms: Option<&Crms>,
) -> Result<Config, ConfigFaults> {
    let text = format!("{CONFIG}{}", crms.map_or("", |_| CRM_CONFIG));
    let addresses = Addresses {
        database_url: database_url.to_owned(),
        receiver_url,
        crm_urls: crms.map(|crms| (crms.salesforce_url(), crms.hubspot_url())),
    };
    Config::parse(&text, &addresses)
}

/// A receiver that fails now and then, asks once for patience, and once does the work but does not say so.
pub(super) fn receiver(prefix: &str, seed: u64) -> ReceiverOptions {
    let throttle = Fault::Throttle {
        status: 429,
        retry_after: "1".to_owned(),
    };
    ReceiverOptions {
        script: vec![
            Rule::once(Fault::ProcessedThenDropped).for_row_key(order_key(prefix, 1)),
            Rule::once(throttle).for_row_key(order_key(prefix, 7)),
            Rule::new(Times::Chance(FAILURES), Fault::Fail { status: 500 }),
        ],
        journal: JournalOptions {
            newest: usize::MAX,
            ..JournalOptions::default()
        },
        seed,
        ..ReceiverOptions::default()
    }
}

/// What the configuration takes from its environment.
struct Addresses {
    database_url: String,
    receiver_url: String,
    /// Of Salesforce and of HubSpot.
    crm_urls: Option<(String, String)>,
}

impl Sources for Addresses {
    fn name(&self) -> String {
        "the demo's configuration".to_owned()
    }

    fn variable(&self, name: &str) -> Result<String, VarError> {
        match name {
            DATABASE_URL => Ok(self.database_url.clone()),
            "RECEIVER_URL" => Ok(self.receiver_url.clone()),
            _ => {
                let (salesforce, hubspot) = self.crm_urls.as_ref().ok_or(VarError::NotPresent)?;
                match name {
                    "SALESFORCE_URL" => Ok(salesforce.clone()),
                    "HUBSPOT_URL" => Ok(hubspot.clone()),
                    _ => Err(VarError::NotPresent),
                }
            }
        }
    }

    fn file(&self, _: &Path) -> io::Result<String> {
        Err(io::ErrorKind::NotFound.into())
    }
}
