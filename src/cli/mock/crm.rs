//! What the verbs of the mock CRMs share: options, and serving until the process is asked to end.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::Serialize;

use super::{Exit, OutputArgs, Problem, Signals};
use crate::mock::crm::{Crm, MockServer, Schema, ServerOptions, VendorFault, fault_names, parse_rules};

#[derive(clap::Args)]
pub(super) struct CrmArgs {
    /// What goes wrong: NAME[=ARGUMENT][:TIMES][@FIELD=VALUE], separated by commas
    #[arg(long, value_name = "RULES", default_value = "")]
    faults: String,

    /// Seeds the faults that happen by chance
    #[arg(long, default_value_t = 0)]
    seed: u64,

    /// Objects and fields, as TOML, in place of those that it has by default
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,

    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Serialize)]
struct Listening {
    url: String,
}

impl CrmArgs {
    /// The schema of the file, or else this one.
    pub(super) fn schema(&self, default: &str) -> Result<Schema, Problem> {
        let Some(path) = &self.schema else {
            return Schema::parse(default).map_err(|error| Problem::Failed(error.to_string()));
        };
        let bad = |error: &dyn std::fmt::Display| Problem::BadInput(format!("{}: {error}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|error| bad(&error))?;
        Schema::parse(&text).map_err(|error| bad(&error))
    }

    /// Serves the CRM until the process is asked to end. `name` is what it is called in what is printed.
    pub(super) async fn serve<C: Crm>(self, listen: SocketAddr, name: &str, crm: C) -> anyhow::Result<Exit> {
        let mut signals = Signals::listen()?;
        let faults =
            parse_rules(&self.faults).map_err(|error| Problem::BadInput(format!("--faults: {error}")))?;
        let options = ServerOptions {
            listen,
            faults,
            seed: self.seed,
            ..ServerOptions::default()
        };
        let server = MockServer::start(crm, options)
            .await
            .map_err(|error| Problem::Failed(error.to_string()))?;
        let url = server.url();
        self.output.open().print(&Listening { url }, |listening| {
            format!("ready: the mock {name} listens at {}", listening.url)
        })?;
        signals.stop().await;
        server.shutdown().await;
        Ok(Exit::Done)
    }
}

/// The control paths and the names of faults, for a help page that ends with these examples.
pub(super) fn help<V: VendorFault>(examples: &str) -> String {
    format!(
        "Beside the CRM's own paths it answers GET /dump, /counts and /journal, takes GET, POST and DELETE at /faults,\n\
         and POST at /expire (all tokens), /advance?seconds=COUNT (its clock) and /reset.\n\n\
         A schema has a table for each object; prefix is what record ids begin with, or HubSpot's type id:\n  \
         [Account]\n  prefix = \"001\"\n  \
         fields.Name = {{ type = \"text\", required = true, length = 255 }}\n  \
         fields.Ext__c = {{ type = \"text\", key = \"unique\" }}\n  \
         fields.ParentId = {{ type = \"reference\", to = \"Account\", relationship = \"Parent\" }}\n\
         Types: text, email, number, currency, integer, boolean, date, datetime, choice, choices (with values), reference.\n\n\
         Names of faults:\n  {}\n\nExamples:\n{examples}",
        super::list_names(fault_names::<V>()),
    )
}
