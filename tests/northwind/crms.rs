//! Northwind's customers at both mock CRMs: the dumps equal the table, and of what changes exactly that arrives.

use std::collections::BTreeMap;

use aftercommit::mock::crm::Entry;
use serde_json::Value;
use tempfile::TempDir;

use crate::journal::get;
use crate::pipeline::{CUSTOMERS, Pipeline};
use crate::postgres;
use crate::process::Process;
use crate::trial::{folder_of_rows, settled};

/// One object at a CRM: what a customer becomes there.
struct Target {
    /// Its name in the dump and in paths.
    object: &'static str,
    /// The field that holds the row key.
    key: &'static str,
    /// Fields, and the columns that they are filled from.
    fields: &'static [(&'static str, &'static str)],
}

const ACCOUNTS: Target = Target {
    object: "Account",
    key: "Ext__c",
    fields: &[
        ("Name", "company_name"),
        ("Phone", "phone"),
        ("Fax", "fax"),
        ("BillingStreet", "address"),
        ("BillingCity", "city"),
        ("BillingState", "region"),
        ("BillingPostalCode", "postal_code"),
        ("BillingCountry", "country"),
    ],
};

/// Each belongs to the account of the same customer.
const PEOPLE: Target = Target {
    object: "Contact",
    key: "Ext__c",
    fields: &[
        ("LastName", "contact_name"),
        ("Title", "contact_title"),
        ("Phone", "phone"),
        ("MailingCity", "city"),
    ],
};

const COMPANIES: Target = Target {
    object: "companies",
    key: "external_id",
    fields: &[
        ("name", "company_name"),
        ("phone", "phone"),
        ("address", "address"),
        ("city", "city"),
        ("state", "region"),
        ("zip", "postal_code"),
        ("country", "country"),
    ],
};

const CONTACTS: Target = Target {
    object: "contacts",
    key: "external_id",
    fields: &[
        ("lastname", "contact_name"),
        ("jobtitle", "contact_title"),
        ("company", "company_name"),
        ("phone", "phone"),
        ("city", "city"),
        ("zip", "postal_code"),
    ],
};

const CONFIG: &str = r#"
[database]
url = "{database}"
[relay]
heartbeat = "200ms"
[topics.customers]
kind = "state"
"#;

const DESTINATION: &str = r#"
[destinations.{name}]
topics = ["customers"]
allow_http = true
allow_networks = ["127.0.0.0/8"]
object = "{object}"
fields = { {fields} }
"#;

const SALESFORCE: &str = r#"
type = "salesforce"
login_url = "{url}"
client_id = "mock-client-id"
client_secret = "mock-client-secret"
external_id = "{key}"
"#;

const HUBSPOT: &str = r#"
type = "hubspot"
url = "{url}"
access_token = "pat-na1-mock"
id_property = "{key}"
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn customers_are_the_same_at_both_crms_and_of_what_changes_exactly_that_arrives() {
    let rows = folder_of_rows();
    let database = postgres::database().await;
    let folder = tempfile::tempdir().unwrap();
    let mut crms = Crms::start(&folder).await;
    configure(&folder, &database.url(), &crms);
    let mut migrate = Process::start(folder.path(), &["migrate"], &[]);
    assert!(migrate.ended().await.success(), "{:#?}", migrate.log());
    let mut relay = Process::start(folder.path(), &["run", "--listen", "off"], &[]);
    relay.says("looked at the leases").await;

    let mut pipeline = Pipeline::connect(&database.url()).await;
    pipeline.load(&rows, &[CUSTOMERS]).await;
    settled(&mut pipeline, &mut relay).await;
    let customers = crms.equal(&mut pipeline).await;
    assert_eq!(customers.len(), 91);

    let (one_by_one, at_once) = tenths(&customers);
    crms.look().await;
    for (number, customer_id) in one_by_one.iter().enumerate() {
        pipeline.change_one(customer_id, &format!("030-{number}")).await;
        settled(&mut pipeline, &mut relay).await;
    }
    crms.equal(&mut pipeline).await;
    crms.exactly(&one_by_one).await;

    pipeline.change_silently(&at_once).await;
    pipeline.load(&rows, &[CUSTOMERS]).await;
    settled(&mut pipeline, &mut relay).await;
    crms.equal(&mut pipeline).await;
    crms.exactly(&at_once).await;

    relay.signal("TERM").await;
    assert!(relay.ended().await.success(), "{:#?}", relay.log());
    crms.stop().await;
    println!(
        "{} customers are the same at both CRMs; {} changes arrived once each",
        customers.len(),
        18
    );
}

