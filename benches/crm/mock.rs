//! The mock CRM: a process of its own, which answers at once and keeps what it was sent.

use aftercommit::mock::crm::{Crm, Entry, MockServer, Schema, ServerOptions};
use aftercommit::mock::hubspot::{self, HubSpot, HubSpotOptions};
use aftercommit::mock::salesforce::{self, Salesforce, SalesforceOptions};

use crate::case::Case;
use crate::drain::bare;
use crate::drain::child::{Orders, Process};

/// A running mock.
pub(crate) struct Mock {
    process: Process,
    client: reqwest::Client,
    /// Milliseconds after which it answers.
    delay: u64,
}

impl Mock {
    /// Starts one on a free port, which answers after so many milliseconds.
    pub(crate) async fn start(case: Case, delay: u64) -> anyhow::Result<Self> {
        let mock = Self {
            process: Process::again(&["--mock", case.name()])?,
            client: bare::client()?,
            delay,
        };
        mock.slow_down().await?;
        Ok(mock)
    }

    /// Where it listens: `http://127.0.0.1:PORT`.
    pub(crate) fn url(&self) -> &str {
        self.process.said()
    }

    /// Its process.
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// How many records it has.
    pub(crate) async fn records(&self) -> anyhow::Result<u64> {
        let counts: serde_json::Value = serde_json::from_slice(&self.get("/counts").await?)?;
        let records = counts["records"].as_u64();
        records.ok_or_else(|| anyhow::anyhow!("no count of records in {counts}"))
    }

    /// The requests that it has seen.
    pub(crate) async fn journal(&self) -> anyhow::Result<Vec<Entry>> {
        Ok(serde_json::from_slice(&self.get("/journal").await?)?)
    }

    /// Lets it forget what it has seen, records and tokens included.
    pub(crate) async fn reset(&self) -> anyhow::Result<()> {
        let request = self.client.post(format!("{}/reset", self.url())).build()?;
        bare::send(&self.client, request).await?;
        self.slow_down().await
    }

    async fn slow_down(&self) -> anyhow::Result<()> {
        if self.delay > 0 {
            let rule = format!("delay={}ms:always", self.delay);
            let request = self.client.post(format!("{}/faults", self.url())).body(rule);
            bare::send(&self.client, request.build()?).await?;
        }
        Ok(())
    }

    async fn get(&self, path: &str) -> anyhow::Result<bytes::Bytes> {
        let request = self.client.get(format!("{}{path}", self.url())).build()?;
        Ok(bare::send(&self.client, request).await?.bytes().await?)
    }
}

/// What the process does.
pub(crate) async fn serve(case: Case) -> anyhow::Result<()> {
    match case {
        Case::Collections | Case::Bulk => {
            let options = SalesforceOptions {
                daily_limit: u64::MAX,
                ..SalesforceOptions::new(Schema::parse(salesforce::DEFAULT_SCHEMA)?)
            };
            serve_crm(Salesforce::new(options)).await
        }
        Case::Hubspot => {
            let options = HubSpotOptions::new(Schema::parse(hubspot::DEFAULT_SCHEMA)?);
            serve_crm(HubSpot::new(options)).await
        }
    }
}

async fn serve_crm<C: Crm>(crm: C) -> anyhow::Result<()> {
    let orders = Orders::listen();
    let server = MockServer::start(crm, ServerOptions::default()).await?;
    println!("{}", server.url());
    orders.end().await;
    server.shutdown().await;
    Ok(())
}
