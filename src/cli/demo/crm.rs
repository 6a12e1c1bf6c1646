//! The CRMs of `demo --crm`: a mock of Salesforce and one of HubSpot, to which the customers go as accounts and contacts,
//! and whether what is there in the end equals the table.

use std::collections::BTreeMap;

use serde::Serialize;

use super::pipeline::CUSTOMERS;
use super::session::Session;
use super::verdict::{Fact, Id};
use crate::cli::table;
use crate::core::delivery::State;
use crate::mock::crm::{Crm, MockServer, Record, Schema, ServerOptions, parse_rules};
use crate::mock::{hubspot, salesforce};
use crate::store::StoreError;

/// Calls that the mock org allows in a day: a demo is not to be held up by them.
const DAILY_CALLS: u64 = 1_000_000_000;

/// A record is locked now and then, and once the answer to a call is lost.
const SALESFORCE_FAULTS: &str = "drop:1@method=PATCH,unable-to-lock-row:0.03";
/// Two answers are lost, the first of them to the look before the first row; and a gateway fails now and then.
const HUBSPOT_FAULTS: &str = "drop:2@method=POST,fail=502:0.05@method=POST";

/// What a CRM is to a demo: the destination, the object there, and the fields that customers go to.
struct Place {
    destination: &'static str,
    receiver: &'static str,
    object: &'static str,
    /// The customer's row key, name and points.
    fields: [&'static str; 3],
}

const ACCOUNTS: Place = Place {
    destination: "accounts",
    receiver: "Salesforce",
    object: "Account",
    fields: ["Ext__c", "Name", "AnnualRevenue"],
};

const CONTACTS: Place = Place {
    destination: "contacts",
    receiver: "HubSpot",
    object: "contacts",
    fields: ["external_id", "lastname", "lifetime_value"],
};

/// Both mocks, in this process.
pub(super) struct Crms {
    salesforce: MockServer<salesforce::Salesforce>,
    hubspot: MockServer<hubspot::HubSpot>,
}

/// What became of the customers at one CRM.
#[derive(Debug, Serialize)]
pub(super) struct CrmSummary {
    destination: &'static str,
    receiver: &'static str,
    delivered: usize,
    superseded: usize,
    dead: usize,
    attempts: u64,
    requests: u64,
    records: usize,
    /// Customers whose record is missing or says something else, and records of no customer.
    pub(super) differing: usize,
}

/// Name and points of each customer, by row key.
type Customers = BTreeMap<String, (String, String)>;

impl Crms {
    pub(super) async fn start(seed: u64) -> anyhow::Result<Self> {
        let mut org = salesforce::SalesforceOptions::new(Schema::parse(salesforce::DEFAULT_SCHEMA)?);
        org.daily_limit = DAILY_CALLS;
        let options = ServerOptions {
            faults: parse_rules(SALESFORCE_FAULTS)?,
            seed,
            ..ServerOptions::default()
        };
        let salesforce = MockServer::start(salesforce::Salesforce::new(org), options).await?;
        let portal = hubspot::HubSpotOptions::new(Schema::parse(hubspot::DEFAULT_SCHEMA)?);
        let options = ServerOptions {
            faults: parse_rules(HUBSPOT_FAULTS)?,
            seed,
            ..ServerOptions::default()
        };
        let hubspot = hubspot::start(portal, options).await?;
        Ok(Self { salesforce, hubspot })
    }

    pub(super) fn salesforce_url(&self) -> String {
        self.salesforce.url()
    }

    pub(super) fn hubspot_url(&self) -> String {
        self.hubspot.url()
    }

    /// Compares what is there with what the pipeline committed.
    pub(super) async fn sum_up(
        &self,
        session: &mut Session,
        prefix: &str,
        committed: &[Fact],
    ) -> Result<Vec<CrmSummary>, StoreError> {
        let expected = newest(committed);
        let sides = [
            (&ACCOUNTS, seen(&self.salesforce, &ACCOUNTS)),
            (&CONTACTS, seen(&self.hubspot, &CONTACTS)),
        ];
        let mut summaries = Vec::new();
        for (place, (records, requests)) in sides {
            let recorded = session.deliveries(prefix, place.destination).await?;
            let count = |wanted: State| recorded.iter().filter(|(_, state)| *state == wanted).count();
            summaries.push(CrmSummary {
                destination: place.destination,
                receiver: place.receiver,
                delivered: count(State::Delivered),
                superseded: count(State::Superseded),
                dead: count(State::Dead),
                attempts: session.attempts(prefix, place.destination).await?,
                requests,
                records: records.len(),
                differing: differing(&expected, &records),
            });
        }
        Ok(summaries)
    }