/// Two tenths of the customers, which have nothing in common.
fn tenths(customers: &[String]) -> (Vec<String>, Vec<String>) {
    let every_tenth = |from: usize| customers.iter().skip(from).step_by(10).take(9).cloned().collect();
    (every_tenth(0), every_tenth(5))
}

/// Both mocks, as processes.
struct Crms {
    salesforce: Crm,
    hubspot: Crm,
}

struct Crm {
    process: Process,
    url: String,
    targets: [Target; 2],
    /// The number of the last request that was looked at.
    seen: u64,
}

impl Crms {
    async fn start(folder: &TempDir) -> Self {
        Self {
            salesforce: Crm::start(folder, "salesforce", [ACCOUNTS, PEOPLE]).await,
            hubspot: Crm::start(folder, "hubspot", [COMPANIES, CONTACTS]).await,
        }
    }

    /// Every record is a customer's and holds what the table says, and every customer has his records. Returns their ids.
    async fn equal(&self, pipeline: &mut Pipeline) -> Vec<String> {
        let rows = pipeline.tables(&[CUSTOMERS]).await;
        let table: BTreeMap<String, Value> = rows
            .iter()
            .map(|row| (row.row_key.clone(), serde_json::from_str(&row.payload).unwrap()))
            .collect();
        for crm in [&self.salesforce, &self.hubspot] {
            let dump: Value = serde_json::from_str(&get(&crm.url, "dump").await).unwrap();
            for target in &crm.targets {
                let records = records(&dump, target);
                let wanted: BTreeMap<&str, BTreeMap<&str, String>> = table
                    .iter()
                    .map(|(row_key, row)| (row_key.as_str(), target.record(row_key, row, &dump)))
                    .collect();
                assert_eq!(records, wanted, "{}", target.object);
            }
        }
        table.into_keys().collect()
    }

    /// Passes over the requests so far.
    async fn look(&mut self) {
        for crm in [&mut self.salesforce, &mut self.hubspot] {
            crm.news().await;
        }
    }

    /// Since the last look each of these customers has come once to each target, and nobody else.
    async fn exactly(&mut self, customers: &[String]) {
        for crm in [&mut self.salesforce, &mut self.hubspot] {
            let news = crm.news().await;
            for target in &crm.targets {
                let mut came: Vec<String> = news.iter().flat_map(|entry| target.row_keys(entry)).collect();
                came.sort();
                assert_eq!(came, customers, "{}", target.object);
            }
        }
    }

    async fn stop(mut self) {
        for crm in [&mut self.salesforce, &mut self.hubspot] {
            crm.process.signal("TERM").await;
            assert!(crm.process.ended().await.success(), "{:#?}", crm.process.log());
        }
    }
}

impl Crm {
    async fn start(folder: &TempDir, name: &str, targets: [Target; 2]) -> Self {
        let arguments = ["mock", name, "--listen", "127.0.0.1:0"];
        let mut process = Process::start(folder.path(), &arguments, &[]);
        let ready = process.says("http://").await;
        let url = ready.split_whitespace().last().unwrap().to_owned();
        Self {
            process,
            url,
            targets,
            seen: 0,
        }
    }

