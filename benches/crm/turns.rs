//! A turn of the relay, and one of the loop that sends the same requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use aftercommit::mock::crm::Entry;
use reqwest::{Client, Request};
use tokio::task::JoinSet;

use crate::case::Case;
use crate::drain::bare::{client, send};
use crate::drain::base::{Backend, Base};
use crate::drain::child::Process;
use crate::drain::meter::{Meter, Parties, Turn};
use crate::jobs;
use crate::mock::Mock;

/// What waits, and where it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Work {
    pub(crate) backend: Backend,
    pub(crate) case: Case,
    /// Milliseconds after which the mock answers.
    pub(crate) delay: u64,
    pub(crate) rows: u64,
    pub(crate) concurrency: usize,
}

/// The relay delivers rows that wait in a database.
pub(crate) async fn relay(work: &Work, mock: &Mock) -> anyhow::Result<Turn> {
    let base = Base::new(work.backend).await?;
    let config = work.case.config(base.url(), mock.url(), work.concurrency);
    let config = base.apply(&config).await?;
    base.execute(&customers(work)).await?;
    base.come_to_rest().await?;
    let mut relay = Process::again(&["--relay", &config.display().to_string()])?;
    let parties = Parties {
        sender: relay.id(),
        database: base.postmaster().await?,
        receiver: mock.id(),
    };
    let meter = Meter::start(parties, Some(&base)).await?;
    relay.begin()?;
    let mut looks = tokio::time::interval(Duration::from_millis(20));
    while mock.records().await? < work.rows {
        looks.tick().await;
    }
    let took = meter.elapsed();
    base.settled(work.backend.in_flight()).await?;
    let turn = meter.stop(work.rows, took, Some(&base)).await?;
    relay.stop()?;
    Ok(turn)
}

/// The loop sends what the mock has on record, once that has forgotten everything.
pub(crate) async fn bare(work: &Work, mock: &Mock) -> anyhow::Result<Turn> {
    let client = client()?;
    let journal = mock.journal().await?;
    mock.reset().await?;
    let authorization = authorization(work.case, &client, mock).await?;
    let sent = |entry: &&Entry| {
        work.case.carries_rows(&entry.target)
            && matches!(entry.status, Some(200 | 201))
            && !entry.body.contains("\"inputs\":[]")
    };
    let requests = journal.iter().filter(sent);
    let requests: Vec<Request> = requests
        .map(|entry| request(&client, mock, entry, &authorization))
        .collect::<anyhow::Result<_>>()?;
    let requests = Arc::new(requests);
    let opened = journal.iter().find(|entry| jobs::opens(entry));
    let open = opened.map(|entry| request(&client, mock, entry, &authorization));
    let open = Arc::new(open.transpose()?);
    let parties = Parties {
        sender: std::process::id(),
        database: None,
        receiver: mock.id(),
    };
    let meter = Meter::start(parties, None).await?;
    let next = Arc::new(AtomicUsize::new(0));
    let mut senders = JoinSet::new();
    for _ in 0..work.concurrency {
        let (client, requests, next) = (client.clone(), requests.clone(), next.clone());
        let (case, open) = (work.case, open.clone());
        senders.spawn(async move {
            while let Some(request) = requests.get(next.fetch_add(1, Ordering::Relaxed)) {
                let request = request.try_clone();
                let request = request.ok_or_else(|| anyhow::anyhow!("a body that cannot be repeated"))?;
                if case == Case::Bulk {
                    jobs::run(&client, &open, request).await?;
                } else {
                    send(&client, request).await?.bytes().await?;
                }
            }
            anyhow::Ok(())
        });
    }
    while let Some(sender) = senders.join_next().await {
        sender??;
    }
    let took = meter.elapsed();
    let arrived = mock.records().await?;
    anyhow::ensure!(
        arrived == work.rows,
        "the loop made {arrived} records of {} rows",
        work.rows
    );
    meter.stop(work.rows, took, None).await
}

/// Commits the rows, as a pipeline does, in one transaction.
fn customers(work: &Work) -> String {
    let columns = "(topic, row_key, op, payload)";
    let head = r#"{"name":"Company "#;
    let tail = r#"","phone":"030-0074321","city":"Berlin","revenue":1234.56}"#;
    match work.backend {
        Backend::Postgres => format!(
            "insert into aftercommit.outbox {columns} select 'customers', 'row-' || n || '@example.com', 'upsert', \
             ('{head}' || n || '{tail}')::json from generate_series(1, {}) as n",
            work.rows
        ),
        Backend::Sqlite => format!(
            "insert into outbox {columns} with recursive numbers (n) as \
             (select 1 union all select n + 1 from numbers where n < {}) \
             select 'customers', 'row-' || n || '@example.com', 'upsert', '{head}' || n || '{tail}' from numbers",
            work.rows
        ),
    }
}

async fn authorization(case: Case, client: &Client, mock: &Mock) -> anyhow::Result<String> {
    if case == Case::Hubspot {
        return Ok("Bearer pat-na1-mock".to_owned());
    }
    let login = client
        .post(format!("{}/services/oauth2/token", mock.url()))
        .header("content-type", "application/x-www-form-urlencoded")
        .body("grant_type=client_credentials&client_id=app&client_secret=secret")
        .build()?;
    let granted: serde_json::Value = serde_json::from_slice(&send(client, login).await?.bytes().await?)?;
    let token = granted["access_token"].as_str();
    let token = token.ok_or_else(|| anyhow::anyhow!("no token in {granted}"))?;
    Ok(format!("Bearer {token}"))
}

/// The request that the mock has on record, with all that it was sent with.
fn request(client: &Client, mock: &Mock, entry: &Entry, authorization: &str) -> anyhow::Result<Request> {
    let url = format!("{}{}", mock.url(), entry.target);
    let mut request = client.request(entry.method.parse()?, url);
    let own = ["host", "content-length", "authorization"];
    for (name, value) in entry
        .headers
        .iter()
        .filter(|(name, _)| !own.contains(&name.as_str()))
    {
        request = request.header(name, value);
    }
    let request = request.header("authorization", authorization);
    Ok(request.body(entry.body.clone()).build()?)
}
