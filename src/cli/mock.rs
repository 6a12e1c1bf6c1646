//! `aftercommit mock`: systems to try with, one file each.

mod crm;
mod hubspot;
mod receiver;
mod salesforce;

use clap::Subcommand;

use super::exit::{Exit, Problem};
use super::output::OutputArgs;
use super::settings::Unused;
use super::signals::Signals;

#[derive(clap::Args)]
pub(super) struct Mock {
    #[command(subcommand)]
    system: System,
    #[command(flatten)]
    unused: Unused,
}

#[derive(Subcommand)]
enum System {
    /// A webhook receiver: keeps a ledger by key, journals what it got, fails as it is told
    #[command(after_help = receiver::help())]
    Receiver(receiver::ReceiverVerb),

    /// A Salesforce org: tokens, records, collections, bulk jobs; fails as it is told
    #[command(after_help = salesforce::help())]
    Salesforce(salesforce::SalesforceVerb),

    /// A HubSpot portal: tokens, limits, records, batches, properties; fails as it is told
    #[command(after_help = hubspot::help())]
    Hubspot(hubspot::HubSpotVerb),
}

pub(super) async fn run(verb: Mock) -> anyhow::Result<Exit> {
    match verb.system {
        System::Receiver(verb) => receiver::run(verb).await,
        System::Salesforce(verb) => salesforce::run(verb).await,
        System::Hubspot(verb) => hubspot::run(verb).await,
    }
}

/// Names of faults, as a help page lists them.
fn list_names(names: impl Iterator<Item = &'static str>) -> String {
    let names: Vec<&str> = names.collect();
    let lines: Vec<String> = names.chunks(8).map(|names| names.join(", ")).collect();
    lines.join(",\n  ")
}
