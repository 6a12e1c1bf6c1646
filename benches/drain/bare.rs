//! The limit: the same requests with the same client, as fast as they will go on one thread, with no database.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use reqwest::{Client, Request, Response};
use tokio::task::JoinSet;

use super::meter::{Meter, Parties, Turn};
use super::receiver::Receiver;

/// A client as the relay's, but without its guards.
pub(crate) fn client() -> anyhow::Result<Client> {
    let _already_chosen = rustls::crypto::ring::default_provider().install_default();
    #[expect(
        clippy::disallowed_methods,
        reason = "the limit has no guards: that is what it is for"
    )]
    let builder = Client::builder();
    Ok(builder
        .http1_only()
        .no_proxy()
        .tcp_nodelay(true)
        .tls_certs_only([])
        .build()?)
}

/// Sends a request of the benchmark's own.
pub(crate) async fn send(client: &Client, request: Request) -> anyhow::Result<Response> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the limit has no guards: that is what it is for"
    )]
    let response = client.execute(request).await?;
    Ok(response.error_for_status()?)
}

/// Sends `rows` requests of `bytes` each, `concurrency` at a time.
pub(crate) async fn run(
    receiver: &Receiver,
    rows: u64,
    bytes: usize,
    concurrency: usize,
) -> anyhow::Result<Turn> {
    let (client, url) = (client()?, Arc::<str>::from(receiver.url()));
    let body = Bytes::from(body(bytes));
    let next = Arc::new(AtomicU64::new(0));
    let parties = Parties {
        sender: std::process::id(),
        database: None,
        receiver: receiver.id(),
    };
    let meter = Meter::start(parties, None).await?;
    let mut senders = JoinSet::new();
    for _ in 0..concurrency {
        let (client, url, body, next) = (client.clone(), url.clone(), body.clone(), next.clone());
        senders.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= rows {
                    return anyhow::Ok(());
                }
                let request = client
                    .post(&*url)
                    .header("content-type", "application/json")
                    .header("idempotency-key", format!("ac1-{number:032x}"))
                    .body(body.clone())
                    .build()?;
                send(&client, request).await?.bytes().await?;
            }
        });
    }
    while let Some(sender) = senders.join_next().await {
        sender??;
    }
    let took = meter.elapsed();
    meter.stop(rows, took, None).await
}

/// A JSON object of `bytes` bytes.
fn body(bytes: usize) -> String {
    let fill = "x".repeat(bytes.saturating_sub(r#"{"note":""}"#.len()));
    format!(r#"{{"note":"{fill}"}}"#)
}
