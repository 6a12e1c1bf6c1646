//! The trial itself: load, deliver, compare the receiver's journal with the tables; load again, and nothing new arrives.

use std::collections::BTreeMap;
use std::path::PathBuf;

use aftercommit::mock::receiver::Received;
use tempfile::TempDir;

use crate::journal;
use crate::keys;
use crate::pipeline::{Expected, Line, Pipeline, TABLES_TOLD};
use crate::postgres;
use crate::process::{PATIENCE, Process};

const CONFIG: &str = r#"
[database]
url = "{database}"
[topics.customers]
kind = "state"
[topics.orders]
kind = "event"
[topics.order_details]
kind = "event"
[destinations.warehouse]
type = "webhook"
url = "{receiver}"
topics = ["customers", "orders", "order_details"]
allow_http = true
allow_networks = ["127.0.0.0/8"]
[relay]
heartbeat = "200ms"
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_row_of_northwind_arrives_once_and_byte_for_byte_and_a_second_load_adds_nothing() {
    let rows = folder_of_rows();
    let database = postgres::database().await;
    let folder = tempfile::tempdir().unwrap();
    let mut receiver = Process::start(
        folder.path(),
        &["mock", "receiver", "--listen", "127.0.0.1:0"],
        &[],
    );
    let ready = receiver.says("http://").await;
    let url = ready.split_whitespace().last().unwrap();
    configure(&folder, &database.url(), url);
    let mut migrate = Process::start(folder.path(), &["migrate"], &[]);
    assert!(migrate.ended().await.success(), "{:#?}", migrate.log());
    let mut relay = Process::start(folder.path(), &["run", "--listen", "off"], &[]);
    // It writes topics and routes before it says so.
    relay.says("looked at the leases").await;

    let mut pipeline = Pipeline::connect(&database.url()).await;
    let lines = pipeline.load(&rows, &TABLES_TOLD).await;
    settled(&mut pipeline, &mut relay).await;
    let expected = pipeline.tables(&TABLES_TOLD).await;
    let journal = journal::of(url).await;
    assert_eq!(journal.len(), expected.len(), "every row, once");
    compare(&journal, &expected, &pipeline.namespace().await);
    cells_came_through(&journal, &lines);

    pipeline.load(&rows, &TABLES_TOLD).await;
    pipeline.mark().await;
    settled(&mut pipeline, &mut relay).await;
    let again = journal::of(url).await;
    assert_eq!(
        again.len(),
        journal.len() + 1,
        "of the second load nothing, and the marker after it"
    );
    assert_eq!(again.last().unwrap().row_key(), Some("marker"));

    for process in [&mut relay, &mut receiver] {
        process.signal("TERM").await;
        assert!(process.ended().await.success(), "{:#?}", process.log());
    }
    println!(
        "{} rows arrived once, byte for byte; the second load added nothing",
        journal.len()
    );
}

/// The folder that `./test --data DIR` names.
pub(crate) fn folder_of_rows() -> PathBuf {
    let folder = std::env::var_os("AFTERCOMMIT_TEST_DATA").map(|data| PathBuf::from(data).join("northwind"));
    folder.filter(|folder| folder.is_dir()).expect(
        "this trial needs real rows: run `./test --data DIR`, or set AFTERCOMMIT_TEST_DATA to DIR, \
         where DIR/northwind holds customers.csv, orders.csv and order_details.csv",
    )
}

fn configure(folder: &TempDir, database: &str, receiver: &str) {
    let text = CONFIG
        .replace("{database}", database)
        .replace("{receiver}", receiver);
    std::fs::write(folder.path().join("aftercommit.toml"), text).unwrap();
}

/// Waits until nothing is owed. It is asked again with each line that the relay says.
pub(crate) async fn settled(pipeline: &mut Pipeline, relay: &mut Process) {
    let waiting = async {
        while pipeline.owed().await > 0 {
            relay.line("everything is delivered").await;
        }
    };
    let waited = tokio::time::timeout(PATIENCE, waiting).await;
    assert!(waited.is_ok(), "rows are still owed: {:#?}", relay.log());
}

/// Topic, row key, bytes and key of each request are those of one row, and no row is left over.
fn compare(journal: &[Received], expected: &[Expected], namespace: &str) {
    let keys = keys::by_the_reference(namespace, "warehouse", expected);
    let mut rows: BTreeMap<&str, &Expected> = keys.iter().map(String::as_str).zip(expected).collect();
    assert_eq!(rows.len(), expected.len(), "two rows never share a key");
    for request in journal {
        let key = request.key.as_deref().unwrap();
        let row = rows
            .remove(key)
            .unwrap_or_else(|| panic!("{key} is no row's, or came twice"));
        assert_eq!(request.topic(), Some(row.topic.as_str()));
        assert_eq!(row_key(request), row.row_key);
        assert_eq!(
            request.body.as_deref().map(String::from_utf8_lossy).as_deref(),
            Some(row.payload.as_str())
        );
        assert!(request.is_accepted());
    }
    assert!(rows.is_empty(), "never arrived: {:?}", rows.values().next());
}

/// What stood in the cells of the files stands in the bodies: accents, quotes, leading zeros, nothing where nothing was.
fn cells_came_through(journal: &[Received], lines: &[Line]) {
    let body = |request: &Received| serde_json::from_slice(request.body.as_deref().unwrap()).unwrap();
    let bodies: BTreeMap<(&str, String), serde_json::Value> = journal
        .iter()
        .map(|request| ((request.topic().unwrap(), row_key(request)), body(request)))
        .collect();
    for line in lines {
        let body = &bodies[&(line.topic, line.row_key.clone())];
        for (column, cell) in &line.cells {
            let arrived = match &body[column] {
                serde_json::Value::Null => String::new(),
                serde_json::Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            assert_eq!(&arrived, cell, "{column} of {} {}", line.topic, line.row_key);
        }
    }
}

/// What a header cannot hold is percent-encoded; of the row keys here that is the blank of a list.
fn row_key(request: &Received) -> String {
    request.row_key().unwrap().replace("%20", " ")
}
