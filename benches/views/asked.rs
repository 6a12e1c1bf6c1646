//! What is asked of the admin API, and how long each answer takes.

use std::sync::Arc;
use std::time::Duration;

use aftercommit::admin::{AdminServer, AdminSettings, Limits, Process};
use aftercommit::clock::SystemClock;
use aftercommit::relay::RelayMetrics;
use aftercommit::store::RelayId;
use aftercommit::store::admin::AdminStore;
use secrecy::SecretString;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::drain::base::Base;
use crate::drain::meter::now;

/// Opens the API to this process alone.
const TOKEN: &str = "a-token-of-a-benchmark";

/// Prints the median and the longest answer of each path.
pub(crate) async fn run(base: &Base, rows: u64, rounds: usize) -> anyhow::Result<()> {
    let database = base.connect()?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let settings = AdminSettings {
        token: Some(SecretString::from(TOKEN)),
        destinations: ["crm", "erp", "hook", "mail"].map(str::to_owned).to_vec(),
        max_outbox_body: 1 << 20,
        ..AdminSettings::default()
    };
    let process = Process {
        relay: RelayId(uuid::Uuid::nil()),
        metrics: RelayMetrics::new(),
        clock: Arc::new(SystemClock::start()),
    };
    let store = AdminStore::new(database.clone(), Duration::from_secs(30));
    let server = AdminServer::start(listener, store, process, settings, Limits::default());
    println!("{rows} deliveries                                              median    longest");
    for path in paths(rows) {
        let mut took = Vec::with_capacity(rounds);
        for _ in 0..rounds {
            took.push(ask(&address.to_string(), &path).await?);
        }
        took.sort_unstable();
        let ms = |took: Option<&Duration>| took.map_or(f64::NAN, |took| took.as_secs_f64() * 1e3);
        println!(
            "{path:<70} {:>7.1} ms {:>7.1} ms",
            ms(took.get(rounds / 2)),
            ms(took.last())
        );
    }
    server.shutdown().await?;
    database.close().await;
    Ok(())
}

/// Every list by every filter, a page in the middle, and every view.
fn paths(rows: u64) -> Vec<String> {
    let middle = rows / 2;
    let lists = [
        "limit=100",
        "limit=1000",
        "state=pending",
        "state=dead",
        "state=uncertain",
        "state=dead&state=uncertain&limit=1000",
        "state=delivered&destination=erp",
        "state=superseded",
        "destination=crm",
        "topic=accounts",
        "row_key=row-77",
        "topic=orders&row_key=row-77",
        "reason=age_exhausted",
        "reason=accepted",
        "http_status=424",
        "state=dead&http_status=423&destination=crm",
        "http_status=500",
        "state=cancelled",
        "since=2020-01-01T00:00:00Z",
        "until=2020-01-01T00:00:00Z",
    ];
    let paged = [
        format!("after={middle}:crm"),
        format!("state=dead&after={middle}:crm"),
        format!("first_outbox_id={middle}&last_outbox_id={}", middle + 1_000),
    ];
    let lists = lists.map(str::to_owned).into_iter().chain(paged);
    let mut paths: Vec<String> = lists.map(|list| format!("/v1/deliveries?{list}")).collect();
    paths.push(format!(
        "/v1/deliveries/{middle}/{}",
        ["crm", "erp", "hook", "mail"][usize::try_from(middle % 4).unwrap_or(0)]
    ));
    paths.push(format!("/v1/doctor/{middle}"));
    let views = [
        "status",
        "trouble",
        "destinations",
        "destinations/crm",
        "history?span=day",
        "replays",
        "audit",
    ];
    paths.extend(views.map(|view| format!("/v1/{view}")));
    paths.push("/metrics".to_owned());
    paths
}

async fn ask(address: &str, path: &str) -> anyhow::Result<Duration> {
    let start = now();
    let mut stream = TcpStream::connect(address).await?;
    let head = format!(
        "GET {path} HTTP/1.1\r\nauthorization: Bearer {TOKEN}\r\nhost: bench\r\nconnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    anyhow::ensure!(
        answer.starts_with(b"HTTP/1.1 200"),
        "{path}: {}",
        String::from_utf8_lossy(&answer)
    );
    Ok(start.elapsed())
}