    pub(super) async fn shutdown(self) {
        self.salesforce.shutdown().await;
        self.hubspot.shutdown().await;
    }
}

/// The lines of both CRMs, and a sentence.
pub(super) fn text(crms: &[CrmSummary]) -> String {
    let header = [
        "DESTINATION",
        "AT",
        "DELIVERED",
        "SUPERSEDED",
        "DEAD",
        "ATTEMPTS",
        "REQUESTS",
        "RECORDS",
    ];
    let row = |crm: &CrmSummary| {
        [
            crm.destination.to_owned(),
            crm.receiver.to_owned(),
            crm.delivered.to_string(),
            crm.superseded.to_string(),
            crm.dead.to_string(),
            crm.attempts.to_string(),
            crm.requests.to_string(),
            crm.records.to_string(),
        ]
    };
    let mut lines = table::table(header, crms.iter().map(row));
    table::align_right(&mut lines, 2..8);
    let sentence = |crm: &CrmSummary| match crm.differing {
        0 => format!("the {} at {} equal the table", crm.destination, crm.receiver),
        differing => format!(
            "{differing} of the {} at {} differ from the table",
            crm.destination, crm.receiver
        ),
    };
    let sentences: Vec<String> = crms.iter().map(sentence).collect();
    format!("{}\n\n{}", lines.trim_fmt(), sentences.join(", "))
}

/// The newest version of each customer, as the pipeline committed it.
fn newest(committed: &[Fact]) -> Customers {
    let customers = committed.iter().filter(|fact| fact.id.topic == CUSTOMERS);
    let customer = |fact: &Fact| {
        let payload: serde_json::Value = serde_json::from_str(&fact.payload).unwrap_or_default();
        let name = payload["name"].as_str().unwrap_or_default().to_owned();
        let Id { row_key, .. } = &fact.id;
        (row_key.clone(), (name, payload["points"].to_string()))
    };
    // A later one takes an earlier one's place.
    customers.map(customer).collect()
}

/// The customers that a CRM has, and how many requests it saw.
fn seen<C: Crm>(mock: &MockServer<C>, place: &Place) -> (Customers, u64) {
    mock.with(|crm, _, journal| {
        let customer = |record: &Record| {
            let [row_key, name, points] = place.fields.map(|field| {
                let value = record.fields.get(field).and_then(|value| value.as_text());
                value.unwrap_or_default().to_owned()
            });
            (row_key, (name, points))
        };
        let customers = crm.store().records(place.object).map(customer).collect();
        (customers, journal.count())
    })
}

/// How many customers are not there as expected, and how many are there that nobody expected.
fn differing(expected: &Customers, seen: &Customers) -> usize {
    let wrong = expected
        .iter()
        .filter(|(row_key, customer)| seen.get(*row_key) != Some(customer));
    let strangers = seen.keys().filter(|row_key| !expected.contains_key(*row_key));
    wrong.count() + strangers.count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(row_key: &str, points: u32) -> Fact {
        Fact {
            id: Id {
                topic: CUSTOMERS.to_owned(),
                row_key: row_key.to_owned(),
                row_version: Some(i64::from(points)),
            },
            payload: format!(r#"{{"customer_id": 1, "name": "Ada", "points": {points}}}"#),
        }
    }

    #[test]
    fn what_is_missing_old_or_nobodys_is_counted() {
        let expected = newest(&[version("c-1", 1), version("c-2", 2), version("c-1", 3)]);
        assert_eq!(
            differing(&expected, &newest(&[version("c-2", 2), version("c-1", 3)])),
            0
        );
        assert_eq!(
            differing(&expected, &newest(&[version("c-1", 1), version("c-2", 2)])),
            1,
            "an old version"
        );
        assert_eq!(
            differing(&expected, &newest(&[version("c-1", 3)])),
            1,
            "one is missing"
        );
        let stranger = newest(&[version("c-1", 3), version("c-2", 2), version("c-3", 4)]);
        assert_eq!(differing(&expected, &stranger), 1, "nobody committed it");
    }
}