    /// The requests since the last look.
    async fn news(&mut self) -> Vec<Entry> {
        let path = format!("journal?after={}", self.seen);
        let news: Vec<Entry> = serde_json::from_str(&get(&self.url, &path).await).unwrap();
        self.seen = news.last().map_or(self.seen, |entry| entry.number);
        news
    }
}

impl Target {
    /// What the record of a customer holds; what is null in the table is absent.
    fn record<'a>(&'a self, row_key: &str, row: &Value, dump: &Value) -> BTreeMap<&'a str, String> {
        let text = |column: &str| {
            row[column]
                .as_str()
                .filter(|text| !text.is_empty())
                .map(str::to_owned)
        };
        let fields = self.fields.iter();
        let mut record: BTreeMap<&str, String> = fields
            .filter_map(|(field, column)| Some((*field, text(column)?)))
            .collect();
        record.insert(self.key, row_key.to_owned());
        if self.object == PEOPLE.object {
            let accounts = dump[ACCOUNTS.object].as_array().unwrap();
            let account = accounts
                .iter()
                .find(|account| account["fields"][ACCOUNTS.key] == row_key);
            record.insert("AccountId", account.unwrap()["id"].as_str().unwrap().to_owned());
        }
        record
    }

    /// The row keys that a request to this object carries.
    fn row_keys(&self, entry: &Entry) -> Vec<String> {
        let path: Vec<&str> = entry.target.split('/').collect();
        if !path.contains(&self.object) {
            return vec![];
        }
        if let [.., key, value] = path.as_slice()
            && *key == self.key
        {
            return vec![(*value).to_owned()];
        }
        let body: Value = serde_json::from_str(&entry.body).unwrap_or_default();
        let key_of = |item: &Value| {
            let key = item[self.key].as_str().or(item["id"].as_str());
            key.unwrap_or_else(|| panic!("whose is {item}?")).to_owned()
        };
        let lists = ["records", "inputs"].map(|list| body[list].as_array().cloned().unwrap_or_default());
        lists.iter().flatten().map(key_of).collect()
    }
}

/// The records of a dump: their fields by their keys.
fn records<'d>(dump: &'d Value, target: &Target) -> BTreeMap<&'d str, BTreeMap<&'d str, String>> {
    let records = dump[target.object].as_array().unwrap();
    let record = |record: &'d Value| {
        let fields = record["fields"].as_object().unwrap().iter();
        let fields: BTreeMap<&str, String> = fields
            .map(|(field, value)| (field.as_str(), value.as_str().unwrap().to_owned()))
            .collect();
        (record["fields"][target.key].as_str().unwrap(), fields)
    };
    let by_key: BTreeMap<_, _> = records.iter().map(record).collect();
    assert_eq!(by_key.len(), records.len(), "two records of one key");
    by_key
}

fn configure(folder: &TempDir, database: &str, crms: &Crms) {
    let at_salesforce = crms.salesforce.targets.iter().map(|target| {
        let parent = r#", "Account.Ext__c" = "customer_id""#;
        let parent = if target.object == PEOPLE.object {
            parent
        } else {
            ""
        };
        section(target, SALESFORCE, &crms.salesforce.url, parent)
    });
    let hubspot = crms.hubspot.targets.iter();
    let at_hubspot = hubspot.map(|target| section(target, HUBSPOT, &crms.hubspot.url, ""));
    let sections: String = at_salesforce.chain(at_hubspot).collect();
    let text = CONFIG.replace("{database}", database) + &sections;
    std::fs::write(folder.path().join("aftercommit.toml"), text).unwrap();
}

fn section(target: &Target, crm: &str, url: &str, more: &str) -> String {
    let fields = target.fields.iter();
    let fields: Vec<String> = fields
        .map(|(field, column)| format!("{field} = \"{column}\""))
        .collect();
    (DESTINATION.to_owned() + crm)
        .replace("{name}", &target.object.to_lowercase())
        .replace("{object}", target.object)
        .replace("{key}", target.key)
        .replace("{url}", url)
        .replace("{fields}", &(fields.join(", ") + more))
}
