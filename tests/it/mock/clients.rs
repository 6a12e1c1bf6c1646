//! The real clients of the CRMs drive the mocks: one suite in Python for each, in `tests/clients`. `./test` installs
//! the clients into a virtual environment of their own.

use std::path::Path;
use std::process::Stdio;

use aftercommit::mock::crm::{Schema, ServerOptions};
use aftercommit::mock::hubspot::{self, DEFAULT_SCHEMA, HubSpotOptions};
use tokio::process::Command;

/// Where `./test` puts the clients.
const PYTHON: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/target/clients/bin/python");

/// Runs a suite against the mock at this URL, and shows what it said if it failed.
async fn drive(suite: &str, url: &str) {
    assert!(
        Path::new(PYTHON).exists(),
        "there is no {PYTHON}: run ./test, which installs the clients there"
    );
    let suite = format!("{}/tests/clients/{suite}", env!("CARGO_MANIFEST_DIR"));
    let ran = Command::new(PYTHON)
        .args(["-B", &suite])
        .env("AFTERCOMMIT_MOCK_URL", url)
        .env("NO_PROXY", "*")
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{said}");
}

#[tokio::test]
async fn hubspots_own_client_believes_the_mock() {
    let options = HubSpotOptions::new(Schema::parse(DEFAULT_SCHEMA).unwrap());
    let mock = hubspot::start(options, ServerOptions::default()).await.unwrap();
    drive("hubspot_test.py", &mock.url()).await;
    mock.shutdown().await;
}
