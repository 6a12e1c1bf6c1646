//! `aftercommit mock salesforce`: an org to try with.

use std::net::SocketAddr;
use std::path::PathBuf;

use super::crm::{self, CrmArgs};
use super::{Exit, Problem};
use crate::mock::salesforce::{
    ConnectedApp, DEFAULT_SCHEMA, PublicKey, Salesforce, SalesforceFault, SalesforceOptions, TypeErrors,
};

#[derive(clap::Args)]
pub(super) struct SalesforceVerb {
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9401")]
    listen: SocketAddr,

    /// How many requests the org takes in 24 hours
    #[arg(long, value_name = "COUNT", default_value_t = 15_000)]
    daily_limit: u64,

    /// What a value of a wrong type refuses: its record, or all records of its call
    #[arg(long, value_name = "WHAT", default_value = "per-record", value_parser = ["per-record", "whole-call"])]
    type_errors: String,

    /// The RSA public key, in PEM, by which JWT assertions are checked; without it any signature will do
    #[arg(long, value_name = "FILE")]
    public_key: Option<PathBuf>,

    #[command(flatten)]
    crm: CrmArgs,
}

pub(super) fn help() -> String {
    crm::help::<SalesforceFault>(
        "  aftercommit mock salesforce\n  \
         aftercommit mock salesforce --faults unable-to-lock-row:2@Ext__c=acct-7,drop:1@method=PATCH\n  \
         curl http://127.0.0.1:9401/dump",
    ) + "\n\nThe connected app is mock-client-id with mock-client-secret; a JWT assertion names the client id only."
}

pub(super) async fn run(verb: SalesforceVerb) -> anyhow::Result<Exit> {
    let options = verb.options()?;
    verb.crm
        .serve(verb.listen, "Salesforce", Salesforce::new(options))
        .await
}

impl SalesforceVerb {
    fn options(&self) -> Result<SalesforceOptions, Problem> {
        let mut options = SalesforceOptions::new(self.crm.schema(DEFAULT_SCHEMA)?);
        options.access.client = Some(ConnectedApp::default());
        options.daily_limit = self.daily_limit;
        options.type_errors = match self.type_errors.as_str() {
            "whole-call" => TypeErrors::WholeCall,
            _ => TypeErrors::PerRecord,
        };
        if let Some(path) = &self.public_key {
            let bad =
                |error: &dyn std::fmt::Display| Problem::BadInput(format!("{}: {error}", path.display()));
            let pem = std::fs::read_to_string(path).map_err(|error| bad(&error))?;
            options.access.public_key = Some(PublicKey::from_pem(&pem).map_err(|error| bad(&error))?);
        }
        Ok(options)
    }
}
