//! The ways to a CRM that are measured: how the destination is configured, and with what.

/// A way to a CRM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub(crate) enum Case {
    /// Salesforce, by collections of 200 records.
    Collections,
    /// Salesforce, by jobs of 10,000 rows at most.
    Bulk,
    /// HubSpot, by batches of 100 records.
    Hubspot,
}

const SALESFORCE: &str = r#"
type = "salesforce"
login_url = "{url}"
client_id = "app"
client_secret = "secret"
object = "Account"
external_id = "Ext__c"
fields = { Name = "name", Phone = "phone", BillingCity = "city", AnnualRevenue = "revenue" }
bulk_threshold = {bulk_threshold}
"#;

const HUBSPOT: &str = r#"
type = "hubspot"
url = "{url}"
access_token = "pat-na1-mock"
object = "contacts"
id_property = "email"
fields = { firstname = "name", phone = "phone", city = "city", lifetime_value = "revenue" }
"#;

impl Case {
    /// In the order in which they are measured.
    pub(crate) const ALL: [Self; 3] = [Self::Collections, Self::Bulk, Self::Hubspot];

    /// As on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Collections => "collections",
            Self::Bulk => "bulk",
            Self::Hubspot => "hubspot",
        }
    }

    /// Whether a request carries rows; by the end of its path.
    pub(crate) fn carries_rows(self, target: &str) -> bool {
        match self {
            Self::Collections => target.contains("/composite/sobjects/") || target.contains("/Ext__c/"),
            Self::Bulk => target.ends_with("/batches"),
            Self::Hubspot => target.ends_with("/batch/upsert"),
        }
    }

    /// A configuration file's text: the topic `customers` goes to the mock at `url`.
    pub(crate) fn config(self, database: &str, url: &str, concurrency: usize) -> String {
        let section = match self {
            Self::Collections => SALESFORCE.replace("{bulk_threshold}", "0"),
            Self::Bulk => SALESFORCE.replace("{bulk_threshold}", "2000"),
            Self::Hubspot => HUBSPOT.to_owned(),
        };
        format!(
            "[database]\nurl = \"{database}\"\n[topics.customers]\nkind = \"state\"\n[destinations.crm]\n\
             topics = [\"customers\"]\nallow_http = true\nallow_networks = [\"127.0.0.0/8\"]\n\
             concurrency = {concurrency}\n{}",
            section.replace("{url}", url)
        )
    }
}
