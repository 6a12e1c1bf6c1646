//! `aftercommit mock hubspot`: a portal to try with.

use std::net::SocketAddr;
use std::time::Duration;

use super::crm::{self, CrmArgs};
use super::{Exit, Problem};
use crate::mock::hubspot::{CallLimits, DEFAULT_SCHEMA, HubSpot, HubSpotFault, HubSpotOptions};

#[derive(clap::Args)]
pub(super) struct HubSpotVerb {
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9402")]
    listen: SocketAddr,

    /// How many calls an app may make in any ten seconds
    #[arg(long, value_name = "COUNT", default_value_t = CallLimits::default().ten_secondly)]
    ten_secondly: u32,

    /// How many calls an app may make in any second
    #[arg(long, value_name = "COUNT", default_value_t = CallLimits::default().secondly)]
    secondly: u32,

    /// How many calls the private app may make in a day
    #[arg(long, value_name = "COUNT", default_value_t = CallLimits::default().daily)]
    daily: u32,

    /// How many seconds an OAuth access token is good for
    #[arg(long, value_name = "SECONDS", default_value_t = 1800)]
    token_lifetime: u64,

    #[command(flatten)]
    crm: CrmArgs,
}

pub(super) fn help() -> String {
    crm::help::<HubSpotFault>(
        "  aftercommit mock hubspot\n  \
         aftercommit mock hubspot --ten-secondly 110 --faults omit:1@email=ann@example.com,drop:1@method=POST\n  \
         curl --header 'Authorization: Bearer pat-na1-mock' http://127.0.0.1:9402/crm/v3/objects/contacts\n\n\
         The private app's token is pat-na1-mock. The OAuth app is mock-client-id with mock-client-secret and \
         mock-refresh-token.",
    )
}

pub(super) async fn run(verb: HubSpotVerb) -> anyhow::Result<Exit> {
    let options = verb.options()?;
    verb.crm
        .serve(verb.listen, "HubSpot", HubSpot::new(options))
        .await
}

impl HubSpotVerb {
    fn options(&self) -> Result<HubSpotOptions, Problem> {
        let mut options = HubSpotOptions::new(self.crm.schema(DEFAULT_SCHEMA)?);
        options.limits = CallLimits {
            ten_secondly: self.ten_secondly,
            secondly: self.secondly,
            daily: self.daily,
        };
        options.access.lifetime = Duration::from_secs(self.token_lifetime);
        Ok(options)
    }
}
