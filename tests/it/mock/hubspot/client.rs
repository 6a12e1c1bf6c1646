//! HubSpot's own client drives the served mock: `tests/clients/hubspot_test.py`.

use aftercommit::mock::crm::{Schema, ServerOptions};
use aftercommit::mock::hubspot::{self, DEFAULT_SCHEMA, HubSpotOptions};

use crate::python;

#[tokio::test]
async fn hubspots_own_client_believes_the_mock() {
    let options = HubSpotOptions::new(Schema::parse(DEFAULT_SCHEMA).unwrap());
    let mock = hubspot::start(options, ServerOptions::default()).await.unwrap();
    let variables = [("AFTERCOMMIT_MOCK_URL", mock.url()), ("NO_PROXY", "*".to_owned())];
    let variables = variables.each_ref().map(|(name, value)| (*name, value.as_str()));
    python::run("hubspot_test.py", &[], &variables).await;
    mock.shutdown().await;
}
