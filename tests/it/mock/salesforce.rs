//! The mock Salesforce org, as a process, and `simple_salesforce`.

use serde_json::Value as Json;

use crate::process::Process;
use crate::python;

#[tokio::test]
async fn simple_salesforce_believes_the_mock() {
    let folder = tempfile::tempdir().unwrap();
    let keys = folder.path().to_str().unwrap();
    python::run("make_keys.py", &[keys], &[]).await;
    let arguments = [
        "mock",
        "salesforce",
        "--listen",
        "127.0.0.1:0",
        "--json",
        "--public-key",
        "public.pem",
    ];
    let mut mock = Process::start(folder.path(), &arguments, &[]);
    let listening: Json = serde_json::from_str(&mock.says("url").await).unwrap();
    let url = listening["url"].as_str().unwrap();
    python::run("salesforce_test.py", &[], &[("MOCK_URL", url), ("KEYS", keys)]).await;
    mock.signal("TERM").await;
    assert!(mock.ended().await.success());
}

#[tokio::test]
async fn an_unknown_fault_and_a_bad_schema_are_refused_before_it_listens() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("bad.toml"), "[Account]\nprefix = 1").unwrap();
    let cases = [
        (["--faults", "explode:1"], "help: there are drop, drop-hang"),
        (["--schema", "bad.toml"], "bad.toml: the schema cannot be read"),
        (["--public-key", "bad.toml"], "this is no RSA public key"),
    ];
    for (arguments, message) in cases {
        let all = [
            &["mock", "salesforce", "--listen", "127.0.0.1:0"],
            arguments.as_slice(),
        ]
        .concat();
        let mut mock = Process::start(folder.path(), &all, &[]);
        mock.says(message).await;
        assert_eq!(mock.ended().await.code(), Some(2));
    }
}
